"""Decide which of a session's newest messages are preserved, and which must not be separated (ADR-0067).

A tool call and its results must stay together.
"""

from collections.abc import Sequence

from compaction.services.sessions.turns import SessionTurn

# ADR-0067. This many newest messages, or the newest that fit in this share of the window, whichever are more.
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
    """Return the index of the first preserved message, or their number. Raises `ValueError` for negative numbers."""
    if min(max_context_tokens, preserve_messages, preserve_share, *message_tokens) < 0:
        raise ValueError("tokens, messages and shares are not below 0")
    by_share = _first_index_that_fits(message_tokens, window_share_tokens(max_context_tokens, preserve_share))
    return min(max(len(message_tokens) - preserve_messages, 0), by_share)


def _first_index_that_fits(message_tokens: Sequence[int], available_tokens: int) -> int:
    """The index from which all messages to the end fit in `available_tokens`, as low as possible."""
    index, left = len(message_tokens), available_tokens
    while index and message_tokens[index - 1] <= left:
        index -= 1
        left -= message_tokens[index]
    return index


def window_share_tokens(window: int, share: float) -> int:
    """Return a share of a window in whole tokens, rounded down."""
    return int(round(window * share, _SHARE_DIGITS))


def tool_call_units(turns: Sequence[SessionTurn]) -> list[tuple[int, ...]]:
    """Return the indices of turns that belong together (a tool call with its results), ordered by the first turn.

    A result belongs to the nearest earlier turn that made a call with its id. Every other turn is a separate unit.
    """
    callers: dict[str, int] = {}
    members: dict[int, list[int]] = {}
    for index, turn in enumerate(turns):
        start = callers.get(turn.tool_call_id, index) if turn.role == "tool" else index
        members.setdefault(start, []).append(index)
        callers |= dict.fromkeys(turn.call_ids, index)
    return [tuple(indices) for _, indices in sorted(members.items())]


def is_complete_unit(unit: Sequence[SessionTurn]) -> bool:
    """Return whether every call of the unit has its result and every result its call, as providers require."""
    called = {call_id for turn in unit for call_id in turn.call_ids}
    answered = {turn.tool_call_id for turn in unit if turn.role == "tool"}
    return called == answered and (bool(called) or not any(turn.tool_calls for turn in unit))


def index_between_units(turns: Sequence[SessionTurn], index: int) -> int:
    """Return `index`, moved down until no unit has turns on both sides of it."""
    for unit in sorted(tool_call_units(turns), key=lambda unit: unit[-1], reverse=True):
        if unit[-1] >= index:
            index = min(index, unit[0])
    return index


def preserved_from(
    turns: Sequence[SessionTurn],
    window: int,
    *,
    preserve_messages: int,
    preserve_share: float,
    tokens_max: int,
    cut_tokens_max: int,
) -> int:
    """Return the index of the first preserved turn of a session; units are not split.

    If the preserved turns with their markers take more than `tokens_max`, only those that fit in `preserve_share` or
    in `cut_tokens_max` are preserved, regardless of `preserve_messages`; if these take more than `tokens_max`, only the
    newest units that fit in `cut_tokens_max`. The newest unit is preserved if it fits in `tokens_max`, and a call that
    waits for its results always is, because the next message answers it.
    """
    tokens = [turn.context_tokens for turn in turns]
    first = first_preserved_index(tokens, window, preserve_messages=preserve_messages, preserve_share=preserve_share)
    index = index_between_units(turns, first)
    costs = [turn.cost for turn in turns]
    if turns and sum(costs[index:]) > tokens_max:
        first = first_preserved_index(tokens, window, preserve_messages=0, preserve_share=preserve_share)
        index = index_between_units(turns, first)
        cut = _index_above_units(turns, _first_index_that_fits(costs, min(cut_tokens_max, tokens_max)))
        index = cut if sum(costs[index:]) > tokens_max else min(index, cut)
        newest = tool_call_units(turns)[-1][0]
        if sum(costs[newest:]) <= tokens_max:
            index = min(index, newest)
    return index_between_units(turns, min(index, _waiting_from(turns)))


def _index_above_units(turns: Sequence[SessionTurn], index: int) -> int:
    for unit in tool_call_units(turns):
        if unit[0] < index:
            index = max(index, unit[-1] + 1)
    return index


def _waiting_from(turns: Sequence[SessionTurn]) -> int:
    """Return the index of a call at the very end that still waits for results; the number of turns if none does."""
    index = len(turns)
    while index and turns[index - 1].role == "tool":
        index -= 1
    answered = {turn.tool_call_id for turn in turns[index:]}
    return index - 1 if index and set(turns[index - 1].call_ids) - answered else len(turns)
