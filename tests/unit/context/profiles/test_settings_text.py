"""Settings of budget profiles are shown with their unit, never as in code."""

from typing import Any

import pytest

from context.models import BudgetProfile
from context.profiles.scoring_fields import WeightView, weight_text
from context.profiles.templatetags.bars import score_legend
from context.profiles.templatetags.settings import setting_text
from context.services.profiles.fields import BUDGET_FIELDS


@pytest.mark.parametrize(
    ("field", "value", "lines"),
    [
        ("default_tokens", 4000, ["4,000 tokens"]),
        ("default_tokens", 1, ["1 token"]),
        ("receipt_count", 100000, ["100,000 receipts"]),
        ("overfetch_ratio", 1.25, ["1.25 × budget"]),
        ("minimum_score", 0.0, ["0"]),
        ("include_tenant_memo", True, ["yes"]),
        ("include_summaries_at", [0, 1], ["0, 1"]),
        ("include_summaries_at", [], ["none"]),
        ("ordering", "top_down", ["top down"]),
        ("sections", {}, ["no limits"]),
        (
            "sections",
            {"memories": {"share": 0.55}, "tenant_memo": {"tokens": 1}},
            ["memories: 55 %", "tenant memo: 1 token"],
        ),
    ],
)
def test_setting_is_told_in_words(field: str, value: Any, lines: list[str]) -> None:
    assert setting_text(value, field) == lines


def test_every_whole_number_of_a_profile_has_a_unit() -> None:
    profile = BudgetProfile()
    whole = {name for name in BUDGET_FIELDS if type(getattr(profile, name)) is int}
    assert whole
    assert all(all(BUDGET_FIELDS[name].units) for name in whole)


@pytest.mark.parametrize(
    ("weight", "text"),
    [(0.4, "0.40"), (0.05, "0.05"), (0.125, "0.125"), (1.0, "1.00"), (-1.23456, "−1.235")],
)
def test_weight_has_two_or_three_decimals_everywhere(weight: float, text: str) -> None:
    assert weight_text(weight) == text
    assert setting_text(weight, "weights.relevance") == [text]
    assert WeightView("relevance", weight, "", None).text == text
    legend = score_legend({"relevance": weight})["parts"]
    assert [part["weight"] for part in legend] == [text]
