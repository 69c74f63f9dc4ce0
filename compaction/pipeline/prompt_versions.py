"""The versions of the summary prompt of a tenant: the active one, all of them, and the text of one."""

from uuid import UUID

from compaction.models import CompactionPrompt
from compaction.services.pipeline.prompts import PROMPT, PROMPT_VERSION
from memories.tenancy.exceptions import InvalidInput


def current_prompt(tenant_id: UUID) -> tuple[int, str]:
    """Return the version and the text of the active prompt; version 1 is built in."""
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
