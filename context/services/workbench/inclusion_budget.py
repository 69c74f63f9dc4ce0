"""From which budget on something stands in a context: a search over budgets, each packed anew (ADR-0087).

A larger budget can push something out again, so the answer is a budget at which it was seen to stand there, and it says
whether every smaller one was looked at too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class InclusionPoint:
    """The budget at which something enters. `is_smallest`: every budget between was looked at, and it stood in none."""

    budget: int
    is_smallest: bool


def smallest_inclusion_budget(
    enters: Callable[[int], bool],
    *,
    above: int,
    highest: int,
    looked_at_max: int,
    is_over: Callable[[], bool] = lambda: False,
) -> InclusionPoint | None:
    """The smallest budget beyond `above`, at most `highest`, that `enters` says yes to.

    Steps that double find one that does. If no more than `looked_at_max` budgets lie below it, each is looked at, from
    the smallest on; else it is narrowed down by halving, and a smaller one may exist. None where no step finds any and
    neither do the first `looked_at_max` budgets. `enters` is asked once a budget, and no more once the time `is_over`.
    """
    known: dict[int, bool] = {}

    def stands_at(budget: int) -> bool:
        if budget not in known:
            known[budget] = enters(budget)
        return known[budget]

    seen, without = None, above
    for budget in _doubling(above, highest):
        if is_over():
            return None
        if stands_at(budget):
            seen = budget
            break
        without = budget
    if seen is None or seen - above <= looked_at_max:
        end = min(highest, above + looked_at_max) if seen is None else seen
        for budget in range(above + 1, end + 1):
            if is_over():
                break
            if stands_at(budget):
                return InclusionPoint(budget, is_smallest=True)
        return None if seen is None else InclusionPoint(seen, is_smallest=False)
    while seen - without > 1 and not is_over():
        middle = (seen + without) // 2
        seen, without = (middle, without) if stands_at(middle) else (seen, middle)
    return InclusionPoint(seen, is_smallest=False)


def _doubling(above: int, highest: int) -> list[int]:
    """Budgets 1, 2, 4, 8 ... tokens beyond `above`, and the highest."""
    steps, width = [], 1
    while above + width < highest:
        steps.append(above + width)
        width *= 2
    return [*steps, highest] if highest > above else []
