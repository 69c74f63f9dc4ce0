"""The smallest budget whose context includes an item: a search over budgets, each packed separately (ADR-0087).

A larger budget can exclude an item again, so the result is a budget that was tried, and it says whether every smaller
one was tried as well.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class InclusionPoint:
    """A budget that includes the item. `is_smallest`: every smaller one above the start was tried, without success."""

    budget: int
    is_smallest: bool


def smallest_inclusion_budget(
    includes: Callable[[int], bool],
    *,
    above: int,
    highest: int,
    tested_max: int,
    is_over: Callable[[], bool] = lambda: False,
) -> InclusionPoint | None:
    """Return the smallest budget beyond `above`, at most `highest`, for which `includes` is true.

    Doubling steps find one such budget. If at most `tested_max` budgets lie below it, each is tried from the smallest;
    otherwise bisection narrows it down, and a smaller one may exist. None if neither a step nor one of the first
    `tested_max` budgets succeeds. `includes` is called once per budget, and not after `is_over` returns true.
    """
    includes = cache(includes)
    success, failure = None, above
    for budget in _doubling(above, highest):
        if is_over():
            return None
        if includes(budget):
            success = budget
            break
        failure = budget
    if success is None or success - above <= tested_max:
        end = min(highest, above + tested_max) if success is None else success
        for budget in range(above + 1, end + 1):
            if is_over():
                break
            if includes(budget):
                return InclusionPoint(budget, is_smallest=True)
        return None if success is None else InclusionPoint(success, is_smallest=False)
    while success - failure > 1 and not is_over():
        middle = (success + failure) // 2
        success, failure = (middle, failure) if includes(middle) else (success, middle)
    return InclusionPoint(success, is_smallest=False)


def _doubling(above: int, highest: int) -> list[int]:
    """Return the budgets 1, 2, 4, 8 ... tokens beyond `above`, and the highest."""
    steps, width = [], 1
    while above + width < highest:
        steps.append(above + width)
        width *= 2
    return [*steps, highest] if highest > above else []
