"""At which budget something that was left out enters a context (ADR-0087). Changes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.assembly.repacking import RepackableContext, prepare_repacking
from context.assembly.requests import resolve_context_request
from context.assembly.sections.packing import GREEDY
from context.profiles.token_counters import budget_calculator
from context.receipts.results import KEPT, ContextRequest
from context.services.workbench.inclusion_budget import InclusionPoint, smallest_inclusion_budget
from memories.tenancy.audit import Actor

#: Tokens beyond the present budget that are read first, and up to which budget at most.
NEAR_TOKENS, FAR_TOKENS = 2_000, 32_000
#: Budgets that are all looked at; other packers take many times as long for each as the greedy one.
LOOKED_AT_MAX_GREEDY, LOOKED_AT_MAX = 600, 100
#: Budgets that are assembled for real before it is said that none was found.
TRIES_MAX = 4
#: For what was read at once: after that no further budget is packed, and what was found by then is told.
SEARCH_SECONDS_MAX = 1.0


@dataclass(frozen=True)
class InclusionBudget:
    """Where the item `anchor_id` comes in: `entry` None where no budget up to `looked_up_to` lets it in.

    `outcome` is what became of it at the largest budget that was read for, "" where it was no candidate there;
    `is_cut` where the time was over before every budget was looked at that would have been.
    """

    anchor_id: str
    max_tokens: int
    looked_up_to: int
    entry: InclusionPoint | None = None
    outcome: str = ""
    is_cut: bool = False

    @property
    def is_in_already(self) -> bool:
        """Whether it stands in the context at the present budget."""
        return self.entry is not None and self.entry.budget == self.max_tokens

    @property
    def more_tokens(self) -> int | None:
        """What the budget lacks for it."""
        return None if self.entry is None else self.entry.budget - self.max_tokens


def find_inclusion_budget(
    request: ContextRequest,
    anchor_id: str,
    *,
    tenant_id: UUID,
    actor: Actor,
    now: datetime,
    clock: Callable[[], float],
) -> InclusionBudget:
    """The smallest larger budget of `request`, a preview, whose context holds the item; called with no scope open.

    Reads once or twice and packs in memory; what is found is then assembled for real, so that it is not only reckoned.
    `clock` tells seconds: after `SEARCH_SECONDS_MAX` nothing more is packed of what was read. What is no candidate is
    not packed for at all.
    Raises as `assemble_context` does for a wish that cannot be granted.
    """
    if not request.preview:
        raise ValueError("a page only previews")
    calculator = budget_calculator()
    wish = resolve_context_request(
        request, tenant_id=tenant_id, reach="", api_key_id=None, calculator=calculator, now=now
    )
    asked = _Asked(request, anchor_id, tenant_id, actor, now, clock)
    if asked.stands_at(wish.max_tokens):
        return InclusionBudget(anchor_id, wish.max_tokens, wish.max_tokens, InclusionPoint(wish.max_tokens, True), KEPT)
    window, looked_up_to = calculator.context_window(wish.model), wish.max_tokens
    above, outcome, is_cut = wish.max_tokens, "", False
    for highest in _horizons(wish.max_tokens, window):
        gathered = prepare_repacking(replace(wish, max_tokens=highest), tenant_id, now)
        outcome = _outcome(gathered, anchor_id, highest)
        search = asked.search(gathered, above, highest) if gathered.knows(anchor_id) else _Search(highest)
        if search.entry is not None:
            is_smallest = search.entry.is_smallest and above == wish.max_tokens
            entry = replace(search.entry, is_smallest=is_smallest)
            return InclusionBudget(anchor_id, wish.max_tokens, highest, entry, outcome)
        above, is_cut = highest, is_cut or search.is_cut
        looked_up_to = search.looked_up_to
    return InclusionBudget(anchor_id, wish.max_tokens, looked_up_to, None, outcome, is_cut)


@dataclass(frozen=True)
class _Search:
    """What came of looking below one horizon."""

    looked_up_to: int
    entry: InclusionPoint | None = None
    is_cut: bool = False


@dataclass(frozen=True)
class _Asked:
    request: ContextRequest
    anchor_id: str
    tenant_id: UUID
    actor: Actor
    now: datetime
    clock: Callable[[], float]

    def search(self, gathered: RepackableContext, above: int, highest: int) -> _Search:
        """The first budget that packs it and, assembled for real, holds it."""
        until, looked = self.clock() + SEARCH_SECONDS_MAX, [above]

        def is_over() -> bool:
            return self.clock() >= until

        def enters(budget: int) -> bool:
            looked.append(budget)
            return gathered.holds(self.anchor_id, budget)

        looked_at_max = LOOKED_AT_MAX_GREEDY if gathered.wish.packing.packer == GREEDY else LOOKED_AT_MAX
        is_smallest = True
        for _ in range(TRIES_MAX):
            found = smallest_inclusion_budget(
                enters, above=above, highest=highest, looked_at_max=looked_at_max, is_over=is_over
            )
            if found is None:
                break
            is_smallest = is_smallest and found.is_smallest
            if self.stands_at(found.budget):
                return _Search(max(looked), InclusionPoint(found.budget, is_smallest))
            above = found.budget
        return _Search(max(looked), is_cut=is_over())

    def stands_at(self, budget: int) -> bool:
        """Whether a context of this budget, assembled as any other, holds it."""
        request = replace(self.request, max_tokens=budget, explain=False)
        context = assemble_context(request, tenant_id=self.tenant_id, reach="", actor=self.actor, now=self.now)
        return any(block.anchor.id == self.anchor_id for block in context.blocks)


def _horizons(budget: int, window: int) -> Iterator[int]:
    """Up to which budgets to look, one after the other."""
    near = min(budget + NEAR_TOKENS, window)
    if near > budget:
        yield near
    far = min(max(FAR_TOKENS, 2 * budget), window)
    if far > near:
        yield far


def _outcome(gathered: RepackableContext, anchor_id: str, budget: int) -> str:
    """What becomes of the item at a budget; "" where nothing was found of it."""
    sections = gathered.sections_at(budget)
    kept = {block.anchor.id for section in sections for block in section.blocks}
    reasons = {row.anchor.id: row.reason for section in sections for row in section.omitted}
    return KEPT if anchor_id in kept else reasons.get(anchor_id, "")
