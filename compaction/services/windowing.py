"""Which newest messages of a session stay as they are, and which messages belong together (ADR-0067)."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.services.sessions.turns import SessionTurn

# ADR-0067. The newest so many messages, or the newest that fit in this share of the window: whichever are more.
PRESERVE_MESSAGES = 20
PRESERVE_SHARE = 0.2

#: Shares are written as decimals: 0.2 x 1,005 is 201, not 200.99999999999997.
_SHARE_DIGITS = 6


def first_preserved_index(
    message_tokens: Sequence[int],
    max_context_tokens: int,
    *,
    preserve_messages: int = PRESERVE_MESSAGES,
    preserve_share: float = PRESERVE_SHARE,
) -> int:
    """The index of the first message that is preserved; the number of messages when none is.

    Raises `ValueError` for negative numbers.
    """
    if max_context_tokens < 0 or preserve_messages < 0 or preserve_share < 0 or min(message_tokens, default=0) < 0:
        raise ValueError("tokens, messages and shares are not below 0")
    by_count = max(len(message_tokens) - preserve_messages, 0)
    by_share = first_index_that_fits(message_tokens, window_share_tokens(max_context_tokens, preserve_share))
    return min(by_count, by_share)


def first_index_that_fits(message_tokens: Sequence[int], room_tokens: float) -> int:
    """The index from which all messages to the end fit in `room_tokens`, as low as possible."""
    index, left = len(message_tokens), room_tokens
    while index and message_tokens[index - 1] <= left:
        index -= 1
        left -= message_tokens[index]
    return index


def window_share_tokens(window: int, share: float) -> int:
    """A share of a window in whole tokens, rounded down."""
    return int(round(window * share, _SHARE_DIGITS))


def tool_call_units(turns: Sequence[SessionTurn]) -> list[tuple[int, ...]]:
    """The indices of turns that belong together, ordered by their first: a tool call with its results, or one turn.

    A result belongs to the nearest earlier turn that made a call of its id; one without any stands alone.
    """
    callers: dict[str, int] = {}
    members: dict[int, list[int]] = {}
    for index, turn in enumerate(turns):
        start = callers.get(turn.tool_call_id, index) if turn.role == "tool" else index
        members.setdefault(start, []).append(index)
        for call_id in turn.call_ids:
            callers[call_id] = index
    return [tuple(indices) for _, indices in sorted(members.items())]


def unit_starts(turns: Sequence[SessionTurn]) -> list[int]:
    """For each turn the index at which its unit begins."""
    starts = list(range(len(turns)))
    for unit in tool_call_units(turns):
        for index in unit:
            starts[index] = unit[0]
    return starts


def is_complete_unit(unit: Sequence[SessionTurn]) -> bool:
    """Whether every call of the unit has its result and every result its call: what a provider accepts."""
    called = {call_id for turn in unit for call_id in turn.call_ids}
    answered = {turn.tool_call_id for turn in unit if turn.role == "tool"}
    return called == answered and (bool(called) or not any(turn.tool_calls for turn in unit))


def index_between_units(turns: Sequence[SessionTurn], index: int) -> int:
    """`index`, moved down until no unit has turns on both sides of it."""
    starts = unit_starts(turns)
    lowest, position = index, len(turns)
    while position > lowest:
        position -= 1
        lowest = min(lowest, starts[position])
    return lowest


def preserved_from(
    turns: Sequence[SessionTurn],
    window: int,
    *,
    preserve_messages: int,
    preserve_share: float,
    room: int,
    cut_room: int,
) -> int:
    """The index of the first turn of a session that stays as it is; units are not split.

    Where the preserved turns take more than `room` tokens, only the newest units that fit in `cut_room` stay. A call
    that waits for its results always does: what comes next answers it.
    """
    tokens = [turn.context_tokens for turn in turns]
    index = index_between_units(
        turns,
        first_preserved_index(tokens, window, preserve_messages=preserve_messages, preserve_share=preserve_share),
    )
    if sum(tokens[index:]) > room:
        index = _index_above_units(turns, first_index_that_fits(tokens, min(cut_room, room)))
    return index_between_units(turns, min(index, _waiting_from(turns)))


def _index_above_units(turns: Sequence[SessionTurn], index: int) -> int:
    """`index`, moved up until no unit has turns on both sides of it."""
    ends = list(range(len(turns)))
    for unit in tool_call_units(turns):
        for member in unit:
            ends[member] = unit[-1]
    position, highest = 0, index
    while position < highest:
        highest = max(highest, ends[position] + 1)
        position += 1
    return highest


def _waiting_from(turns: Sequence[SessionTurn]) -> int:
    """The index of a call at the very end that still waits for results; the number of turns when none does."""
    index = len(turns)
    while index and turns[index - 1].role == "tool":
        index -= 1
    answered = {turn.tool_call_id for turn in turns[index:]}
    if index and set(turns[index - 1].call_ids) - answered:
        return index - 1
    return len(turns)
