"""Scoring profiles: validation, every error reported with its field, and the shipped profiles."""

import dataclasses
import json
import math

import pytest

from context.services.profiles.scoring_profiles import (
    ADR_0040,
    BASE_PARTS,
    CONVERSATION_RECALL,
    PART_NAMES,
    PROBLEMS_MAX,
    RECALL,
    RECOMMENDED_SCORING_PROFILE_NAME,
    SHIPPED_PROFILES,
    SHIPPED_VERSIONS,
    ScoringProfile,
    ScoringProfileError,
    problems_of_numbers,
)


def problems(**numbers):
    return {(one.field, one.code) for one in problems_of_numbers({"weights": {"relevance": 1.0}, **numbers})}


def test_the_default_profile_has_the_numbers_of_its_adr():
    assert ADR_0040.is_default
    assert list(ADR_0040.weights.values()) == [0.40, 0.25, 0.20, 0.10, 0.05]
    assert tuple(ADR_0040.weights) == BASE_PARTS
    assert ADR_0040.half_life_days == pytest.approx(13.863, abs=1e-3)
    assert (ADR_0040.pool_size, ADR_0040.adjacent_turn_reach, ADR_0040.mmr_diversity) == (0, 0, 0.0)
    assert not ADR_0040.is_calibrated


def test_shipped_profiles_are_found_by_their_names():
    assert SHIPPED_PROFILES == {"recall": RECALL, "adr-0040": ADR_0040, "conversation-recall": CONVERSATION_RECALL}
    assert next(iter(SHIPPED_PROFILES)) == RECOMMENDED_SCORING_PROFILE_NAME


def test_every_version_of_a_built_in_profile_is_kept():
    for newest in SHIPPED_PROFILES.values():
        for version in range(1, newest.version + 1):
            kept = SHIPPED_VERSIONS[newest.name, version]
            assert (kept.name, kept.version) == (newest.name, version)
    assert (SHIPPED_VERSIONS["recall", 1].superseded_min, RECALL.superseded_min) == (0.2, 0.1)


def test_weights_for_conversations_count_by_the_share_of_messages():
    assert RECALL.numbers_for(0.0)["relevance"] == RECALL.weights["relevance"]
    assert RECALL.numbers_for(1.0)["adjacent_turns"] == RECALL.conversation_weights["adjacent_turns"]
    assert RECALL.numbers_for(0.5)["adjacent_turns"] == pytest.approx(0.25 * 0.18)
    assert math.fsum(RECALL.numbers_for(0.7).values()) == pytest.approx(1.0)
    assert CONVERSATION_RECALL.numbers_for(0.5) == CONVERSATION_RECALL.weights
    calibrated = ScoringProfile("mine", 1, {"relevance": 1.0}, coefficients={"recency": 2.0}, intercept=0.0)
    assert calibrated.numbers_for(1.0) == {"recency": 2.0}


@pytest.mark.parametrize("profile", SHIPPED_PROFILES.values(), ids=lambda profile: profile.name)
def test_numbers_survive_json(profile):
    numbers = json.loads(json.dumps(profile.to_numbers()))
    assert ScoringProfile.from_numbers(profile.name, profile.version, numbers) == profile


@pytest.mark.parametrize("profile", SHIPPED_PROFILES.values(), ids=lambda profile: profile.name)
def test_weights_sum_to_one_and_are_known(profile):
    assert math.isclose(math.fsum(profile.weights.values()), 1.0, abs_tol=1e-9)
    assert set(profile.weights) <= set(PART_NAMES)
    if profile.conversation_weights is not None:
        assert math.isclose(math.fsum(profile.conversation_weights.values()), 1.0, abs_tol=1e-9)


def test_a_profile_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        CONVERSATION_RECALL.version = 2
    with pytest.raises(TypeError):
        CONVERSATION_RECALL.weights["relevance"] = 0.5


def test_a_profile_keeps_its_own_copy_of_the_weights():
    weights = {"relevance": 1.0}
    profile = ScoringProfile(name="mine", version=1, weights=weights)
    weights["relevance"] = 0.5
    assert profile.weights["relevance"] == 1.0


@pytest.mark.parametrize(
    ("numbers", "field", "code"),
    [
        ({"weights": {"relevance": 0.9}}, "weights", "weights_do_not_sum_to_one"),
        ({"weights": {"relevance": 1.0, "recency": 1e-6}}, "weights", "weights_do_not_sum_to_one"),
        ({"weights": {}}, "weights", "weights_do_not_sum_to_one"),
        ({"weights": [1.0]}, "weights", "not_an_object"),
        ({"weights": {"charm": 1.0}}, "weights.charm", "unknown_part"),
        ({"weights": {"relevance": 1.5, "recency": -0.5}}, "weights.recency", "out_of_range"),
        ({"weights": {"relevance": True}}, "weights.relevance", "out_of_range"),
        ({"weights": {"relevance": math.nan}}, "weights.relevance", "out_of_range"),
        ({"weights": {"relevance": "1"}}, "weights.relevance", "out_of_range"),
        ({"conversation_weights": {"relevance": 0.9}}, "conversation_weights", "weights_do_not_sum_to_one"),
        ({"conversation_weights": {"charm": 1.0}}, "conversation_weights.charm", "unknown_part"),
        ({"conversation_weights": 1}, "conversation_weights", "not_an_object"),
        ({"superseded_min": 1.5}, "superseded_min", "out_of_range"),
        ({"superseded_min": None}, "superseded_min", "out_of_range"),
        ({"relevance": "bm25"}, "relevance", "invalid_choice"),
        ({"relevance": ["cosine"]}, "relevance", "invalid_choice"),
        ({"recency_mode": "squared"}, "recency_mode", "invalid_choice"),
        ({"half_life_days": 0}, "half_life_days", "out_of_range"),
        ({"half_life_days": math.inf}, "half_life_days", "out_of_range"),
        ({"half_life_days_by_kind": {"fact": -1}}, "half_life_days_by_kind.fact", "out_of_range"),
        ({"half_life_days_by_kind": 3}, "half_life_days_by_kind", "not_an_object"),
        ({"mmr_diversity": 1.1}, "mmr_diversity", "out_of_range"),
        ({"pool_size": 9}, "pool_size", "out_of_range"),
        ({"pool_size": 1_001}, "pool_size", "out_of_range"),
        ({"pool_size": False}, "pool_size", "out_of_range"),
        ({"pool_size": 200.0}, "pool_size", "out_of_range"),
        ({"adjacent_turn_reach": 6}, "adjacent_turn_reach", "out_of_range"),
        ({"coefficients": {"relevance": 1.0}}, "intercept", "incomplete_calibration"),
        ({"intercept": 1.0}, "intercept", "incomplete_calibration"),
        ({"coefficients": {"charm": 1.0}, "intercept": 0.0}, "coefficients.charm", "unknown_part"),
        ({"coefficients": {"relevance": 1e9}, "intercept": 0.0}, "coefficients.relevance", "out_of_range"),
        ({"colour": 1}, "colour", "unknown_field"),
    ],
)
def test_each_problem_is_named_with_its_field(numbers, field, code):
    assert (field, code) in problems(**numbers)
    with pytest.raises(ScoringProfileError) as refusal:
        ScoringProfile.from_numbers("mine", 1, {"weights": {"relevance": 1.0}, **numbers})
    assert refusal.value.field
    assert refusal.value.code
    assert refusal.value.detail


def test_all_problems_are_reported_together():
    found = problems(weights={"relevance": 0.5}, relevance="bm25", pool_size=3, colour=1)
    assert {field for field, _ in found} == {"weights", "relevance", "pool_size", "colour"}


@pytest.mark.parametrize("numbers", [None, 3, "x", [], {}])
def test_what_is_no_profile_is_refused(numbers):
    with pytest.raises(ScoringProfileError):
        ScoringProfile.from_numbers("mine", 1, numbers)


def test_a_profile_of_wrong_numbers_cannot_be_made():
    with pytest.raises(ScoringProfileError, match=r"sum to 0\.5"):
        ScoringProfile(name="mine", version=1, weights={"relevance": 0.5})


def test_a_calibrated_profile_is_labelled_as_such():
    profile = ScoringProfile(
        name="mine", version=1, weights={"relevance": 1.0}, coefficients={"relevance": 2.0}, intercept=-1.0
    )
    assert profile.is_calibrated
    assert not profile.is_default


@pytest.mark.parametrize("coefficients", [{}, {"relevance": 0.0}])
def test_a_calibration_by_which_nothing_counts_is_refused(coefficients):
    numbers = {**ADR_0040.to_numbers(), "coefficients": coefficients, "intercept": 1.0}
    assert [(problem.field, problem.code) for problem in problems_of_numbers(numbers)] == [
        ("coefficients", "nothing_counts")
    ]


def test_of_many_problems_only_the_first_are_reported() -> None:
    numbers = {"weights": {f"part {place}": 1 for place in range(10_000)}}
    assert len(problems_of_numbers(numbers)) == PROBLEMS_MAX
