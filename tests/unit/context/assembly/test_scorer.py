"""The composite score of ADR-0040: each constant, the golden table, the ADR's example, invariants."""

import dataclasses
import math
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services import scorer
from context.services.scorer import (
    ACCESS_FREQUENCY_CAP,
    RECENCY_DECAY_LAMBDA,
    WEIGHT_CONFIDENCE,
    WEIGHT_FREQUENCY,
    WEIGHT_RECENCY,
    WEIGHT_RELEVANCE,
    WEIGHT_USEFULNESS,
    MemoryScorer,
    ScoredMemory,
)

ROOT = Path(__file__).resolve().parents[4]
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PARTS = ("relevance_score", "recency_score", "usefulness_score", "confidence_score", "frequency_score")


def memory(**fields):
    return {"id": "m", "content": "text", "created_at": NOW, **fields}


def score_one(**fields):
    return MemoryScorer(clock=lambda: NOW).score([memory(**fields)], None)[0]


def ids(scored):
    return [one.memory["id"] for one in scored]


def test_scorer_weights_sum_to_one():
    weights = (WEIGHT_RELEVANCE, WEIGHT_RECENCY, WEIGHT_USEFULNESS, WEIGHT_CONFIDENCE, WEIGHT_FREQUENCY)
    assert weights == (0.40, 0.25, 0.20, 0.10, 0.05)
    assert math.isclose(sum(weights), 1.0, abs_tol=1e-9)


@pytest.mark.parametrize("flags", [[], ["-O"]])
def test_module_with_other_weights_refuses_to_import(tmp_path, flags):
    source = Path(scorer.__file__).read_text()
    changed = source.replace("WEIGHT_FREQUENCY = 0.05", "WEIGHT_FREQUENCY = 0.06")
    assert changed != source
    (tmp_path / "changed_scorer.py").write_text(changed)
    command = [sys.executable, *flags, "-c", "import changed_scorer"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "RuntimeError: The scorer's weights must sum to 1, but they sum to 1.01" in answer.stderr


def test_weights_within_the_tolerance_are_accepted():
    scorer.check_weights((0.5, 0.5 + 9e-10))
    with pytest.raises(RuntimeError, match="sum to 1"):
        scorer.check_weights((0.5, 0.5 + 2e-9))
    with pytest.raises(RuntimeError, match="sum to 1"):
        scorer.check_weights((0.5, math.nan))


def test_relevance_dominates():
    """It does not: relevance alone (0.40) loses to everything else together (0.60). ADR-0040 accepts that."""
    relevant = memory(
        id="a", similarity=1, usefulness_score=0, confidence=0, retrieval_count=0, created_at="1900-01-01"
    )
    trusted = memory(id="b", similarity=0, usefulness_score=1, confidence=1, retrieval_count=50)
    scored = MemoryScorer(clock=lambda: NOW).score([relevant, trusted], None)
    assert ids(scored) == ["b", "a"]
    assert [one.composite_score for one in scored] == [0.60, 0.40]


def test_recency_decay_14_day_half_life():
    assert RECENCY_DECAY_LAMBDA == 0.05
    assert math.isclose(math.log(2) / RECENCY_DECAY_LAMBDA, 13.86, abs_tol=0.005)
    assert score_one(created_at=NOW - timedelta(days=14)).recency_score == 0.496585
    half_life = timedelta(days=math.log(2) / RECENCY_DECAY_LAMBDA)
    assert score_one(created_at=NOW - half_life).recency_score == 0.5


def test_frequency_caps_at_50():
    assert ACCESS_FREQUENCY_CAP == 50
    counts = {0: 0.0, 1: 0.02, 25: 0.5, 49: 0.98, 50: 1.0, 51: 1.0, 10**12: 1.0, -3: 0.0}
    assert {count: score_one(retrieval_count=count).frequency_score for count in counts} == counts


@pytest.mark.parametrize(
    "created_at", [None, "", "yesterday", "2026-13-01", 1_700_000_000, "2026-11-20T10:00:00+25:00"]
)
def test_unknown_memory_age_neutral(created_at):
    assert score_one(created_at=created_at).recency_score == 0.5


def test_absent_age_is_unknown():
    assert MemoryScorer(clock=lambda: NOW).score([{"id": 1, "content": ""}], None)[0].recency_score == 0.5


def test_scores_sorted_descending():
    memories = [memory(id=number, similarity=number % 7 / 7) for number in range(50)]
    scores = [one.composite_score for one in MemoryScorer(clock=lambda: NOW).score(memories, [0.1, 0.2])]
    assert scores == sorted(scores, reverse=True)


def test_relevance_is_the_similarity_clamped():
    assert [score_one(similarity=value).relevance_score for value in (-0.3, 0, 0.25, 1, 1.0000001, None)] == [
        0.0,
        0.0,
        0.25,
        1.0,
        1.0,
        0.0,
    ]


@pytest.mark.parametrize(
    ("field", "part", "default"),
    [("usefulness_score", "usefulness_score", 0.5), ("confidence", "confidence_score", 0.8)],
)
def test_usefulness_and_confidence_are_clamped_and_have_defaults(field, part, default):
    cases = {-1.0: 0.0, 0.0: 0.0, 0.3: 0.3, 1.0: 1.0, 7.5: 1.0, None: default}
    assert {value: getattr(score_one(**{field: value}), part) for value in cases} == cases
    assert getattr(score_one(), part) == default


def test_defaults_of_a_bare_memory():
    bare = MemoryScorer(clock=lambda: NOW).score([{"id": 1, "content": ""}], None)[0]
    assert dataclasses.astuple(bare)[1:] == (0.305, 0.0, 0.5, 0.5, 0.8, 0.0)


@pytest.mark.parametrize(
    "created_at",
    [
        NOW - timedelta(days=2),
        (NOW - timedelta(days=2)).replace(tzinfo=None),
        (NOW - timedelta(days=2)).astimezone(timezone(timedelta(hours=5, minutes=30))),
        "2026-11-18T12:00:00Z",
        "2026-11-18T12:00:00",
        " 2026-11-18 14:00:00+02:00 ",
    ],
)
def test_any_form_of_the_same_moment_is_the_same_age(created_at):
    assert score_one(created_at=created_at).recency_score == 0.904837


def test_future_dates_count_as_age_zero():
    assert score_one(created_at=NOW + timedelta(days=2)).recency_score == 1.0


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    ],
)
def test_the_ends_of_the_calendar_do_not_fail(moment):
    assert 0.0 <= score_one(created_at=moment).recency_score <= 1.0


@pytest.mark.parametrize("field", ["similarity", "usefulness_score", "confidence", "retrieval_count"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "many", [1.0], 10**400])
def test_a_number_that_is_not_finite_is_refused_by_field_name(field, value):
    with pytest.raises(ValueError, match=field):
        MemoryScorer(clock=lambda: NOW).score(
            [memory(id=1), memory(id=2, **{field: None}), memory(**{field: value})], None
        )


def test_ties_go_to_the_newest_then_to_the_smaller_id():
    # 10**4 days ago recency has decayed to 0 at 6 decimals, so the composites are equal
    old = NOW - timedelta(days=10_000)
    memories = [
        memory(id="c", created_at=old),
        memory(id="b", created_at=old),
        memory(id="d", created_at=old + timedelta(microseconds=1)),
        memory(id="a", created_at=old - timedelta(days=1)),
    ]
    for rows in (memories, memories[::-1]):
        assert ids(MemoryScorer(clock=lambda: NOW).score(rows, None)) == ["d", "b", "c", "a"]


def test_ids_of_any_kind_break_ties():
    low, high = uuid.UUID(int=1), uuid.UUID(int=2)
    assert ids(MemoryScorer(clock=lambda: NOW).score([memory(id=high), memory(id=low)], None)) == [low, high]
    assert ids(MemoryScorer(clock=lambda: NOW).score([memory(id=10), memory(id=9)], None)) == [9, 10]
    assert ids(MemoryScorer(clock=lambda: NOW).score([memory(id="b"), memory(id=1)], None)) == [1, "b"]


def test_rounded_composite_decides_not_the_exact_one():
    better_by_less_than_rounding = memory(id="z", similarity=0.5000001)
    assert ids(
        MemoryScorer(clock=lambda: NOW).score([better_by_less_than_rounding, memory(id="a", similarity=0.5)], None)
    ) == [
        "a",
        "z",
    ]


@given(st.lists(st.floats(0, 1) | st.integers(0, 10**7).map(lambda n: n / 10**7), min_size=1, max_size=50))
def test_rounding_is_that_of_python(values):
    scored = MemoryScorer(clock=lambda: NOW).score([memory(id=n, similarity=v) for n, v in enumerate(values)], None)
    assert {one.memory["id"]: one.relevance_score for one in scored} == {n: round(v, 6) for n, v in enumerate(values)}


def test_clock_is_read_once_a_call():
    readings = []

    def clock():
        readings.append(NOW)
        return NOW

    MemoryScorer(clock=clock).score([memory(id=1), memory(id=2)], None)
    assert len(readings) == 1


def test_clock_without_a_time_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        MemoryScorer(clock=lambda: datetime(2026, 1, 1)).score([memory()], None)  # noqa: DTZ001


def test_default_clock_is_the_system_clock():
    assert MemoryScorer().score([memory(created_at=datetime.now(UTC))], None)[0].recency_score == 1.0


def test_no_memories_no_scores():
    assert MemoryScorer().score([], None) == []


def test_result_is_frozen_and_carries_the_memory_itself():
    original = memory()
    scored = MemoryScorer(clock=lambda: NOW).score([original], None)[0]
    assert scored.memory is original
    with pytest.raises(dataclasses.FrozenInstanceError):
        scored.composite_score = 1.0
    assert dataclasses.replace(scored, composite_score=1.0).composite_score == 1.0
    assert scored == ScoredMemory(*(getattr(scored, field.name) for field in dataclasses.fields(scored)))


def test_parts_are_plain_floats():
    assert all(type(getattr(score_one(similarity=1), part)) is float for part in (*PARTS, "composite_score"))


#: similarity, age in days, usefulness, confidence, retrievals -> composite and its five parts, worked out by hand
GOLDEN = [
    ((1.0, 0.0, 1.0, 1.0, 50), (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
    ((0.0, None, 0.5, 0.8, 0), (0.305, 0.0, 0.5, 0.5, 0.8, 0.0)),
    ((1.0, 10_000.0, 0.0, 0.0, 0), (0.4, 1.0, 0.0, 0.0, 0.0, 0.0)),
    ((0.5, 1.0, 0.5, 0.8, 5), (0.622807, 0.5, 0.951229, 0.5, 0.8, 0.1)),
    ((0.8, 7.0, 0.75, 0.9, 10), (0.746172, 0.8, 0.704688, 0.75, 0.9, 0.2)),
    ((-0.2, 30.0, 0.25, 0.5, 100), (0.205783, 0.0, 0.22313, 0.25, 0.5, 1.0)),
]


@pytest.mark.parametrize(("given_values", "expected"), GOLDEN)
def test_golden_table(given_values, expected):
    similarity, age, usefulness, confidence, count = given_values
    scored = score_one(
        similarity=similarity,
        created_at=None if age is None else NOW - timedelta(days=age),
        usefulness_score=usefulness,
        confidence=confidence,
        retrieval_count=count,
    )
    assert dataclasses.astuple(scored)[1:] == expected


MEMORIES = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 30),
            "content": st.just(""),
            "similarity": st.none() | st.floats(-2, 2),
            "created_at": st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
            "usefulness_score": st.none() | st.floats(-2, 2),
            "confidence": st.none() | st.floats(-2, 2),
            "retrieval_count": st.none() | st.integers(-5, 100),
        }
    ),
    max_size=20,
    unique_by=lambda memory: memory["id"],
)


@given(MEMORIES, st.randoms())
def test_any_order_of_input_gives_the_same_scores(memories, random):
    shuffled = list(memories)
    random.shuffle(shuffled)
    score = MemoryScorer(clock=lambda: NOW).score
    assert [dataclasses.astuple(one)[1:] for one in score(memories, None)] == [
        dataclasses.astuple(one)[1:] for one in score(shuffled, None)
    ]


@given(MEMORIES)
def test_parts_and_composite_stay_within_bounds_and_agree(memories):
    for one in MemoryScorer(clock=lambda: NOW).score(memories, None):
        parts = [getattr(one, part) for part in PARTS]
        assert all(0.0 <= part <= 1.0 for part in parts)
        composite = sum(w * p for w, p in zip((0.40, 0.25, 0.20, 0.10, 0.05), parts, strict=True))
        assert one.composite_score == pytest.approx(composite, abs=1.1e-6)
