"""From the checked fields of a body to the wish for a context, within the key's reach."""

from typing import Any

from context.receipts.results import DEFAULT_RENDER, ContextRequest, Focus
from memories.models import ApiKey
from memories.services.partitions.paths import PartitionPath
from memories.tenancy.api.permissions import readable_partition
from memories.tenancy.serializers.partitions import requested_segments

#: Null in a body means the same as leaving the field out.
NULLABLE = ("query", "model", "profile", "budget_profile", "packer", "ordering", "render", "summary_style")


def build_context_request(key: ApiKey, values: dict[str, Any]) -> ContextRequest:
    """The wish that `values` of a `ContextInput` describe."""
    given = {name: values[name] for name in NULLABLE if values[name] is not None}
    return ContextRequest(
        focus=_focus(key, values["focus"]),
        partition=_path(key, values["partition"]),
        exact=values["exact"],
        segments=requested_segments(values),
        max_tokens=values["max_tokens"],
        include_tenant_memo=values["include_tenant_memo"],
        include_summaries_at=values["include_summaries_at"],
        include_linked_memories=values["include_linked_memories"],
        include_memories_top_k=values["include_memories_top_k"],
        as_of=values["as_of"],
        stable_with=values["stable_with"],
        explain=values["explain"],
        preview=values["preview"],
        **{"render": DEFAULT_RENDER, **given},
    )


def _focus(key: ApiKey, values: dict[str, Any] | None) -> Focus | None:
    if values is None:
        return None
    path = None if values["partition"] is None else _path(key, values["partition"], "focus.partition")
    return Focus(memory_id=values.get("memory_id"), summary_id=values.get("summary_id"), partition=path)


def _path(key: ApiKey, asked: PartitionPath | None, field: str = "partition") -> str:
    """The path asked for; "" where none is, which means all that the key reaches."""
    return "" if asked is None else readable_partition(key, asked, field).path
