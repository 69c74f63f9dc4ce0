"""Which messages a context holds when not all of them fit (ADR-0067)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.sessions.turns import COMPACTED, SessionTurn
from compaction.services.windowing import is_complete_unit, tool_call_units


@dataclass(frozen=True)
class TrimmedTurns:
    """The turns that stay, in their order, what they take, and those left out.

    `broken` are among those left out: results without a call, calls that still lack a result.
    """

    kept: tuple[SessionTurn, ...]
    left_out: tuple[SessionTurn, ...]
    broken: tuple[SessionTurn, ...]
    tokens: int


def trim_to_newest_turns(turns: Sequence[SessionTurn], room_tokens: int) -> TrimmedTurns:
    """The newest whole units that fit in `room_tokens`; pinned ones come first.

    A unit that does not fit in what pinned ones leave, however much of the others is dropped, is passed over; the first
    that does not fit in the rest ends the search, so that no hole opens in the conversation. Compacted turns are not
    looked at.
    """
    standing = [turn for turn in turns if turn.state != COMPACTED]
    groups = [(unit, [standing[index] for index in unit]) for unit in tool_call_units(standing)]
    broken = {index for unit, members in groups if not is_complete_unit(members) for index in unit}
    whole = [
        (unit, sum(turn.context_tokens for turn in members), any(turn.pinned for turn in members))
        for unit, members in reversed(groups)
        if unit[0] not in broken
    ]
    kept: set[int] = set()
    left = room_tokens
    for unit, tokens, is_pinned in whole:
        if is_pinned and tokens <= left:
            kept.update(unit)
            left -= tokens
    room = left
    for unit, tokens, is_pinned in whole:
        if is_pinned or tokens > room:
            continue
        if tokens > left:
            break
        kept.update(unit)
        left -= tokens
    return TrimmedTurns(
        kept=tuple(turn for index, turn in enumerate(standing) if index in kept),
        left_out=tuple(turn for index, turn in enumerate(standing) if index not in kept),
        broken=tuple(turn for index, turn in enumerate(standing) if index in broken),
        tokens=room_tokens - left,
    )
