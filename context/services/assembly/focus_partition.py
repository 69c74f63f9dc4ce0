"""The partition that bounds a context about one memory or summary (ADR-0099)."""

from collections.abc import Mapping

from memories.services.partitions.paths import PartitionPath, is_within, parse_partition


def focus_partition(about: PartitionPath, segments: Mapping[str, str], *, reach: str) -> PartitionPath:
    """Return the partition `about` of the focus, or the ancestor that ends with the last of the named `segments`.

    If not all segments are in its path, nothing wider is chosen. The result is never above `reach`, which contains
    `about`.
    """
    places = {segment: place for place, segment in enumerate(about.segments, start=1)}
    named = [places.get(segment) for segment in segments.items()]
    if not named or None in named:
        return about
    wider = PartitionPath(about.segments[: max(place or 0 for place in named)])
    return wider if is_within(wider.path, reach) else parse_partition(reach)
