"""Decide on a compaction. The second of two decisions sees the first and is refused (ADR-0071)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from compaction.models import Compaction, Run, Session
from compaction.pipeline.applying import (
    apply_compaction,
    facts_missing_before,
    record_decision,
    record_possible_instructions,
    record_retention,
    replace_summary,
    store_withheld_texts,
    undo_compaction,
    withdraw_approved_texts,
)
from compaction.pipeline.plans import open_compaction, require_no_proposal, state_after
from compaction.pipeline.prompt_versions import prompt_version_text
from compaction.pipeline.session_rows import lock_session
from compaction.pipeline.summarisers import has_model
from compaction.review.editing import (
    append_missing_clauses,
    measure_revision,
    parse_revised_summary,
    remove_last_statements,
    revise_summary,
    swap_statement,
)
from compaction.review.queries import is_latest_applied
from compaction.services.pipeline import states
from compaction.services.pipeline.journal_entries import STRUCK, is_reviewed, reset_entries, strike_entry
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.tasks import enqueue_run
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.embeddings.indexer import index_now
from memories.tenancy.audit import Actor, ChangedValue, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.required_rows import find_row

#: The fields that an edit of a summary changes, and the prefix of the names of journal entries that were struck or
#: kept.
SUMMARY_VALUES = ("summary_text", "statements", "candidates")
STRUCK_FACT = "fact"


@transaction.atomic
def approve_compaction(
    *,
    compaction: Compaction,
    reason: str = "",
    text: str = "",
    edit_version: int | None = None,
    by: Actor,
    now: datetime,
) -> Compaction:
    """Apply a proposal, with another summary if there is a `text`.

    Raises `InvalidInput` about the text, or `Conflict`: `already_decided`, `stale`, `edited_meanwhile`.
    """
    if text:
        edit_version = edit_compaction_summary(
            compaction=compaction, text=text, edit_version=edit_version, by=by, now=now
        ).edit_version
    current, session, _ = _lock_for(compaction, states.APPROVE, edit_version)
    record_decision(current, reason=reason, by=by, now=now)
    _index_later(current, apply_compaction(current, session, by=by, now=now, is_decided=True))
    audit_rows("approve_compaction", [current], by=by, now=now)
    return current


@transaction.atomic
def reject_compaction(
    *, compaction: Compaction, reason: str = "", edit_version: int | None = None, by: Actor, now: datetime
) -> Compaction:
    """Reject a proposal; the session does not change. Raises `Conflict` as `approve_compaction` does (not `stale`)."""
    current, _, state = _lock_for(compaction, states.REJECT, edit_version)
    current.state = state
    record_decision(current, reason=reason, by=by, now=now)
    current.save()
    audit_rows("reject_compaction", [current], by=by, now=now)
    return current


@transaction.atomic
def mark_compaction_reviewed(
    *, compaction: Compaction, reason: str = "", edit_version: int | None = None, by: Actor, now: datetime
) -> Compaction:
    """Record that a person has read an applied summary, and store the possible instructions that it withheld.

    The session does not change. Raises `Conflict`: `already_decided`, also if it was approved or reviewed before,
    `no_summary`, `edited_meanwhile`.
    """
    current, session, _ = _lock_for(compaction, states.MARK_REVIEWED, edit_version)
    if not current.summary_text:
        raise Conflict("no_summary", "There is no summary to review, because masking was sufficient.")
    if current.decided_at is not None:
        raise Conflict("already_decided", f"{current.decided_by or 'Someone'} has already reviewed this summary.")
    record_decision(current, reason=reason, by=by, now=now)
    _index_later(current, store_withheld_texts(current, session, by=by, now=now))
    audit_rows("mark_compaction_reviewed", [current], by=by, now=now)
    return current


@transaction.atomic
def withdraw_review(*, compaction: Compaction, by: Actor, now: datetime) -> Compaction:
    """Record that an applied summary is not reviewed after all, and withhold its possible instructions again.

    Raises `Conflict` `not_reviewed`.
    """
    current, session, _ = _lock_for(compaction, states.MARK_REVIEWED)
    if current.decided_at is None:
        raise Conflict("not_reviewed", "The summary is not reviewed.")
    current.decided_by, current.decided_at, current.decision_reason = "", None, ""
    _index_later(current, withdraw_approved_texts(current, session, by=by, now=now))
    audit_rows("withdraw_review", [current], by=by, now=now)
    return current


@transaction.atomic
def reopen_compaction(*, compaction: Compaction, by: Actor, now: datetime) -> Compaction:
    """Return a rejected, rolled-back or superseded proposal to the queue.

    A superseded one replaces the proposal that waits now. The facts of a rolled-back one are stored when it is approved
    again.
    """
    current, session, state = _lock_for(compaction, states.REOPEN)
    if current.state == Compaction.State.SUPERSEDED:
        waiting = Compaction.objects.for_tenant(current.tenant_id).of_session(session.pk)
        waiting.in_state(Compaction.State.PROPOSED).superseded(now)
    require_no_proposal(current.tenant_id, session.pk)
    if current.state == Compaction.State.ROLLED_BACK:
        current.compacted_at = None
        reset_entries(current.journal)
    changes = []
    if current.state == Compaction.State.REJECTED:  # other decisions also changed the session
        values = {"state": state, "decision_reason": ""}
        changes = [ChangedValue(current.pk, name, getattr(current, name), value) for name, value in values.items()]
    current.state, current.decided_by, current.decided_at, current.decision_reason = state, "", None, ""
    current.save()
    audit_rows("reopen_compaction", [current], changes=changes, by=by, now=now)
    return current


@transaction.atomic
def undo_approval(*, compaction: Compaction, by: Actor, now: datetime) -> Compaction:
    """Roll back an approved compaction and return it to the queue. Raises the errors of both actions."""
    rolled_back = roll_back_compaction(compaction=compaction, by=by, now=now)
    return reopen_compaction(compaction=rolled_back, by=by, now=now)


@transaction.atomic
def strike_journal_entry(
    *,
    compaction: Compaction,
    entry: int,
    is_struck: bool = True,
    edit_version: int | None = None,
    by: Actor,
    now: datetime,
) -> Compaction:
    """Strike a fact that waits to be stored, so that it never is, or keep it again; numbers begin with 1.

    Raises `InvalidInput` `unknown_entry`, or `Conflict`: `already_decided`, also if it was applied and reviewed.
    """
    current, session, _ = _lock_for(compaction, states.STRIKE, edit_version)
    if current.state == Compaction.State.APPLIED and current.decided_at is not None:
        raise Conflict("already_decided", f"{current.decided_by or 'Someone'} has already reviewed these facts.")
    is_known = 0 < entry <= len(current.journal)
    record = current.journal[entry - 1] if is_known else {"status": ""}
    if not is_reviewed(record):
        raise InvalidInput("unknown_entry", f"No fact with the number {entry} waits to be stored.", "entry")
    if is_struck != (record["status"] == STRUCK):
        strike_entry(record, is_struck=is_struck)
        measures = measure_revision(current, session, current.summary_text)
        record_retention(current, measures.retention, facts_missing_before(current))
        record_possible_instructions(current)
        current.edit_version += 1
        current.save()
        verb, change = "strike_fact" if is_struck else "keep_fact", (not is_struck, is_struck)
        changes = [ChangedValue(current.pk, f"{STRUCK_FACT} {entry}", *change)]
        audit_rows(verb, [current], fields=["journal"], changes=changes, by=by, now=now)
    return current


@transaction.atomic
def edit_compaction_summary(
    *, compaction: Compaction, text: str, edit_version: int | None = None, by: Actor, now: datetime
) -> Compaction:
    """Replace the text of a proposal or of the current summary. Raises `InvalidInput`, or `Conflict`."""
    current, session, _ = _lock_for(compaction, states.EDIT, edit_version)
    _revise(current, session, *parse_revised_summary(current, text), "edit_compaction", by, now)
    return current


@transaction.atomic
def append_missing_facts(
    *,
    compaction: Compaction,
    facts: Sequence[str] | None = None,
    edit_version: int | None = None,
    by: Actor,
    now: datetime,
) -> Compaction:
    """Append clauses with missing facts to the summary, all unless `facts` names some. Raises `Conflict`."""
    current, session, _ = _lock_for(compaction, states.EDIT, edit_version)
    _revise(current, session, *append_missing_clauses(current, session, facts), "append_missing_facts", by, now)
    return current


@transaction.atomic
def withdraw_appended_statements(
    *, compaction: Compaction, statements: int, edit_version: int, by: Actor, now: datetime
) -> Compaction:
    """Remove the last `statements` from the summary. Raises `InvalidInput` if the summary does not end with them."""
    current, session, _ = _lock_for(compaction, states.EDIT, edit_version)
    _revise(current, session, *remove_last_statements(current, statements), "withdraw_appended_facts", by, now)
    return current


@transaction.atomic
def swap_summary_statement(
    *,
    compaction: Compaction,
    remove: int | None = None,
    add: int | None = None,
    edit_version: int,
    by: Actor,
    now: datetime,
) -> Compaction:
    """Edit the summary: remove a statement or add a candidate, by numbers from 1 on, or both. Raises `InvalidInput`."""
    current, session, _ = _lock_for(compaction, states.EDIT, edit_version)
    text, statements, left = swap_statement(current, remove=remove, add=add)
    candidates = [candidate.as_record() for candidate in left]
    _revise(current, session, text, statements, "edit_compaction", by, now, candidates=candidates)
    return current


@transaction.atomic
def set_summary_values(*, compaction: Compaction, values: Mapping[str, Any], by: Actor, now: datetime) -> Compaction:
    """Edit the summary: set the text, statements and candidates that it had before an edit. Raises `Conflict`."""
    current, session, _ = _lock_for(compaction, states.EDIT)
    statements = [CitedStatement.of(record) for record in values["statements"]]
    text, candidates = values["summary_text"], values["candidates"]
    _revise(current, session, text, statements, "edit_compaction", by, now, candidates=candidates)
    return current


@transaction.atomic
def regenerate_compaction(
    *,
    compaction: Compaction,
    model: str = "",
    prompt_version: int | None = None,
    is_enqueued: bool = True,
    by: Actor,
    now: datetime,
) -> Run:
    """Regenerate a proposal with another model or prompt; it stays until the new one exists. Raises `InvalidInput`."""
    current, session, _ = _lock_for(compaction, states.REGENERATE)
    if (model or prompt_version is not None) and not has_model():
        field = "model" if model else "prompt_version"
        raise InvalidInput("no_model", "Summaries are extractive, because LLM_BASE_URL names no model.", field)
    if prompt_version is not None:
        prompt_version_text(current.tenant_id, prompt_version)
    run = open_compaction(
        session,
        CompactionPolicy.of(current.policy),
        trigger=Compaction.Trigger.REGENERATE,
        model=model,
        prompt_version=prompt_version,
        replaces=current,
        by=by,
        now=now,
    )
    if is_enqueued:
        enqueue_run(run)
    return run


@transaction.atomic
def roll_back_compaction(*, compaction: Compaction, reason: str = "", by: Actor, now: datetime) -> Compaction:
    """Restore the session as it was before. Raises `Conflict` `not_latest` unless this is the latest compaction."""
    current, session, _ = _lock_for(compaction, states.ROLL_BACK)
    if not is_latest_applied(current):
        raise Conflict("not_latest", "A later compaction builds on this one; roll that back first.")
    record_decision(current, reason=reason, by=by, now=now)
    undo_compaction(current, session, by=by, now=now)
    audit_rows("roll_back_compaction", [current], by=by, now=now)
    return current


def _lock_for(compaction: Compaction, action: str, edit_version: int | None = None) -> tuple[Compaction, Session, str]:
    """Lock session and compaction; return them and the state after `action`. Raises `Conflict` if that is refused."""
    session = lock_session(compaction.session_id, is_open=False)
    rows = Compaction.objects.for_tenant(compaction.tenant_id).with_id(compaction.pk)
    current = find_row(rows.locked(), Compaction)
    state = state_after(current, action)
    if edit_version not in (None, current.edit_version):
        raise Conflict(
            "edited_meanwhile", "Someone edited this in the meantime. Review the changes before you save again."
        )
    return current, session, state


def _revise(
    compaction: Compaction,
    session: Session,
    text: str,
    statements: Sequence[CitedStatement],
    verb: str,
    by: Actor,
    now: datetime,
    *,
    candidates: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    before = {name: getattr(compaction, name) for name in SUMMARY_VALUES}
    if not compaction.summary_text:
        raise Conflict("no_summary", "There is no summary to edit, because masking was sufficient.")
    is_applied = compaction.state == Compaction.State.APPLIED
    if is_applied and session.current_id != compaction.pk:
        raise Conflict("not_current", "A later summary has replaced this one.")
    revise_summary(compaction, session, text, statements)
    if candidates is not None:
        compaction.candidates = list(candidates)
    if is_applied:
        _index_later(compaction, replace_summary(compaction, session, by=by, now=now))
    compaction.save()
    changes = [ChangedValue(compaction.pk, name, value, getattr(compaction, name)) for name, value in before.items()]
    audit_rows(verb, [compaction], fields=["summary_text"], changes=changes, by=by, now=now)


def _index_later(compaction: Compaction, memory_ids: Sequence[UUID]) -> None:
    if memory_ids:
        transaction.on_commit(partial(index_now, compaction.tenant_id, memory_ids))
