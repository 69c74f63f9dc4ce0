"""The one conductor of a context: read -> retrieve -> score -> pack -> order -> render -> count -> receipt.

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

from context.assembly.candidates import (
    RetrievedMemories,
    find_candidate_similarity,
    find_candidates,
    find_linked_memories,
)
from context.assembly.layout import (
    CONTEXT_SECTION_ORDER,
    MEMORIES_SECTION,
    ScoredCandidates,
    build_layout,
    pack_sections,
    score_candidates,
)
from context.assembly.requests import STABLE_ORDERING, ResolvedContextRequest, resolve_context_request
from context.assembly.sections import Section
from context.assembly.sources import database_error_code
from context.assembly.trimming import TrimmedContext, trim_blocks_to_budget
from context.models import Receipt
from context.profiles.token_counters import budget_calculator
from context.receipts.results import (
    ALREADY_INCLUDED,
    MEMORY,
    Anchor,
    AssembledContext,
    Block,
    CandidateOutcome,
    ContextBudget,
    ContextRequest,
    ContextWarning,
    Exclusion,
    SectionLimit,
)
from context.receipts.storing import build_receipt
from context.services.assembly.prefix import shared_prefix
from context.services.budget import BudgetCalculator
from context.services.packer import OVER_BUDGET
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS
from memories.store.recall import record_retrieval_tick
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

KEY_ACTOR = "key"
RECEIPT_FAILED = ContextWarning(
    "receipt_failed", "The context could not be recorded, so it has no id and counts nowhere."
)


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


def assemble_context(
    request: ContextRequest, *, tenant_id: UUID, reach: str, actor: Actor, now: datetime
) -> AssembledContext:
    """The context that `request` wishes, from the tenant's rows within `reach`; called with no scope open.

    Unless it is a preview, its receipt is stored and the packed memories count as retrieved; a past moment counts
    nothing. Raises `InvalidInput`, `Forbidden` or `NotFound` (all with the field) for a wish that cannot be granted,
    before anything is searched.
    """
    timer = StepTimer()
    calculator = budget_calculator()
    api_key_id = actor.id if actor.kind == KEY_ACTOR else None
    with timer.step("total"):
        with timer.step("resolve"):
            wish = resolve_context_request(
                request, tenant_id=tenant_id, reach=reach, api_key_id=api_key_id, calculator=calculator, now=now
            )
        context = _assemble(wish, tenant_id, calculator, timer, now)
        if not request.preview:
            with timer.step("receipt"):
                context = _record(context, wish, tenant_id, api_key_id, now)
    return replace(context, timings=timer.milliseconds)


def _assemble(
    wish: ResolvedContextRequest, tenant_id: UUID, calculator: BudgetCalculator, timer: StepTimer, now: datetime
) -> AssembledContext:
    layout = build_layout(wish, calculator)
    with timer.step("retrieve"):
        found = find_candidates(wish, tenant_id, layout.room_for(MEMORIES_SECTION), now)
        timer.milliseconds |= found.milliseconds
    with timer.step("linked"):
        linked, linked_notices = find_linked_memories(wish, tenant_id, found)
    with timer.step("score"):
        ranking = score_candidates(wish, layout, found, linked)
    with timer.step("likeness"):
        likeness, likeness_notices = find_candidate_similarity(wish, tenant_id, ranking.candidates, found)
    with timer.step("pack"):
        sections = pack_sections(wish, layout, ranking, found, likeness)
    notices = [*wish.notices, *found.notices, *linked_notices, *likeness_notices]
    with timer.step("render"):
        fitted = trim_blocks_to_budget(
            [block for section in sections for block in section.blocks], wish, tenant_id, calculator
        )
    return _context(wish, _plan(found, ranking), notices, sections, fitted, calculator, now)


def _plan(found: RetrievedMemories, ranking: ScoredCandidates) -> dict[str, Any]:
    """How the search ran; of a pool also how many were in play once they were scored."""
    return found.plan | ({"in_play_rows": len(ranking.memories)} if ranking.is_pool else {})


def _context(
    wish: ResolvedContextRequest,
    plan: Mapping[str, Any],
    notices: Sequence[ContextWarning],
    sections: Sequence[Section],
    fitted: TrimmedContext,
    calculator: BudgetCalculator,
    now: datetime,
) -> AssembledContext:
    free = wish.max_tokens - fitted.tokens
    return AssembledContext(
        id=None,
        text=fitted.text,
        blocks=fitted.blocks,
        omitted=_omitted(sections, fitted, free, wish),
        budget=_budget(wish, fitted.tokens, calculator),
        profile={"name": wish.scoring.name, "version": wish.scoring.version},
        budget_profile={"name": wish.profile.name, "version": wish.profile.version},
        warnings=notices,
        timings={},
        candidates=_candidates(sections, fitted.dropped),
        plan=plan,
        request=wish.as_record(),
        created_at=now,
        nonce_counter=fitted.nonce_counter,
        stable_prefix_tokens=_stable_prefix_tokens(wish, fitted.text, calculator),
        optimality=next((section.optimality for section in sections if section.optimality is not None), None),
        scoring=wish.scoring,
        minimum_score=wish.packing.minimum_score,
    )


def _stable_prefix_tokens(wish: ResolvedContextRequest, text: str, calculator: BudgetCalculator) -> int | None:
    """Tokens of what both texts begin with; None without an earlier context, 0 for one that is not what it was."""
    earlier = wish.sources.earlier
    if earlier is None or wish.ordering != STABLE_ORDERING:
        return None
    return calculator.count_tokens(shared_prefix(earlier.context.text, text), wish.model) if earlier.is_verified else 0


def _omitted(
    sections: Sequence[Section], fitted: TrimmedContext, free: int, wish: ResolvedContextRequest
) -> list[Exclusion]:
    """What was left out, in order of importance and each once; `free` tokens are those the text leaves of the budget.

    What one section had no room for and another kept was not left out. What repeats a block that had to go in the end
    repeats nothing: it lacked the room as well. Nothing is missing for what the budget had room for and its section
    had not, be it for its share or for the number of texts that the elastic packer aims at.
    """
    gone = {block.anchor for block in fitted.dropped}
    omitted = [
        replace(omission, reason=OVER_BUDGET, twin=None) if omission.twin in gone else omission
        for section in sections
        for omission in section.omitted
    ]
    omitted += [block.left_out(OVER_BUDGET) for block in fitted.dropped]
    kept = {block.anchor for block in fitted.blocks}
    last = {row.anchor: row for row in omitted if row.reason == ALREADY_INCLUDED or row.anchor not in kept}
    fence_tokens, marker_tokens = EXPECTED_OVERHEAD_TOKENS[wish.request.render]
    needed_around = marker_tokens + (fence_tokens if free == wish.max_tokens else 0)
    unpacked = wish.max_tokens - fence_tokens - sum(section.tokens for section in sections)
    limits = _limits(sections, wish.max_tokens, marker_tokens)
    return [
        row
        if row.reason != OVER_BUDGET
        else replace(row, tokens_missing=max(row.tokens + needed_around - free, 1))
        if row.anchor in gone or row.tokens + marker_tokens > unpacked
        else replace(row, limit=limits.get(row.anchor))
        for row in last.values()
    ]


def _limits(sections: Sequence[Section], max_tokens: int, marker_tokens: int) -> dict[Anchor, SectionLimit]:
    """The room of its section for each item that this has no room for; of an item in two sections the later one's."""
    return {
        row.anchor: SectionLimit(name, max(section.room, 0), max_tokens, section.tokens)
        for name, section in zip(CONTEXT_SECTION_ORDER, sections, strict=True)
        for row in section.omitted
        if section.tokens + row.tokens + marker_tokens > section.room
    }


def _candidates(sections: Sequence[Section], dropped: Sequence[Block]) -> list[CandidateOutcome]:
    """Every candidate, with what became of it in the end."""
    gone = {block.anchor for block in dropped}
    gone |= {omission.anchor for section in sections for omission in section.omitted if omission.twin in gone}
    return [
        replace(candidate, outcome=OVER_BUDGET) if candidate.anchor in gone else candidate
        for section in sections
        for candidate in section.candidates
    ]


def _budget(wish: ResolvedContextRequest, used: int, calculator: BudgetCalculator) -> ContextBudget:
    whole = calculator.calculate(wish.model)
    return ContextBudget(
        max_tokens=wish.max_tokens,
        used=used,
        reserved=whole.response_reserve_tokens,
        tokenizer=whole.tokenizer,
        exact=whole.exact,
    )


def _record(
    context: AssembledContext, wish: ResolvedContextRequest, tenant_id: UUID, api_key_id: str | None, now: datetime
) -> AssembledContext:
    """Store the receipt, and that its memories were packed and their texts rendered: one statement."""
    texts = {block.anchor.id: block.text for block in context.blocks if block.anchor.type == MEMORY}
    receipt = build_receipt(context, moment=wish.moment, tenant_id=tenant_id, api_key_id=api_key_id)
    insertion = Receipt.objects.insertion(receipt)
    try:
        with tenant_scope(tenant_id, waits_for_disk=False):
            if wish.moment.reads_history:
                insertion.run()
            else:
                record_retrieval_tick(tenant_id=tenant_id, texts=texts, ids=texts, now=now, beside=insertion)
    except DatabaseFailure as error:
        logger.warning("receipt failed: %s %s", type(error).__name__, database_error_code(error))
        return replace(context, warnings=[*context.warnings, RECEIPT_FAILED])
    return replace(context, id=receipt.id)
