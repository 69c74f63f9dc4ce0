"""Choose the messages of a context when not all of them fit (ADR-0067)."""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.sessions.turns import COMPACTED, SessionTurn
from compaction.services.windowing import is_complete_unit, tool_call_units


@dataclass(frozen=True)
class TrimmedTurns:
    """The kept turns, their tokens, and the excluded turns, of which `incomplete` lack a call or a result.

    Not `is_certain` if turns that were not read might be kept too.
    """

    kept: tuple[SessionTurn, ...]
    excluded: tuple[SessionTurn, ...]
    incomplete: tuple[SessionTurn, ...]
    tokens: int
    is_certain: bool = True


def trim_to_newest_turns(turns: Sequence[SessionTurn], token_budget: int, *, unread_before: int = 0) -> TrimmedTurns:
    """Return the newest whole units that fit in `token_budget`; pinned ones come first, compacted ones never.

    A unit larger than the space left by pinned ones is skipped; the first that does not fit in the rest ends the
    search, so that the conversation has no gap. `turns` may lack those of `UnreadTurns` before the sequence
    `unread_before`.
    """
    shown = [turn for turn in turns if turn.state != COMPACTED]
    groups = [(unit, [shown[index] for index in unit]) for unit in tool_call_units(shown)]
    incomplete = {index for unit, members in groups if not is_complete_unit(members) for index in unit}
    pinned: list[tuple[tuple[int, ...], int]] = []
    others: list[tuple[tuple[int, ...], int]] = []
    for unit, members in reversed(groups):
        if unit[0] not in incomplete:
            is_pinned = any(turn.pinned for turn in members)
            (pinned if is_pinned else others).append((unit, sum(turn.context_tokens for turn in members)))
    kept: set[int] = set()
    left = token_budget
    for unit, tokens in pinned:
        if tokens <= left:
            kept.update(unit)
            left -= tokens
    budget_after_pinned = left
    is_certain = True
    for unit, tokens in others:
        is_certain = (shown[unit[0]].sequence or 0) >= unread_before
        if not is_certain or left < tokens <= budget_after_pinned:
            break
        if tokens <= left:
            kept.update(unit)
            left -= tokens
    else:
        is_certain = not unread_before
    return TrimmedTurns(
        kept=tuple(turn for index, turn in enumerate(shown) if index in kept),
        excluded=tuple(turn for index, turn in enumerate(shown) if index not in kept),
        incomplete=tuple(turn for index, turn in enumerate(shown) if index in incomplete),
        tokens=token_budget - left,
        is_certain=is_certain,
    )
