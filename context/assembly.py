"""The one conductor of a context: retrieve -> score -> pack -> order -> render -> count -> receipt.

Slow work (embedding the query, searching) runs outside of the scopes opened here. Whatever part fails, the caller gets
a context of the rest and a warning, never an exception; only a wish that cannot be granted is refused.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import perf_counter
from typing import Any
from uuid import UUID

from django.db import Error as DatabaseFailure

from context.counters import budget_calculator
from context.fence import render_blocks
from context.receipts import write_receipt
from context.results import (
    MEMORY,
    SCORING_PROFILE_NAME,
    SCORING_PROFILE_VERSION,
    AssembledContext,
    Block,
    Consideration,
    ContextBudget,
    ContextRequest,
    Notice,
    Omission,
)
from context.sections import Room, Section, memo_section, pack_memories, rank_candidates
from context.services.budget import BudgetCalculator
from context.services.ordering import order_items
from context.services.packer import OVER_BUDGET
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS
from context.wishes import Wish, resolve_wish
from memories.actions import remember_recall
from memories.audit import Actor
from memories.retrieval import Candidate, retrieve
from memories.scopes import tenant_scope
from memories.services.fusion import MAX_CANDIDATES

logger = logging.getLogger(__name__)

SEARCH_FAILED = Notice("search_failed", "The search failed; the context holds the memo and pinned memories only.")
PINNED_FAILED = Notice("pinned_failed", "Pinned memories could not be read either.")
KEY_ACTOR = "key"
RECEIPT_FAILED = Notice("receipt_failed", "The context could not be recorded, so it has no id and counts nowhere.")


@dataclass
class StepTimer:
    """How long each step took, in milliseconds."""

    milliseconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] = round((perf_counter() - start) * 1000, 3)


@dataclass(frozen=True)
class Found:
    """What the search gave: candidates, how they were found, and what went wrong."""

    candidates: Sequence[Candidate]
    plan: dict[str, Any]
    notices: Sequence[Notice]
    milliseconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitted:
    """The final text, its exact count of tokens, its blocks in reading order, and what had to go at the last moment."""

    text: str
    tokens: int
    nonce_counter: int
    blocks: Sequence[Block]
    dropped: Sequence[Block]


def assemble_context(
    request: ContextRequest, *, tenant_id: UUID, reach: str, actor: Actor, now: datetime
) -> AssembledContext:
    """The context that `request` wishes, from the tenant's rows within `reach`; called with no scope open.

    Unless it is a preview, its receipt is stored and the packed memories count as retrieved. Raises `InvalidInput`,
    `Forbidden` or `NotFound` (all with the field) for a wish that cannot be granted, before anything is searched.
    """
    timer = StepTimer()
    calculator = budget_calculator()
    with timer.step("total"):
        with timer.step("resolve"):
            wish = resolve_wish(request, tenant_id=tenant_id, reach=reach, calculator=calculator)
        context = _assemble(wish, tenant_id, calculator, timer, now)
        if not request.preview:
            with timer.step("receipt"):
                context = _record(context, tenant_id, actor, now)
    return replace(context, timings=timer.milliseconds)


def _assemble(
    wish: Wish, tenant_id: UUID, calculator: BudgetCalculator, timer: StepTimer, now: datetime
) -> AssembledContext:
    fence_tokens, marker_tokens = EXPECTED_OVERHEAD_TOKENS[wish.request.render]
    room = Room(wish.max_tokens - fence_tokens, marker_tokens, wish.model, calculator)
    memo = memo_section(wish.memo, room)
    room = room.after(memo.tokens)
    with timer.step("retrieve"):
        found = _search(wish, tenant_id, room, now)
        timer.milliseconds |= found.milliseconds
    with timer.step("score"):
        ranked = rank_candidates(found.candidates, room, top_k=wish.top_k, now=now)
    with timer.step("pack"):
        memories = pack_memories(ranked, room, packer=wish.packer, minimum_score=wish.profile.minimum_score)
    with timer.step("render"):
        fitted = _fit([*memo.blocks, *memories.blocks], wish, tenant_id, calculator)
    return _context(wish, found, [memo, memories], fitted, calculator, now)


def _search(wish: Wish, tenant_id: UUID, room: Room, now: datetime) -> Found:
    """The candidates; when the search fails, the pinned memories; when that fails too, nothing."""
    try:
        return _retrieve(wish, tenant_id, room, now, query=wish.query)
    except DatabaseFailure as error:
        logger.warning("search failed: %s %s", type(error).__name__, _sqlstate(error))
    try:
        found = _retrieve(wish, tenant_id, room, now, query=None)
    except DatabaseFailure as error:
        logger.warning("pinned memories failed: %s %s", type(error).__name__, _sqlstate(error))
        return Found([], {"failed": True}, [SEARCH_FAILED, PINNED_FAILED])
    pinned = [candidate for candidate in found.candidates if candidate.pinned]
    return Found(pinned, found.plan | {"failed": True}, [SEARCH_FAILED], found.milliseconds)


def _retrieve(wish: Wish, tenant_id: UUID, room: Room, now: datetime, *, query: str | None) -> Found:
    retrieval = retrieve(
        tenant_id=tenant_id,
        query=query,
        partition=wish.partition,
        exact=wish.request.exact,
        segments=wish.request.segments,
        now=now,
        token_budget=max(room.tokens, 0),
        marker_tokens=room.marker_tokens,
        overfetch_ratio=wish.profile.overfetch_ratio,
        encoding=room.encoding,
        limit=MAX_CANDIDATES if query is None else None,
        with_pinned=True,
    )
    notices = [Notice(warning.code, warning.detail) for warning in retrieval.warnings]
    return Found(retrieval.candidates, _without_times(retrieval.plan), notices, _times(retrieval.plan))


def _without_times(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan as it is the same every time: how it ran, not how long."""
    return {name: _without_ms(entry) if isinstance(entry, dict) else entry for name, entry in plan.items()}


def _without_ms(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "ms"}


def _times(plan: Mapping[str, Any]) -> dict[str, float]:
    """Milliseconds of the search's own steps."""
    return {name: entry["ms"] for name, entry in plan.items() if isinstance(entry, dict) and "ms" in entry}


def _sqlstate(error: Exception) -> str:
    """The database's code; its message may quote a row."""
    return getattr(error.__cause__, "sqlstate", None) or ""


def _fit(blocks: Sequence[Block], wish: Wish, tenant_id: UUID, calculator: BudgetCalculator) -> Fitted:
    """Order, render and count; while the text exceeds the budget, the least important blocks go.

    Stored counts and measured allowances mostly keep this to one pass of the tokenizer; text that needs escaping, or
    whose lines join badly with their markers, takes another.
    """
    kept = list(blocks)
    while True:
        ordered = order_items(kept, wish.ordering, wish.previous)
        rendered = render_blocks(ordered, style=wish.request.render, tenant_id=tenant_id)
        tokens = calculator.count_tokens(rendered.text, wish.model)
        if tokens <= wish.max_tokens or not kept:
            placed = [block.at(position) for position, block in enumerate(ordered)]
            return Fitted(rendered.text, tokens, rendered.nonce_counter, placed, blocks[len(kept) :])
        kept = _without_last(kept, tokens - wish.max_tokens)


def _without_last(blocks: list[Block], tokens: int) -> list[Block]:
    """The blocks without the last ones that together hold `tokens`; at least one goes."""
    kept, freed = list(blocks), 0
    while kept and freed < tokens:
        freed += max(kept.pop().tokens, 1)
    return kept


def _context(
    wish: Wish, found: Found, sections: Sequence[Section], fitted: Fitted, calculator: BudgetCalculator, now: datetime
) -> AssembledContext:
    free = wish.max_tokens - fitted.tokens
    return AssembledContext(
        id=None,
        text=fitted.text,
        blocks=fitted.blocks,
        omitted=_omitted(sections, fitted.dropped, free, wish),
        budget=_budget(wish, fitted.tokens, calculator),
        profile={"name": SCORING_PROFILE_NAME, "version": SCORING_PROFILE_VERSION},
        budget_profile={"name": wish.profile.name, "version": wish.profile.version},
        warnings=[*wish.notices, *found.notices],
        timings={},
        candidates=_candidates(sections, fitted.dropped),
        plan=found.plan,
        request=wish.as_record(),
        created_at=now,
        nonce_counter=fitted.nonce_counter,
    )


def _omitted(sections: Sequence[Section], dropped: Sequence[Block], free: int, wish: Wish) -> list[Omission]:
    """What was left out, in order of importance; `free` tokens are those the text leaves of the budget."""
    omitted = [omission for section in sections for omission in section.omitted]
    omitted += [block.left_out(OVER_BUDGET) for block in dropped]
    fence_tokens, marker_tokens = EXPECTED_OVERHEAD_TOKENS[wish.request.render]
    needed_around = marker_tokens + (fence_tokens if free == wish.max_tokens else 0)
    return [_with_lack(omission, omission.tokens + needed_around - free) for omission in omitted]


def _with_lack(omission: Omission, tokens_missing: int) -> Omission:
    return replace(omission, tokens_missing=max(tokens_missing, 1)) if omission.reason == OVER_BUDGET else omission


def _candidates(sections: Sequence[Section], dropped: Sequence[Block]) -> list[Consideration]:
    """Every candidate, with what became of it in the end."""
    gone = {block.anchor for block in dropped}
    return [
        replace(candidate, outcome=OVER_BUDGET) if candidate.anchor in gone else candidate
        for section in sections
        for candidate in section.candidates
    ]


def _budget(wish: Wish, used: int, calculator: BudgetCalculator) -> ContextBudget:
    whole = calculator.calculate(wish.model)
    return ContextBudget(
        max_tokens=wish.max_tokens,
        used=used,
        reserved=whole.response_reserve_tokens,
        tokenizer=whole.tokenizer,
        exact=whole.exact,
    )


def _record(context: AssembledContext, tenant_id: UUID, actor: Actor, now: datetime) -> AssembledContext:
    """Store the receipt, count the packed memories and remember their texts as recalled: one short transaction."""
    texts = {UUID(block.anchor.id): block.text for block in context.blocks if block.anchor.type == MEMORY}
    api_key_id = actor.id if actor.kind == KEY_ACTOR else None
    try:
        with tenant_scope(tenant_id):
            receipt_id = write_receipt(context, tenant_id=tenant_id, api_key_id=api_key_id)
            remember_recall(tenant_id=tenant_id, texts=texts, ids=texts, now=now)
    except DatabaseFailure as error:
        logger.warning("receipt failed: %s %s", type(error).__name__, _sqlstate(error))
        return replace(context, warnings=[*context.warnings, RECEIPT_FAILED])
    return replace(context, id=receipt_id)
