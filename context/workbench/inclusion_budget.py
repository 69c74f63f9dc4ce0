"""The budget at which a context includes an excluded item (ADR-0087). Changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from context.assembly.orchestrator import assemble_resolved_context
from context.assembly.repacking import RepackableContext, prepare_repacking
from context.assembly.requests import ResolvedContextRequest
from context.profiles.token_counters import budget_calculator
from context.receipts.results import KEPT
from context.services.packer import GREEDY
from context.services.workbench.inclusion_budget import InclusionPoint, smallest_inclusion_budget

#: Tokens beyond the current budget that are read first, and the highest budget tried.
NEAR_TOKENS, FAR_TOKENS = 2_000, 32_000
#: Budgets that are all tried; other packers take many times as long for each as the greedy one.
BUDGETS_TESTED_MAX_GREEDY, BUDGETS_TESTED_MAX = 600, 100
#: Budgets that are assembled in full before the search reports none.
TRIES_MAX = 4
#: The time limit for one retrieval; after it, no further budget is packed.
SEARCH_SECONDS_MAX = 1.0


@dataclass(frozen=True)
class InclusionBudget:
    """The inclusion budget of an item: `inclusion` is None if no budget up to `highest_budget_tried` includes it.

    `outcome` is its outcome at the largest budget for which candidates were retrieved, "" if it was not a candidate
    there; `is_search_limited` if the time ran out before every budget was tried.
    """

    max_tokens: int
    highest_budget_tried: int
    inclusion: InclusionPoint | None = None
    outcome: str = ""
    is_search_limited: bool = False

    @property
    def is_already_included(self) -> bool:
        return self.inclusion is not None and self.inclusion.budget == self.max_tokens

    def as_answer(self) -> dict[str, Any]:
        """Return the part of the answer of `POST context/explain`."""
        return {
            "max_tokens": None if self.inclusion is None else self.inclusion.budget,
            "is_smallest": self.inclusion is not None and self.inclusion.is_smallest,
            "highest_tried": self.highest_budget_tried,
            "is_time_limited": self.is_search_limited,
        }


def find_inclusion_budget(
    request: ResolvedContextRequest, anchor_id: str, *, clock: Callable[[], float], is_known_excluded: bool = False
) -> InclusionBudget:
    """Return the smallest larger budget of `request` that includes the item. Call it with no scope open.

    It retrieves once or twice and packs in memory; the budget it finds is then assembled in full, as a check. `clock`
    returns seconds: nothing more is packed after `SEARCH_SECONDS_MAX`. For an item that is not a candidate, nothing is
    packed. `is_known_excluded` skips the check whether the context of `request` includes it.
    """
    request = replace(request, packing=replace(request.packing, is_explained=False))
    current = request.max_tokens

    def is_included(budget: int) -> bool:
        context = assemble_resolved_context(replace(request, max_tokens=budget))
        return any(block.anchor.id == anchor_id for block in context.blocks)

    if not is_known_excluded and is_included(current):
        return InclusionBudget(current, current, InclusionPoint(current, True), KEPT)
    found, above, is_limited = InclusionBudget(current, current), current, False
    for highest in _horizons(current, budget_calculator().context_window(request.model)):
        retrieved = prepare_repacking(replace(request, max_tokens=highest))
        search, outcome = _Search(highest), ""
        if retrieved.knows(anchor_id):
            search = _search(retrieved, anchor_id, above, highest, is_included, clock)
            outcome = _outcome(retrieved, anchor_id, highest)
        point, is_limited = search.inclusion, is_limited or search.is_limited
        if point and above > current:
            point = replace(point, is_smallest=False)
        found = InclusionBudget(current, search.highest_tried, point, outcome, is_limited)
        if point:
            break
        above = highest
    return found


class _Search(NamedTuple):
    highest_tried: int
    inclusion: InclusionPoint | None = None
    is_limited: bool = False


def _search(
    retrieved: RepackableContext,
    anchor_id: str,
    above: int,
    highest: int,
    is_included: Callable[[int], bool],
    clock: Callable[[], float],
) -> _Search:
    """Return the first budget that packs the item and, assembled in full, includes it."""
    until, tried, is_smallest = clock() + SEARCH_SECONDS_MAX, [above], True
    is_greedy = retrieved.request.packing.packer == GREEDY

    def packs(budget: int) -> bool:
        tried.append(budget)
        return retrieved.includes(anchor_id, budget)

    for _ in range(TRIES_MAX):
        point = smallest_inclusion_budget(
            packs,
            above=above,
            highest=highest,
            tested_max=BUDGETS_TESTED_MAX_GREEDY if is_greedy else BUDGETS_TESTED_MAX,
            is_over=lambda: clock() >= until,
        )
        if point is None:
            break
        is_smallest = is_smallest and point.is_smallest
        if is_included(point.budget):
            return _Search(max(tried), InclusionPoint(point.budget, is_smallest))
        above = point.budget
    return _Search(max(tried), is_limited=clock() >= until)


def _horizons(budget: int, window: int) -> list[int]:
    near, far = (min(most, window) for most in (budget + NEAR_TOKENS, max(FAR_TOKENS, 2 * budget)))
    return [highest for highest, least in ((near, budget), (far, near)) if highest > least]


def _outcome(retrieved: RepackableContext, anchor_id: str, budget: int) -> str:
    sections = retrieved.sections_at(budget)
    if any(block.anchor.id == anchor_id for section in sections for block in section.blocks):
        return KEPT
    return {row.anchor.id: row.reason for section in sections for row in section.omitted}.get(anchor_id, "")
