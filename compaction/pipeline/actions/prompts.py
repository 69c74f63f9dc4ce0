"""Save and roll back a tenant's summary prompt. Every save opens a version; version 1 is built in."""

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.models import CompactionPrompt
from compaction.models.compactions import PROMPT_CHARACTERS_MAX
from compaction.pipeline.opening import current_prompt, prompt_version_text
from compaction.services.pipeline.prompts import PROMPT_VERSION
from compaction.services.sessions.drafts import text_problem
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput


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
    """Activate a text as the next version. Raises `InvalidInput`, or `Conflict` `prompt_changed`.

    `edited_from` is the version that the editor read, `rolled_back_to` the version whose text is restored.
    """
    if problem := text_problem(text):
        raise InvalidInput(*problem, "text")
    if not text.strip():
        raise InvalidInput("blank", "A prompt must not be blank.", "text")
    if len(text) > PROMPT_CHARACTERS_MAX:
        raise InvalidInput("too_long", f"A prompt has at most {PROMPT_CHARACTERS_MAX:,} characters.", "text")
    if edited_from is not None and edited_from != current_prompt(tenant_id)[0]:
        raise _changed()
    prompt = _open_version(tenant_id, text, rolled_back_to, by, now)
    record_audit(
        tenant_id=tenant_id,
        by=by,
        verb="save_prompt",
        target_kind="prompt",
        target_ids=[prompt.version],
        fields=["text"],
        now=now,
    )
    return prompt


@transaction.atomic
def roll_back_prompt(*, tenant_id: UUID, version: int, by: Actor, now: datetime) -> CompactionPrompt:
    """Activate the text of an older version again, as a new version. Raises as `save_prompt` does."""
    text = prompt_version_text(tenant_id, version)
    return save_prompt(tenant_id=tenant_id, text=text, rolled_back_to=version, by=by, now=now)


def _open_version(tenant_id: UUID, text: str, rolled_back_to: int | None, by: Actor, now: datetime) -> CompactionPrompt:
    rows = CompactionPrompt.objects.for_tenant(tenant_id)
    latest = rows.newest_first().first()
    at = max(now, latest.recorded_from) if latest else now
    try:
        with transaction.atomic():
            rows.current().update(recorded_to=at)
            prompt: CompactionPrompt = CompactionPrompt.objects.create(
                tenant_id=tenant_id,
                version=(latest.version if latest else PROMPT_VERSION) + 1,
                text=text,
                recorded_from=at,
                created_by=by.stored_label,
                rolled_back_to=rolled_back_to,
            )
    except IntegrityError as error:
        raise _changed() from error
    return prompt


def _changed() -> Conflict:
    return Conflict("prompt_changed", "Someone else saved the prompt in the meantime; read it before you save again.")
