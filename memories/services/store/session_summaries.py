"""How memories that store the summary of a session are recognised."""

from collections.abc import Mapping
from typing import Any, Protocol

#: `type` in the metadata of such a memory.
SESSION_SUMMARY_TYPE = "context_synthesis"
_SOURCE = "compaction:"


class SummaryCandidate(Protocol):
    """The fields of a memory that show whether a compaction stored it as a summary."""

    session: str
    source_id: str
    metadata: Mapping[str, Any]


def summary_source(compaction_id: object, edit_version: int) -> str:
    """Return the `source_id` of a summary; a colon and a number follow it in each memory that contains a part."""
    return f"{_SOURCE}{compaction_id}:{edit_version}"


def source_of_summary(memory: SummaryCandidate) -> str:
    """Return the `summary_source` of the summary that the memory is a part of, "" if it is none.

    The `source_id` tells summaries from memories of agents whose metadata look the same.
    """
    is_summary = memory.session and memory.metadata.get("type") == SESSION_SUMMARY_TYPE
    return memory.source_id.rpartition(":")[0] if is_summary and memory.source_id.startswith(_SOURCE) else ""
