"""The compaction policy of a budget profile: defaults, bounds, and combinations that are refused."""

from typing import Any

import pytest

from context.services.profiles.compaction_policy import (
    DEFAULT_POLICY,
    POLICY_FIELDS,
    CompactionPolicy,
    problems_of_policy,
)


def test_defaults_are_those_of_the_specification() -> None:
    assert (DEFAULT_POLICY.sleep_threshold, DEFAULT_POLICY.emergency_threshold) == (0.70, 0.80)
    assert (DEFAULT_POLICY.warning_threshold, DEFAULT_POLICY.target) == (0.85, 0.50)
    assert (DEFAULT_POLICY.preserve_messages, DEFAULT_POLICY.preserve_share) == (20, 0.20)
    assert (DEFAULT_POLICY.mask_over_bytes, DEFAULT_POLICY.retention_floor) == (512, 0.85)
    assert (DEFAULT_POLICY.decision, DEFAULT_POLICY.idle_minutes) == ("apply", 10)


def test_defaults_have_no_problem_and_lie_within_their_bounds() -> None:
    assert problems_of_policy(DEFAULT_POLICY.as_record()) == []
    bounded = [field for field in POLICY_FIELDS.values() if field.bounds]
    assert bounded
    assert all(field.least <= field.default <= field.most for field in bounded)


def test_policy_keeps_defaults_for_what_was_not_chosen_and_passes_over_unknown_names() -> None:
    assert CompactionPolicy.of({"target": 0.3, "of_a_later_release": 1}) == CompactionPolicy(target=0.3)


@pytest.mark.parametrize(
    ("chosen", "field", "code"),
    [
        ([], "", "not_an_object"),
        ({"colour": 1}, "colour", "unknown_field"),
        ({"target": "half"}, "target", "not_a_number"),
        ({"target": True}, "target", "not_a_number"),
        ({"target": float("nan")}, "target", "not_a_number"),
        ({"target": 0.96}, "target", "out_of_range"),
        ({"target": 10**400}, "target", "out_of_range"),
        ({"target": float("inf")}, "target", "out_of_range"),
        ({"preserve_messages": 2.5}, "preserve_messages", "not_a_number"),
        ({"has_journal": 1}, "has_journal", "not_a_boolean"),
        ({"decision": "maybe"}, "decision", "invalid_choice"),
        ({"compaction_model": "a\nb"}, "compaction_model", "bad_name"),
        ({"compaction_model": "x" * 201}, "compaction_model", "bad_name"),
        ({"target": 0.7}, "target", "not_below_threshold"),
        ({"sleep_threshold": 0.9}, "emergency_threshold", "below_threshold"),
    ],
)
def test_problem_names_its_field(chosen: Any, field: str, code: str) -> None:
    assert [(problem.field, problem.code) for problem in problems_of_policy(chosen)] == [(field, code)]
