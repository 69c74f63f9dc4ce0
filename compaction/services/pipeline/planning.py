"""The plan of a compaction: it masks first, and summarises only if the session is still over its target (ADR-0067)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from compaction.services.pipeline.masking import messages_to_mask
from compaction.services.sessions.turns import COMPACTED, MASKED, SessionTurn
from compaction.services.windowing import preserved_from, tool_call_units, window_share_tokens
from context.services.profiles.compaction_policy import CompactionPolicy

# ADR-0067. A summary with a smaller budget is not useful.
MIN_SUMMARY_TOKENS = 64
#: A span must be worth a summary: this many tokens, and this share of the window unless a request forces it. Without
#: it a session whose preserved messages alone are over the target would be compacted again with every message. So much
#: of the window is left free after a compaction, or messages would be left out before the next span is long enough.
MIN_SPAN_TOKENS = 2 * MIN_SUMMARY_TOKENS
MIN_SPAN_SHARE = 0.10
#: How much longer than planned a summary may become, by more statements of certain worth (in twelve labelled sessions
#: it holds 41 % of what people would keep without them, 56 % with them) and by those with facts that it would lose.
#: Yet it has at most this share of the span.
LONGER_FOR_FACTS, LONGER_SPAN_SHARE = 2.0, 0.5

#: Why a plan contains no summary.
UNDER_TARGET = "under_target"
SUMMARIES_OFF = "summaries_off"
NOTHING_OUTSIDE_WINDOW = "nothing_outside_window"
ALL_PINNED = "all_pinned"
SPAN_TOO_SMALL = "span_too_small"


@dataclass(frozen=True)
class CompactionPlan:
    """What is masked (`mask_ids`) and then summarised (`span_ids`, empty where no summary is needed).

    A tool output may be in both: it is masked even if no summary is made. `reason` says why there is no summary.
    `span_tokens` counts the span as masked, `tokens_after` a summary of the planned length (`summary_budget_tokens`).
    More statements of certain worth, and facts that it would lose, make it longer, up to `summary_tokens_at_most`.
    """

    mask_ids: tuple[Hashable, ...]
    span_ids: tuple[Hashable, ...]
    first_preserved_index: int
    tokens_before: int
    tokens_after_masking: int
    tokens_after: int
    summary_budget_tokens: int = 0
    summary_tokens_at_most: int = 0
    span_tokens: int = 0
    reason: str = ""

    @property
    def tokens_leaving(self) -> int:
        """Return the tokens of the context that masking and the new summary replace, without the summary's own."""
        return self.tokens_before - self.tokens_after + self.summary_budget_tokens

    @property
    def tokens_replaced(self) -> int:
        """Return the tokens that the new summary alone replaces: of the span as masked, and the current summary."""
        return self.tokens_after_masking - self.tokens_after + self.summary_budget_tokens

    @property
    def tokens_after_at_most(self) -> int:
        """Return the tokens of the context with a summary as long as it may be."""
        return self.tokens_after - self.summary_budget_tokens + self.summary_tokens_at_most

    @property
    def is_summary_needed(self) -> bool:
        """Whether the plan contains messages to summarise."""
        return bool(self.span_ids)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do; `reason` says why."""
        return not self.mask_ids and not self.span_ids


def plan_compaction(
    messages: Sequence[SessionTurn],
    *,
    window: int,
    policy: CompactionPolicy,
    fixed_tokens: int,
    summary_tokens: int = 0,
    reserved_tokens: int = 0,
    is_forced: bool = False,
) -> CompactionPlan:
    """Return what to do about a session's messages, given in order.

    `fixed_tokens` are those of directive and current summary together; `summary_tokens` those of the current summary,
    which a new one replaces; `reserved_tokens` of the window are for everything else. `is_forced`: a summary was
    requested although the session is under its target or the span is small. Raises `ValueError` for invalid numbers.
    """
    if window <= 0 or min(fixed_tokens, reserved_tokens) < 0 or not 0 <= summary_tokens <= fixed_tokens:
        raise ValueError("a window is above 0, and the current summary is a part of the fixed tokens")
    target = window_share_tokens(window, policy.target) - reserved_tokens
    smallest = max(MIN_SPAN_TOKENS, window_share_tokens(window, MIN_SPAN_SHARE))
    usable = window - reserved_tokens - smallest
    others = fixed_tokens - summary_tokens
    places = [place for place, turn in enumerate(messages) if turn.state != COMPACTED]
    turns = [messages[place] for place in places]
    tokens_max = usable - others - max(summary_tokens, MIN_SUMMARY_TOKENS)
    first = preserved_from(
        turns,
        window,
        preserve_messages=policy.preserve_messages,
        preserve_share=policy.preserve_share,
        tokens_max=tokens_max,
        cut_tokens_max=window_share_tokens(max(target - others, 0), 1 - policy.summary_share),
    )
    mask_ids = messages_to_mask(turns, first, policy.mask_over_bytes) if policy.has_masking else ()
    masked = mask_turns(turns, mask_ids)
    before = fixed_tokens + sum(turn.context_tokens for turn in turns)
    after_masking = fixed_tokens + sum(turn.context_tokens for turn in masked)

    # units with a pinned part are kept
    units = (unit for unit in tool_call_units(masked) if unit[-1] < first)
    leaving = (unit for unit in units if not any(masked[index].pinned for index in unit))
    span = [masked[index] for index in sorted(chain.from_iterable(leaving))]
    span_tokens = sum(turn.context_tokens for turn in span)
    index = places[first] if first < len(places) else len(messages)
    markers = sum(turn.marker_tokens for turn in masked)
    smallest = MIN_SPAN_TOKENS if is_forced else smallest
    reason = _reason(masked[:first], span_tokens, after_masking + markers - target, smallest, policy, is_forced)
    if reason:
        return CompactionPlan(mask_ids, (), index, before, after_masking, after_masking, reason=reason)
    replaced = span_tokens + summary_tokens
    beside = after_masking - replaced
    kept = beside + markers - sum(turn.marker_tokens for turn in span)
    desired = window_share_tokens(span_tokens, policy.summary_share) + summary_tokens
    available_in_window = usable - kept
    budget = _summary_budget(
        desired, available=target - kept, available_in_window=available_in_window, replaced=replaced
    )
    longest = min(int(budget * LONGER_FOR_FACTS), int(span_tokens * LONGER_SPAN_SHARE), available_in_window)
    return CompactionPlan(
        mask_ids,
        tuple(turn.id for turn in span),
        index,
        before,
        after_masking,
        tokens_after=beside + budget,
        summary_budget_tokens=budget,
        summary_tokens_at_most=max(longest, budget),
        span_tokens=span_tokens,
    )


def mask_turns(turns: Sequence[SessionTurn], mask_ids: Sequence[Hashable]) -> list[SessionTurn]:
    """Return the turns with those of `mask_ids` masked."""
    masked = set(mask_ids)
    return [replace(turn, state=MASKED) if turn.id in masked else turn for turn in turns]


def _reason(
    outside: Sequence[SessionTurn],
    span_tokens: int,
    over_target: int,
    smallest: int,
    policy: CompactionPolicy,
    is_forced: bool,
) -> str:
    if over_target <= 0 and not is_forced:
        return UNDER_TARGET
    if not policy.has_summaries:
        return SUMMARIES_OFF
    if not outside:
        return NOTHING_OUTSIDE_WINDOW
    if not span_tokens:
        return ALL_PINNED
    return SPAN_TOO_SMALL if span_tokens < smallest else ""


def _summary_budget(desired: int, *, available: int, available_in_window: int, replaced: int) -> int:
    """Return the tokens of a summary that should have `desired`: those that fit under the target, but at least half.

    Long messages that are still preserved exceed the target until they are masked or summarised; facts dropped from a
    summary to make space for them are lost permanently. The result is at least the minimum, and always less than what
    the summary replaces.
    """
    least = min(desired // 2, available_in_window)
    return min(max(min(desired, available), least, MIN_SUMMARY_TOKENS), replaced - 1)
