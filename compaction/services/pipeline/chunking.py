"""Cutting a conversation into parts that a model can read, and a budget among them (ADR-0072)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from compaction.services.sessions.turns import SessionTurn

#: The shortest text a message is cut to; beneath it a window is too small to be worked with.
PIECE_CHARACTERS_MIN = 200


def split_turns_to_fit(
    turns: Sequence[SessionTurn], room_tokens: int, count_tokens: Callable[[SessionTurn], int]
) -> list[list[SessionTurn]]:
    """The turns in order, in as few parts as their order allows, each of at most `room_tokens`.

    A message that alone is larger is cut into several of the same id. Raises `ValueError` where even a piece of the
    shortest length does not fit.
    """
    parts: list[list[SessionTurn]] = []
    left = 0
    for piece in (piece for turn in turns for piece in _pieces(turn, room_tokens, count_tokens)):
        tokens = count_tokens(piece)
        if not parts or tokens > left:
            parts.append([])
            left = room_tokens
        parts[-1].append(piece)
        left -= tokens
    return parts


def divide_budget(budget_tokens: int, sizes: Sequence[int]) -> list[int]:
    """The budget divided in proportion to `sizes`; together never more than the budget."""
    whole = sum(sizes)
    return [budget_tokens * size // whole for size in sizes] if whole else [0 for _ in sizes]


def _pieces(turn: SessionTurn, room_tokens: int, count_tokens: Callable[[SessionTurn], int]) -> Iterator[SessionTurn]:
    if count_tokens(turn) <= room_tokens:
        yield turn
        return
    if len(turn.content) < 2 * PIECE_CHARACTERS_MIN:
        raise ValueError("the room is too small for a message")
    middle = _seam(turn.content)
    yield from _pieces(replace(turn, content=turn.content[:middle]), room_tokens, count_tokens)
    rest = replace(turn, content=turn.content[middle:], tool_calls=())
    yield from _pieces(rest, room_tokens, count_tokens)


def _seam(text: str) -> int:
    """Where to cut near the middle: behind a line, a sentence or a word."""
    half = len(text) // 2
    for mark in ("\n", ". ", " "):
        place = text.rfind(mark, half // 2, half)
        if place > 0:
            return place + len(mark)
    return half
