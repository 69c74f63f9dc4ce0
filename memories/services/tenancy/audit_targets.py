"""The console page of an audit row's target, and the displayed form of its id."""

import re
from dataclasses import dataclass, field

#: Pages of one row; the URL contains its id.
_PAGES = {
    "compaction": "compaction",
    "evaluation": "evaluation",
    "golden_question": "golden-question",
    "memory": "memory",
    "receipt": "receipt",
    "session": "session",
    "snapshot": "snapshot",
}
#: Pages that show all rows of a kind.
_LISTS = {
    "alert_destination": "alerts",
    "alert_rule": "alerts",
    "api_key": "api-keys",
    "embedding_model": "embeddings",
    "erasure": "erasures",
    "invitation": "members",
    "partition_summary": "partitions",
    "prompt": "prompts",
    "retention_policy": "erasures",
    "run": "jobs",
    "tenant": "tenant-settings",
    "tenant_memo": "memo",
    "user": "members",
}
_OF_ADMINS = {"api_key", "erasure", "prompt", "retention_policy"}
_PROFILES = {"budget_profile": "budget", "scoring_profile": "scoring-profile"}
UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROFILE_ID = re.compile(r"([-a-zA-Z0-9_]+)( \d+)?")
#: A key's primary key is its prefix, a dot and the hash of its secret.
_KEY_ID = re.compile(r"([A-Za-z0-9]{8})\.\S{40,}")


@dataclass(frozen=True)
class AuditTargetPage:
    """A URL by name, after the tenant; `admins_only` if only admins may open it."""

    name: str
    args: tuple[str, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    admins_only: bool = False


def displayed_target_id(target_id: str) -> str:
    """Return an id for display; of a key only the prefix, never the hash of its secret."""
    key = _KEY_ID.fullmatch(target_id)
    return key[1] if key else target_id


def audit_target_page(verb: str, target_kind: str, target_id: str, *, is_first: bool = True) -> AuditTargetPage | None:
    """Return the page about one id of an audit row, None without one; a profile's page only for the first id."""
    if target_kind in _LISTS:
        return AuditTargetPage(_LISTS[target_kind], admins_only=target_kind in _OF_ADMINS)
    if target_kind in _PAGES and not verb.startswith("delete_") and UUID_TEXT.fullmatch(target_id):
        return AuditTargetPage(_PAGES[target_kind], (target_id,))
    if target_kind in _PROFILES and is_first and (profile := _PROFILE_ID.fullmatch(target_id)):
        return AuditTargetPage(_PROFILES[target_kind], (profile[1],))
    if target_kind == "partition" and "=" in target_id:
        return AuditTargetPage("partitions", query={"partition": target_id})
    return None
