"""Split a conversation into parts that fit a model, divide a budget among them, split a text (ADR-0072)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from compaction.services.sessions.turns import SessionTurn

#: The shortest text a message is cut to; a window that cannot contain it is too small.
PIECE_CHARACTERS_MIN = 200


def split_turns_to_fit(
    turns: Sequence[SessionTurn], available_tokens: int, count_tokens: Callable[[SessionTurn], int]
) -> list[list[SessionTurn]]:
    """Return the turns in order, in as few parts as their order allows, each of at most `available_tokens`.

    A message that alone is larger is cut into several of the same id. Raises `ValueError` where even a piece of the
    shortest length does not fit.
    """
    parts: list[list[SessionTurn]] = []
    left = 0
    for piece in (piece for turn in turns for piece in _pieces(turn, available_tokens, count_tokens)):
        tokens = count_tokens(piece)
        if not parts or tokens > left:
            parts.append([])
            left = available_tokens
        parts[-1].append(piece)
        left -= tokens
    return parts


def divide_budget(budget_tokens: int, sizes: Sequence[int]) -> list[int]:
    """Return the budget divided in proportion to `sizes`; together never more than the budget."""
    whole = max(sum(sizes), 1)
    return [budget_tokens * size // whole for size in sizes]


def _pieces(
    turn: SessionTurn, available_tokens: int, count_tokens: Callable[[SessionTurn], int]
) -> Iterator[SessionTurn]:
    if count_tokens(turn) <= available_tokens:
        yield turn
        return
    if len(turn.content) < 2 * PIECE_CHARACTERS_MIN:
        raise ValueError("too few tokens are available for a message")
    middle = _seam(turn.content)
    yield from _pieces(replace(turn, content=turn.content[:middle]), available_tokens, count_tokens)
    yield from _pieces(replace(turn, content=turn.content[middle:], tool_calls=()), available_tokens, count_tokens)


def _seam(text: str) -> int:
    """Return where to cut near the middle: after a line, a sentence or a word."""
    half = len(text) // 2
    ends = (place + len(mark) for mark in ("\n", ". ", " ") if (place := text.rfind(mark, half // 2, half)) > 0)
    return next(ends, half)


def split_text_by_bytes(text: str, bytes_max: int) -> list[str]:
    """Return the text in order as pieces of at most `bytes_max` of UTF-8, cut behind a line or a word; none blank."""
    pieces: list[str] = []
    text, start = text.strip(), 0
    while start < len(text):
        # A character has at least one byte, so the piece contains at most this many characters.
        encoded = text[start : start + bytes_max + 1].encode("utf-8", "surrogatepass")
        head = encoded[:bytes_max].decode("utf-8", "ignore")
        if len(encoded) > bytes_max:
            end = max(head.rfind("\n"), head.rfind(" "))
            head = head[:end] if end > 0 else head
        pieces.append(head.strip())
        start += max(len(head), 1)
        while start < len(text) and text[start].isspace():
            start += 1
    return [piece for piece in pieces if piece]
