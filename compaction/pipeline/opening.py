"""Open a compaction with its run, and read prompt versions. Called inside a scope."""

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.models import Compaction, CompactionPrompt, Run, Session
from compaction.pipeline.summarisers import has_model, summary_model
from compaction.services.pipeline import states
from compaction.services.pipeline.prompts import PROMPT, PROMPT_VERSION
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput


def open_compaction(
    session: Session,
    policy: CompactionPolicy,
    *,
    trigger: str,
    model: str = "",
    prompt_version: int | None = None,
    replaces: Compaction | None = None,
    by: Actor,
    now: datetime,
) -> Run:
    """Create a pending compaction with a queued run. `model` and `prompt_version` override policy and tenant.

    Raises `Conflict`: `already_running` or `waits_for_review` while another compaction of the session is open.
    """
    require_no_proposal(session.tenant_id, session.pk, but=replaces.pk if replaces else None)
    shared = {"tenant_id": session.tenant_id, "session": session, "requested_by": by.stored_label, "created_at": now}
    try:
        with transaction.atomic():
            compaction = Compaction.objects.create(
                trigger=trigger,
                policy=policy.as_record(),
                model=(model or summary_model(session.model, policy.compaction_model)) if has_model() else "",
                prompt_version=(prompt_version or current_prompt(session.tenant_id)[0]) if has_model() else 0,
                replaces=replaces,
                **shared,
            )
            run: Run = Run.objects.create(kind=Run.Kind.COMPACTION, compaction=compaction, **shared)
    except IntegrityError as error:
        raise Conflict("already_running", "This session is being compacted already.") from error
    audit_rows("request_compaction", [compaction], by=by, now=now)
    return run


def require_no_proposal(tenant_id: UUID, session_id: UUID, *, but: UUID | None = None) -> None:
    """Raise `Conflict` `waits_for_review` while a proposal of the session waits, unless it is `but`."""
    rows = Compaction.objects.for_tenant(tenant_id).of_session(session_id).in_state(Compaction.State.PROPOSED)
    if any(proposed.pk != but for proposed in rows):
        raise Conflict("waits_for_review", "A compaction of this session waits for review; decide on it first.")


def current_prompt(tenant_id: UUID) -> tuple[int, str]:
    """Return version and text of the active prompt; version 1 is built in."""
    row = CompactionPrompt.objects.for_tenant(tenant_id).current().first()
    return (row.version, row.text) if row else (PROMPT_VERSION, PROMPT)


def stored_prompt_versions(tenant_id: UUID) -> list[CompactionPrompt]:
    """Return all versions, newest first; the last is version 1, which is built in and not stored."""
    rows = CompactionPrompt.objects.for_tenant(tenant_id).newest_first()
    return [*rows, CompactionPrompt(tenant_id=tenant_id, version=PROMPT_VERSION, text=PROMPT)]


def prompt_version_text(tenant_id: UUID, version: int) -> str:
    """Return the text of a version. Raises `InvalidInput` if it does not exist."""
    if version == PROMPT_VERSION:
        return PROMPT
    row = CompactionPrompt.objects.for_tenant(tenant_id).numbered(version).first()
    if row is None:
        raise InvalidInput("unknown_version", "There is no such version of the prompt.", "prompt_version")
    return str(row.text)


def state_after(compaction: Compaction, action: str) -> str:
    """Return the state that `action` leads to. Raises `Conflict` `already_decided` if the state does not allow it."""
    try:
        return states.next_state(compaction.state, action)
    except states.TransitionError as error:
        raise Conflict("already_decided", str(error)) from error
