"""What changed between two contexts, told by their anchors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple


class AnchorDiff(NamedTuple):
    """Anchors by what became of them: added and kept in the order of the new context, removed in that of the old."""

    added: list[Any]
    removed: list[Any]
    kept: list[Any]


def diff_anchors(prior: Iterable[Any], now: Iterable[Any]) -> AnchorDiff:
    """How the anchors `now` differ from `prior`; a repeated anchor counts once.

    An anchor is whatever identifies a block: id and version at the least, so that an edited memory is both added and
    removed. Mappings and lists will do, such as `{"type": ..., "id": ..., "version": ...}`.
    """
    before, after = _by_key(prior), _by_key(now)
    return AnchorDiff(
        added=[anchor for key, anchor in after.items() if key not in before],
        removed=[anchor for key, anchor in before.items() if key not in after],
        kept=[anchor for key, anchor in after.items() if key in before],
    )


def _by_key(anchors: Iterable[Any]) -> dict[Hashable, Any]:
    """The anchors by what makes them equal, each once, where it stands first."""
    first: dict[Hashable, Any] = {}
    for anchor in anchors:
        first.setdefault(_key(anchor), anchor)
    return first


def _key(anchor: Any) -> Hashable:
    """A hashable form of an anchor; the order of a mapping's names does not matter."""
    if isinstance(anchor, Mapping):
        return tuple(sorted((str(name), _key(value)) for name, value in anchor.items()))
    if isinstance(anchor, list):
        return tuple(_key(value) for value in anchor)
    return anchor  # type: ignore[no-any-return]
