"""Budgets of sections, and which of several assignments applies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.profiles.assignments import AssignmentTarget, assigned_profile
from context.services.profiles.sections import SECTION_TOKENS_MAX, SECTIONS, problems_of_sections

PATHS = ["", "user=alex", "user=alex/topic=food", "user=al", "user=alexandra", "agent=x"]


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"memories": {"tokens": 0}},
        {"memories": {"tokens": SECTION_TOKENS_MAX}},
        {"memories": {"share": 1}, "focus": {"tokens": 900}},
        {"focus": {"share": 0}},
        {name: {"share": 1 / 7} for name in SECTIONS},
        {"focus": {"share": 0.1}, "memories": {"share": 0.2}, "linked_memories": {"share": 0.7}},
    ],
)
def test_section_budgets_that_can_be_stored(sections: object) -> None:
    assert problems_of_sections(sections) == []


@pytest.mark.parametrize(
    ("sections", "code"),
    [
        (None, "not_an_object"),
        ([], "not_an_object"),
        ({"memory": {"tokens": 5}}, "unknown_section"),
        ({"": {"tokens": 5}}, "unknown_section"),
        ({"memories": 5}, "bad_section_budget"),
        ({"memories": {}}, "bad_section_budget"),
        ({"memories": {"tokens": 5, "share": 0.1}}, "bad_section_budget"),
        ({"memories": {"percent": 5}}, "bad_section_budget"),
        ({"memories": {"tokens": -1}}, "tokens_out_of_range"),
        ({"memories": {"tokens": SECTION_TOKENS_MAX + 1}}, "tokens_out_of_range"),
        ({"memories": {"tokens": 5.0}}, "tokens_out_of_range"),
        ({"memories": {"tokens": True}}, "tokens_out_of_range"),
        ({"memories": {"tokens": "5"}}, "tokens_out_of_range"),
        ({"memories": {"share": -0.1}}, "share_out_of_range"),
        ({"memories": {"share": 1.1}}, "share_out_of_range"),
        ({"memories": {"share": 10**400}}, "share_out_of_range"),
        ({"memories": {"share": float("nan")}}, "share_out_of_range"),
        ({"memories": {"share": float("inf")}}, "share_out_of_range"),
        ({"memories": {"share": True}}, "share_out_of_range"),
        ({"memories": {"share": None}}, "share_out_of_range"),
        ({"memories": {"share": 0.6}, "focus": {"share": 0.401}}, "shares_exceed_whole"),
    ],
)
def test_invalid_section_budgets(sections: object, code: str) -> None:
    assert [problem.code for problem in problems_of_sections(sections)] == [code]


def test_every_invalid_section_budget_is_reported() -> None:
    problems = problems_of_sections({"attic": {"tokens": 1}, "focus": {"share": 2}, "memories": {"tokens": 1}})
    assert [problem.code for problem in problems] == ["unknown_section", "share_out_of_range"]


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(json_values | st.dictionaries(st.sampled_from([*SECTIONS, "attic"]), json_values, max_size=4))
def test_any_json_value_is_checked_without_an_exception(value: object) -> None:
    problems_of_sections(value)


@pytest.mark.parametrize(
    ("targets", "path", "expected"),
    [
        ([], "user=alex", None),
        ([AssignmentTarget("t", "")], "user=alex", "t"),
        ([AssignmentTarget("t", "")], "", "t"),
        ([AssignmentTarget("p", "user=alex")], "", None),
        ([AssignmentTarget("p", "user=alex")], "user=alexandra", None),
        ([AssignmentTarget("t", ""), AssignmentTarget("p", "user=alex")], "user=alex/topic=food", "p"),
        (
            [AssignmentTarget("p", "user=alex"), AssignmentTarget("deep", "user=alex/topic=food")],
            "user=alex/topic=food",
            "deep",
        ),
        ([AssignmentTarget("deep", "user=alex/topic=food"), AssignmentTarget("k", None)], "user=alex/topic=food", "k"),
        ([AssignmentTarget("k", None)], "", "k"),
    ],
)
def test_which_assignment_counts(targets: list[AssignmentTarget], path: str, expected: str | None) -> None:
    assert assigned_profile(targets, path) == expected


@given(st.lists(st.sampled_from([None, *PATHS]), unique=True).flatmap(st.permutations), st.sampled_from(PATHS))
def test_order_of_assignments_does_not_matter_and_the_choice_applies(paths: list[str | None], where: str) -> None:
    targets = [AssignmentTarget(f"for {path}", path) for path in paths]
    chosen = assigned_profile(targets, where)
    assert chosen == assigned_profile(targets[::-1], where)
    if None in paths:
        assert chosen == "for None"
    elif chosen is not None:
        path = chosen.removeprefix("for ")
        longer = [
            each for each in paths if each and len(each) > len(path) and (each == where or where.startswith(each + "/"))
        ]
        assert longer == []
