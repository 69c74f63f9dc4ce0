"""Request a compaction, retry a failed run, save and roll back a tenant's summary prompt."""

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.models import Compaction, CompactionPrompt, Run, Session
from compaction.models.compactions import PROMPT_CHARACTERS_MAX
from compaction.pipeline.plans import open_compaction, plan_or_conflict, require_no_proposal, state_after
from compaction.pipeline.policies import session_policy
from compaction.pipeline.prompt_versions import prompt_version_text
from compaction.pipeline.session_rows import lock_session
from compaction.services.pipeline.prompts import PROMPT_VERSION
from compaction.services.pipeline.states import RETRY
from compaction.services.sessions.drafts import text_problem
from compaction.tasks import enqueue_run
from memories.tenancy.audit import Actor, audit_rows, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.required_rows import find_row


@transaction.atomic
def request_compaction(*, session: Session, is_enqueued: bool = True, by: Actor, now: datetime) -> Run:
    """Open a compaction of the session; a worker runs it if `is_enqueued`, else the caller. Raises `Conflict`."""
    current = lock_session(session.pk)
    # These two reasons take precedence over those of a plan.
    if Run.objects.for_tenant(current.tenant_id).of_session(current.pk).open().exists():
        raise Conflict("already_running", "This session is already being compacted.")
    require_no_proposal(current.tenant_id, current.pk)
    policy = session_policy(current)
    plan_or_conflict(current, policy, is_forced=True)
    run = open_compaction(current, policy, trigger=Compaction.Trigger.MANUAL, by=by, now=now)
    if is_enqueued:
        enqueue_run(run)
    return run


@transaction.atomic
def retry_compaction_run(*, run: Run, by: Actor, now: datetime) -> Run:
    """Queue a failed run again. Raises `Conflict`: `already_decided`, `already_running`, `waits_for_review`."""
    current = find_row(Run.objects.for_tenant(run.tenant_id).with_id(run.pk).locked(), Run, "event")
    if current.state != Run.State.FAILED:
        code = "already_decided" if current.state == Run.State.DONE else "already_running"
        raise Conflict(code, f"Only failed runs can be retried; this one is {current.state}.")
    try:
        with transaction.atomic():
            _queue_again(current)
    except IntegrityError as error:
        raise Conflict("already_running", "Another run of the same kind is open.") from error
    audit_rows("retry_run", [current], by=by, now=now)
    enqueue_run(current)
    return current


def _queue_again(run: Run) -> None:
    run.state, run.attempts = Run.State.QUEUED, 0
    run.claimed_until = run.finished_at = None
    run.step = run.error_code = run.error_detail = ""
    run.save()
    if run.compaction_id is None:
        return
    compaction = Compaction.objects.for_tenant(run.tenant_id).with_id(run.compaction_id).locked().get()
    state = state_after(compaction, RETRY)
    require_no_proposal(compaction.tenant_id, compaction.session_id, but=compaction.replaces_id)
    compaction.state, compaction.finished_at = state, None
    compaction.error_code = compaction.error_detail = ""
    compaction.save()


@transaction.atomic
def save_prompt(
    *,
    tenant_id: UUID,
    text: str,
    edited_from: int | None = None,
    rolled_back_to: int | None = None,
    by: Actor,
    now: datetime,
) -> CompactionPrompt:
    """Activate a text as the next version; `edited_from` is the one that was read. Raises `PlatformError`."""
    if problem := text_problem(text):
        raise InvalidInput(*problem, "text")
    if not text.strip():
        raise InvalidInput("blank", "A prompt must not be blank.", "text")
    if len(text) > PROMPT_CHARACTERS_MAX:
        raise InvalidInput("too_long", f"A prompt can have at most {PROMPT_CHARACTERS_MAX:,} characters.", "text")
    rows = CompactionPrompt.objects.for_tenant(tenant_id)
    latest = rows.newest_first().first()
    version, began = (latest.version, latest.recorded_from) if latest else (PROMPT_VERSION, now)
    changed = Conflict(
        "prompt_changed", "Someone else saved the prompt in the meantime; read it before you save again."
    )
    if edited_from not in (None, version):
        raise changed
    at = max(now, began)
    try:
        with transaction.atomic():
            rows.current().update(recorded_to=at)
            prompt: CompactionPrompt = CompactionPrompt.objects.create(
                tenant_id=tenant_id,
                version=version + 1,
                text=text,
                recorded_from=at,
                created_by=by.stored_label,
                rolled_back_to=rolled_back_to,
            )
    except IntegrityError as error:
        raise changed from error
    record_audit("save_prompt", "prompt", [prompt.version], tenant_id=tenant_id, fields=["text"], by=by, now=now)
    return prompt


@transaction.atomic
def roll_back_prompt(
    *, tenant_id: UUID, version: int, edited_from: int | None = None, by: Actor, now: datetime
) -> CompactionPrompt:
    """Activate the text of an older version again, as a new version. Takes and raises what `save_prompt` does."""
    text = prompt_version_text(tenant_id, version)
    return save_prompt(tenant_id=tenant_id, text=text, edited_from=edited_from, rolled_back_to=version, by=by, now=now)
