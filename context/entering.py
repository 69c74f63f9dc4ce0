"""At which budget something that was left out enters a context (ADR-0087). Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from context.assembly import assemble_context
from context.counters import budget_calculator
from context.repacking import Gathered, gather
from context.results import KEPT, ContextRequest
from context.sections.packing import GREEDY
from context.services.entry import Entry, first_entry
from context.wishes import resolve_wish
from memories.audit import Actor

#: Tokens beyond the present budget that are read first, and up to which budget at most.
NEAR_TOKENS, FAR_TOKENS = 2_000, 32_000
#: Budgets that are all looked at; other packers take many times as long for each as the greedy one.
LOOKED_AT_MAX_GREEDY, LOOKED_AT_MAX = 600, 100
#: Budgets that are assembled for real before it is said that none was found.
TRIES_MAX = 4


@dataclass(frozen=True)
class Admission:
    """Where the item `anchor_id` comes in: `entry` None where no budget up to `looked_up_to` lets it in.

    `outcome` is what became of it at the largest budget that was packed, "" where it was no candidate there.
    """

    anchor_id: str
    max_tokens: int
    looked_up_to: int
    entry: Entry | None = None
    outcome: str = ""

    @property
    def is_in_already(self) -> bool:
        """Whether it stands in the context at the present budget."""
        return self.entry is not None and self.entry.budget == self.max_tokens

    @property
    def more_tokens(self) -> int | None:
        """What the budget lacks for it."""
        return None if self.entry is None else self.entry.budget - self.max_tokens


def find_admission(
    request: ContextRequest, anchor_id: str, *, tenant_id: UUID, actor: Actor, now: datetime
) -> Admission:
    """The smallest larger budget of `request`, a preview, whose context holds the item; called with no scope open.

    Reads once or twice and packs in memory; what is found is then assembled for real, so that it is not only reckoned.
    Raises as `assemble_context` does for a wish that cannot be granted.
    """
    if not request.preview:
        raise ValueError("a page only previews")
    calculator = budget_calculator()
    wish = resolve_wish(request, tenant_id=tenant_id, reach="", api_key_id=None, calculator=calculator, now=now)
    asked = _Asked(request, anchor_id, tenant_id, actor, now)
    if asked.stands_at(wish.max_tokens):
        return Admission(anchor_id, wish.max_tokens, wish.max_tokens, Entry(wish.max_tokens, True), KEPT)
    window = calculator.context_window(wish.model)
    above, outcome = wish.max_tokens, ""
    for highest in _horizons(wish.max_tokens, window):
        gathered = gather(replace(wish, max_tokens=highest), tenant_id, now)
        entry = asked.entry_of(gathered, above, highest)
        outcome = _outcome(gathered, anchor_id, highest)
        if entry is not None:
            is_smallest = entry.is_smallest and above == wish.max_tokens
            return Admission(anchor_id, wish.max_tokens, highest, replace(entry, is_smallest=is_smallest), outcome)
        above = highest
    return Admission(anchor_id, wish.max_tokens, above, None, outcome)


@dataclass(frozen=True)
class _Asked:
    request: ContextRequest
    anchor_id: str
    tenant_id: UUID
    actor: Actor
    now: datetime

    def entry_of(self, gathered: Gathered, above: int, highest: int) -> Entry | None:
        """The first budget that packs it and, assembled for real, holds it."""
        looked_at_max = LOOKED_AT_MAX_GREEDY if gathered.wish.packing.packer == GREEDY else LOOKED_AT_MAX
        is_smallest = True
        for _ in range(TRIES_MAX):
            found = first_entry(
                partial(gathered.holds, self.anchor_id), above=above, highest=highest, looked_at_max=looked_at_max
            )
            if found is None:
                return None
            is_smallest = is_smallest and found.is_smallest
            if self.stands_at(found.budget):
                return Entry(found.budget, is_smallest)
            above = found.budget
        return None

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


def _outcome(gathered: Gathered, anchor_id: str, budget: int) -> str:
    """What becomes of the item at a budget; "" where nothing was found of it."""
    sections = gathered.sections_at(budget)
    kept = {block.anchor.id for section in sections for block in section.blocks}
    reasons = {row.anchor.id: row.reason for section in sections for row in section.omitted}
    return KEPT if anchor_id in kept else reasons.get(anchor_id, "")
