"""Whether a new text repeats a memory that its writer received in a context (ADR-0096)."""

from collections.abc import Mapping

from memories.services.partitions.paths import MAX_PATH_BYTES, PartitionPath, is_within

_SEPARATOR = "//"


def context_partition(path: str, segments: Mapping[str, str]) -> str | None:
    """Return the partition of a context and the segments that it required as one text; None if that is too long."""
    required = PartitionPath(tuple(sorted(segments.items()))).path
    text = f"{path}{_SEPARATOR}{required}" if required else path
    return text if len(text.encode()) <= MAX_PATH_BYTES else None


def repeats_recalled_text(path: str, *, shown_in: str, stored_in: str) -> bool:
    """Whether a text for the partition `path` repeats one of `stored_in` that a context rendered.

    It does in the `context_partition` of that context, `shown_in`, and below. A text about one user never repeats
    another user's memory.
    """
    prefix, _, required = shown_in.partition(_SEPARATOR)
    if not is_within(path, prefix) or not {*filter(None, required.split("/"))} <= {*path.split("/")}:
        return False
    own, others = _users(path), _users(stored_in)
    return own == others or not own or not others


def _users(path: str) -> set[str]:
    return {segment for segment in path.split("/") if segment.startswith("user=")}
