"""The tabs of the page *Compare versions*. The URL of each contains the selection of the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from context.profiles.budget_profiles import VERSION_MARK
from context.profiles.scoring_profiles import profile_reference

SIDES = ("left", "right")
#: The tabs, by the URL names of their pages.
CONTEXTS, SCORING, BUDGETS = "context-compare", "scoring-compare", "budget-compare"
_LABELS = {CONTEXTS: "Contexts", SCORING: "Scoring profiles", BUDGETS: "Budget profiles"}


@dataclass(frozen=True)
class CompareTab:
    """One tab: its label, its URL with a query string, and whether it is the current page."""

    label: str
    address: str
    is_current: bool


def compare_tabs(tenant_id: UUID, current: str, typed: Mapping[str, str]) -> list[CompareTab]:
    """Return the tabs for the query parameters `typed` of the page `current`.

    `left` and `right` are the sides of the current page: `name@version` for contexts, else `name version`. The URLs
    contain the other profiles too, on the tab of scoring profiles as `left_budget` and on that of budget profiles as
    `left_scoring`.
    """
    sides = {f"{side}{part}" for side in SIDES for part in ("", "_scoring", "_budget")}
    inputs = {name: value for name, value in typed.items() if name not in sides}
    tabs = {name: dict(inputs) for name in _LABELS}
    for side in SIDES:
        scoring, budget = _selected(current, typed, side)
        tabs[CONTEXTS] |= {side: _reference(scoring), f"{side}_budget": budget.replace(" ", VERSION_MARK)}
        tabs[SCORING] |= {side: scoring, f"{side}_budget": budget}
        tabs[BUDGETS] |= {side: budget, f"{side}_scoring": scoring}
    set_ones = {name: {key: value for key, value in tab.items() if value} for name, tab in tabs.items()}
    return [
        CompareTab(label, reverse(name, args=[tenant_id], query=set_ones[name]), name == current)
        for name, label in _LABELS.items()
    ]


def _selected(current: str, typed: Mapping[str, str], side: str) -> tuple[str, str]:
    """Return the scoring profile and the budget profile of a side, each as `name version`, `name` or ""."""
    own, budget = typed.get(side, ""), typed.get(f"{side}_budget", "")
    if current == BUDGETS:
        return typed.get(f"{side}_scoring", ""), own
    if current == SCORING:
        return own, budget
    return own.replace(VERSION_MARK, " "), budget.replace(VERSION_MARK, " ")


def _reference(scoring: str) -> str:
    name, _, version = scoring.partition(" ")
    return profile_reference(name, int(version)) if version.isdecimal() else scoring
