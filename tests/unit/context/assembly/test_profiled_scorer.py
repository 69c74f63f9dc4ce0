"""The profiled scorer: equal to the default scorer for its profile, sums of components, calibrated probabilities."""

import math
import uuid
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.assembly.profiled_scorer import ProfiledScorer, needs_vectors
from context.services.assembly.signals.columns import ScoringQuestion
from context.services.profiles.scoring_profiles import ADR_0040, CONVERSATION_RECALL, RECALL, ScoringProfile
from context.services.scorer import MemoryScorer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUESTION = ScoringQuestion("Where does Ann live?", NOW, ["ann", "live"])

shares = st.none() | st.floats(min_value=-1, max_value=2, allow_nan=False)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 5),
            "content": st.just("Ann: text"),
            "similarity": shares,
            "created_at": st.none()
            | st.integers(-2_000, 3_000).map(lambda hours: NOW - timedelta(hours=hours))
            | st.just("unreadable"),
            "usefulness_score": shares,
            "confidence": shares,
            "retrieval_count": st.none() | st.integers(-3, 100),
        }
    ),
    max_size=12,
)


def memory(**fields):
    return {"id": uuid.uuid4(), "content": "Ann: text", "created_at": NOW, "kind": "fact", **fields}


def profile(**numbers):
    return ScoringProfile(name="mine", version=1, **{"weights": {"relevance": 1.0}, **numbers})


def score(memories, numbers=None, question=QUESTION):
    return ProfiledScorer(numbers or profile(), question).score(memories)


@given(rows)
def test_the_default_profile_scores_exactly_as_the_default_scorer(memories):
    expected = MemoryScorer(clock=lambda: NOW).score(memories)
    scored = score(memories, ADR_0040)
    assert [one.memory for one in scored] == [one.memory for one in expected]
    for ours, theirs in zip(scored, expected, strict=True):
        for name in ("composite", "relevance", "recency", "usefulness", "confidence", "frequency"):
            assert getattr(ours, f"{name}_score") == getattr(theirs, f"{name}_score")


@given(rows)
def test_the_same_numbers_under_another_name_score_the_same(memories):
    numbers = ScoringProfile.from_numbers("mine", 1, ADR_0040.to_numbers())
    expected = [one.composite_score for one in MemoryScorer(clock=lambda: NOW).score(memories)]
    assert [one.composite_score for one in score(memories, numbers)] == pytest.approx(expected, abs=1e-6)


def test_ages_are_measured_from_the_time_of_the_query():
    later = NOW + timedelta(days=14)
    numbers = profile(weights={"recency": 1.0}, half_life_days=14)
    assert score([memory()], numbers)[0].composite_score == 1.0
    assert score([memory()], numbers, ScoringQuestion("", later))[0].composite_score == 0.5
    with pytest.raises(ValueError, match="time zone"):
        score([memory()], numbers, ScoringQuestion("", datetime(2026, 1, 1)))  # noqa: DTZ001


def test_each_kind_has_its_own_half_life():
    old = NOW - timedelta(days=10)
    numbers = profile(weights={"recency": 1.0}, half_life_days=10, half_life_days_by_kind={"episode": 5})
    scored = score([memory(created_at=old), memory(created_at=old, kind="episode")], numbers)
    assert [(one.memory["kind"], one.recency_score) for one in scored] == [("fact", 0.5), ("episode", 0.25)]


def test_recency_multiplied_raises_what_is_relevant_and_nothing_else():
    weights = {"relevance": 0.6, "recency": 0.4}
    numbers = profile(weights=weights, recency_mode="multiplied")
    scored = score([memory(similarity=0.0), memory(similarity=0.5)], numbers)
    assert [one.composite_score for one in scored] == [0.5, 0.0]


def test_parts_in_the_order_of_the_names_and_only_those_that_weigh():
    numbers = profile(weights={"confidence": 0.5, "relevance": 0.5, "recency": 0.0})
    (scored,) = score([memory(similarity=0.5, confidence=0.9)], numbers)
    assert scored.parts == {"relevance": 0.5, "confidence": 0.9}
    assert list(scored.parts) == ["relevance", "confidence"]
    assert scored.composite_score == 0.7


def test_a_calibrated_profile_gives_probabilities():
    numbers = profile(coefficients={"relevance": 4.0}, intercept=-2.0)
    scored = score([memory(similarity=0.5), memory(similarity=1.0)], numbers)
    assert [one.composite_score for one in scored] == [round(1 / (1 + math.exp(-2)), 6), 0.5]


def test_a_number_that_is_none_is_refused_by_its_field():
    with pytest.raises(ValueError, match="confidence"):
        score([memory(confidence=math.nan)])


def test_nothing_in_nothing_out():
    assert score([]) == []
    assert score([], ADR_0040) == []
    assert score([], CONVERSATION_RECALL) == []


def test_only_comparing_profiles_need_vectors():
    assert not needs_vectors(ADR_0040)
    assert needs_vectors(profile(mmr_diversity=0.1))
    assert needs_vectors(profile(superseded_min=0.2))
    assert needs_vectors(profile(conversation_weights={"relevance": 0.9, "supersession": 0.1}))
    assert needs_vectors(profile(weights={"relevance": 0.9, "supersession": 0.1}))


def test_messages_use_conversation_weights_and_report_their_share():
    numbers = profile(conversation_weights={"confidence": 1.0})
    place = {"session": "s", "partition_path": ""}
    turns = [memory(similarity=0.5, confidence=0.9, position=number, **place) for number in range(2)]
    assert {one.composite_score for one in score(turns, numbers)} == {0.9}
    mixed = score([turns[0], memory(similarity=0.5, confidence=0.9)], numbers)
    assert {one.composite_score for one in mixed} == {0.6}
    assert mixed[0].parts == {"relevance": 0.5, "confidence": 0.9, "message_share": 0.5}


def test_feedback_moves_a_memory_in_recall_but_only_so_far():
    votes = {"none": None, "up": 2 / 3, "down": 1 / 3, "best": 1.0, "worst": 0.0}
    rows = [memory(similarity=0.5, usefulness_score=value, content=name) for name, value in votes.items()]
    scored = score(rows, RECALL)
    assert [one.memory["content"] for one in scored] == ["best", "up", "none", "down", "worst"]
    assert scored[0].composite_score - scored[-1].composite_score == pytest.approx(RECALL.weights["usefulness"])
    relevant = memory(similarity=0.8, usefulness_score=0.0)
    assert score([*rows, relevant], RECALL)[0].memory is relevant


@pytest.mark.parametrize("numbers", [ADR_0040, RECALL])
def test_only_the_chosen_places_of_the_ranking_are_returned(numbers):
    rows = [memory(similarity=share / 10) for share in (2, 9, 5, 7)]
    ranked = score(rows, numbers)

    def choose(memories):
        assert memories == [one.memory for one in ranked]
        return [2, 0]

    assert ProfiledScorer(numbers, QUESTION).score(rows, choose) == [ranked[2], ranked[0]]


def test_repetition_of_something_better_is_taken_away():
    rows = [memory(similarity=0.9), memory(similarity=0.8), memory(similarity=0.5)]
    units = [np.array(vector, dtype=np.float32) for vector in ([1, 0], [1, 0], [0, 1])]
    vectors = {row["id"]: vector for row, vector in zip(rows, units, strict=True)}
    scored = ProfiledScorer(profile(mmr_diversity=0.5), QUESTION, vectors).score(rows)
    assert [one.memory for one in scored] == [rows[0], rows[2], rows[1]]
    assert scored[2].parts == {"relevance": 0.8, "repetition": 1.0}
    assert scored[2].composite_score == 0.3


def test_signals_are_listed_by_name_and_add_up():
    rows = [
        memory(
            content=f"Ann: I live in Leeds since {number} May.", session="s", position=number, similarity=0.1 * number
        )
        | {"partition_path": "", "holds": frozenset(["live"])}
        for number in range(1, 9)
    ]
    question = ScoringQuestion("Where does Ann live?", NOW, ["ann", "live"])
    weights = CONVERSATION_RECALL.weights
    for one in score(rows, CONVERSATION_RECALL, question):
        assert list(one.parts) == list(weights)
        assert one.parts["entity_match"] == 1.0
        assert one.parts["answer_type"] == 1.0
        assert one.parts["supersession"] == 0.0
        assert math.isclose(sum(weights[name] * one.parts[name] for name in weights), one.composite_score, abs_tol=1e-5)


def test_a_composite_is_never_below_zero():
    rows = [
        memory(created_at=NOW - timedelta(days=400 * number), similarity=0.01, content="text") for number in range(3)
    ]
    vectors = {row["id"]: np.array([1.0, 0.0], dtype=np.float32) for row in rows}
    numbers = profile(weights={"relevance": 0.01, "supersession": 0.99})
    scored = ProfiledScorer(numbers, ScoringQuestion("Where is it?", NOW), vectors).score(rows)
    assert [one.memory for one in scored] == rows
    assert scored[0].composite_score > 0.0 == scored[2].composite_score
    assert scored[2].parts["supersession"] < 0.0


def test_the_fused_score_can_be_the_relevance():
    numbers = profile(relevance="fused")
    scored = score([memory(similarity=0.9, fused_score=None), memory(similarity=0.1, fused_score=3 / 61)], numbers)
    assert [one.composite_score for one in scored] == [1.0, 0.0]


def test_candidates_without_the_keys_of_signals_are_scored_all_the_same():
    assert len(score([memory(), memory()], CONVERSATION_RECALL)) == 2
