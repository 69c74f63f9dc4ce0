"""The order in which kept blocks are read (ADR-0050)."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

ORDERINGS = ("top_down", "u_curve", "head_tail", "stable")
DEFAULT_ORDERING = "top_down"

Item = TypeVar("Item")


def order_items(items: Iterable[Item], ordering: str, previous: Iterable[object] = ()) -> list[Item]:
    """Return `items`, which come in order of importance, in one of `ORDERINGS`; nothing is added or lost.

    `previous` are the anchors of an earlier context in their order; only `stable` reads them. Raises `ValueError` for
    an unknown ordering.
    """
    listed = list(items)
    if ordering == "top_down":
        return listed
    if ordering == "u_curve":  # the front half alternates with the back half reversed: A..G -> A G B F C E D
        middle = (len(listed) + 1) // 2
        ordered: list[Any] = [None] * len(listed)
        ordered[0::2], ordered[1::2] = listed[:middle], listed[middle:][::-1]
        return ordered
    if ordering == "head_tail":
        return listed[0::2] + listed[1::2][::-1]
    if ordering == "stable":  # items of the earlier context first, in its order, then the new ones in the given order
        anchors = dict.fromkeys(anchor_key(anchor) for anchor in previous)
        places = {anchor: place for place, anchor in enumerate(anchors)}
        return sorted(listed, key=lambda item: places.get(anchor_key(_anchor_of(item)), len(places)))
    raise ValueError(f"unknown ordering {ordering!r}; known: {', '.join(ORDERINGS)}")


def anchor_key(anchor: object) -> Hashable:
    """Return a hashable form of an anchor, which may be a mapping such as `{type, id, version}` or a list."""
    if isinstance(anchor, Mapping):
        return tuple(sorted((str(name), anchor_key(value)) for name, value in anchor.items()))
    if isinstance(anchor, (list, tuple)):
        return tuple(anchor_key(value) for value in anchor)
    return anchor if isinstance(anchor, Hashable) else repr(anchor)


def _anchor_of(item: object) -> object:
    """Return the `anchor` (attribute or key) of an item if it has one, else the item."""
    return item.get("anchor", item) if isinstance(item, Mapping) else getattr(item, "anchor", item)
