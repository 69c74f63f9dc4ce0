"""Errors of the console's forms contain numbers with unit and limits, from one base form."""

from collections.abc import Iterator
from typing import Any

import pytest
from django import forms

import memory_platform.urls  # noqa: F401  the forms of all pages
from compaction.sessions.forms import SessionFilterForm
from compaction.simulation.forms import SimulationForm
from context.profiles.budget_fields import BudgetProfileForm
from context.profiles.scoring_fields import ScoringProfileForm
from context.workbench.forms import PreviewForm
from memories.store.forms import MemoryEditForm, MemoryFilterForm
from memory_platform.web.forms import PlatformForm, number_requirement_text


def forms_below(base: type[forms.BaseForm]) -> Iterator[type[forms.BaseForm]]:
    for each in base.__subclasses__():
        yield each
        yield from forms_below(each)


def test_every_form_of_the_console_is_a_platform_form() -> None:
    ours = {"memory_platform", "memories", "context", "compaction"}
    found = [each for each in forms_below(forms.Form) if each.__module__.split(".")[0] in ours]
    assert len(found) > 40
    assert [each for each in found if not issubclass(each, PlatformForm)] == []


@pytest.mark.parametrize(
    ("form", "field", "typed", "error"),
    [
        (PreviewForm, "max_tokens", "0", "A whole number from 1 to 2,000,000 tokens."),
        (PreviewForm, "max_tokens", "many", "A whole number from 1 to 2,000,000 tokens."),
        (SessionFilterForm, "min_pressure", "1001", "A whole number from 0 to 1,000 %."),
        (SimulationForm, "target", "101", "A number from 5 to 95 % of the window."),
        (SimulationForm, "target", "nan", "A number from 5 to 95 % of the window."),
        (BudgetProfileForm, "overfetch_ratio", "99", "A number from 1 to 10 × budget."),
        (BudgetProfileForm, "near_duplicate_threshold", "2", "A number from 0 to 1."),
        (BudgetProfileForm, "limit_memories", "-1", "A number, at least 0."),
        (ScoringProfileForm, "pool_size", "1001", "A whole number from 0 to 1,000 candidates."),
        (MemoryEditForm, "confidence", "1.5", "A number from 0 to 1."),
        (MemoryFilterForm, "kind", "x" * 33, "At most 32 characters; it has 33."),
    ],
)
def test_refusal_states_unit_and_limits(form: Any, field: str, typed: str, error: str) -> None:
    assert form({field: typed}).errors[field] == [error]


def test_limits_on_one_side_and_none() -> None:
    assert number_requirement_text(None, 5, is_whole=True, unit="days") == "A whole number, at most 5 days."
    assert number_requirement_text(None, None, is_whole=False) == "A number is required."
