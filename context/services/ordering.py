"""The order in which kept blocks are read (ADR-0050)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

ORDERINGS = ("top_down", "u_curve", "head_tail", "stable")
DEFAULT_ORDERING = "top_down"

Item = TypeVar("Item")


def anchor_of(item: object) -> object:
    """What identifies an item between two contexts: its `anchor` (attribute or key) where it has one, else itself."""
    if isinstance(item, Mapping):
        return item.get("anchor", item)
    return getattr(item, "anchor", item)


def order_items(
    items: Iterable[Item],
    ordering: str,
    previous: Iterable[object] = (),
    *,
    anchor_of: Callable[[Item], object] = anchor_of,
) -> list[Item]:
    """`items`, which come in order of importance, as one of `ORDERINGS` wants them; nothing is added or lost.

    `previous` are the anchors of an earlier context in their order; only `stable` reads them. Raises `ValueError` for
    an unknown ordering.
    """
    listed = list(items)
    if ordering == "top_down":
        return listed
    if ordering == "u_curve":
        return _u_curve(listed)
    if ordering == "head_tail":
        return listed[0::2] + listed[1::2][::-1]
    if ordering == "stable":
        return _stable(listed, previous, anchor_of)
    raise ValueError(f"unknown ordering {ordering!r}; known: {', '.join(ORDERINGS)}")


def _u_curve(items: list[Item]) -> list[Item]:
    """The front half alternating with the back half reversed: A..G -> A G B F C E D."""
    middle = (len(items) + 1) // 2
    ordered: list[Any] = [None] * len(items)
    ordered[0::2] = items[:middle]
    ordered[1::2] = items[middle:][::-1]
    return ordered


def _stable(items: list[Item], previous: Iterable[object], anchor_of: Callable[[Item], object]) -> list[Item]:
    """Items of the earlier context first and in its order, then the new ones as they came."""
    places: dict[Hashable, int] = {}
    for place, anchor in enumerate(previous):
        places.setdefault(_key(anchor), place)
    behind = max(places.values(), default=0) + 1
    return sorted(items, key=lambda item: places.get(_key(anchor_of(item)), behind))


def _key(anchor: object) -> Hashable:
    """A hashable form of an anchor, which may be a mapping such as `{type, id, version}` or a list."""
    if isinstance(anchor, Mapping):
        return tuple(sorted((str(name), _key(value)) for name, value in anchor.items()))
    if isinstance(anchor, (list, tuple)):
        return tuple(_key(value) for value in anchor)
    return anchor if isinstance(anchor, Hashable) else repr(anchor)
