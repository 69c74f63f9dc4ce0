"""When a version may be published, and when a reason is required: a table of cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from context.services.profiles.publishing import (
    ARGUMENT_PARTS,
    DECISIVE_BUDGET_TOKENS,
    QUESTIONS_MIN,
    TEXT_BOUNDS,
    EvidenceComparison,
    compare_evidence,
    publishing_conditions,
    select_runs,
)

DRAFT = {"weights": {"relevance": 1.0}, "half_life_days": 14}
IN_USE = {"weights": {"relevance": 0.5, "recency": 0.5}, "half_life_days": 14}
ARGUMENT = dict.fromkeys(ARGUMENT_PARTS, "Questions of our customers name the device.")


@dataclass(frozen=True)
class Run:
    """A finished run as the gate reads it."""

    profile_numbers: Mapping[str, Any] = field(default_factory=lambda: DRAFT)
    corpus_sha256: str = "a"
    packer: str = "greedy"
    ordering: str = "top_down"
    embedder_model: str = "m"
    budgets: Sequence[int] = (250, 1000)
    total: int = 40


def shares(values: Sequence[float], first: int = 0, budgets: Sequence[int] = (1000,)) -> dict[str, dict[int, float]]:
    """The share of the evidence by question, the same at each budget."""
    return {f"q{first + place}": dict.fromkeys(budgets, value) for place, value in enumerate(values)}


def compared(draft: Sequence[float], in_use: Sequence[float], first: int = 0) -> EvidenceComparison | None:
    return compare_evidence(shares(draft, first), shares(in_use), base="own 1")


def codes(comparison: EvidenceComparison | None, *, has_run: bool = True, **given: Any) -> list[str]:
    values = {"argument": ARGUMENT, "reason": ""} | given
    conditions = publishing_conditions(has_run=has_run, comparison=comparison, base="own 1", **values)
    return [condition.code for condition in conditions if not condition.is_met]


HALF = [0.5] * 40
#: (case, the draft's share by question, the share of the profile in use, verdict, what is missing)
CASES: list[tuple[str, Sequence[float], Sequence[float], str, list[str]]] = [
    ("better", [0.8, 0.7] * 20, HALF, "better", []),
    ("better on few, equal on the others", [1.0] * 8 + [0.5] * 32, HALF, "better", []),
    ("worse", [0.2, 0.3] * 20, HALF, "worse", ["reason_required"]),
    ("unsure: as often better as worse", [0.9, 0.1] * 20, HALF, "unsure", ["reason_required"]),
    ("unsure: better by one question", [1.0] + [0.5] * 39, HALF, "unsure", ["reason_required"]),
    ("unsure: mean above 0, interval below", [1.0] * 9 + [0.0] * 7 + [0.5] * 24, HALF, "unsure", ["reason_required"]),
    ("no-op: the same everywhere", HALF, HALF, "unsure", ["reason_required"]),
    ("tie of all ones", [1.0] * 40, [1.0] * 40, "unsure", ["reason_required"]),
    ("tie of all zeros: 0 % evidence in both", [0.0] * 40, [0.0] * 40, "unsure", ["reason_required"]),
    ("exactly enough questions", [0.9] * QUESTIONS_MIN, [0.5] * QUESTIONS_MIN, "better", []),
    ("too few questions, though better", [0.9] * 29, [0.5] * 29, "better", ["too_few_questions"]),
    ("too few questions, and worse", [0.1] * 29, [0.5] * 29, "worse", ["too_few_questions", "reason_required"]),
    ("one question, 0 % evidence", [0.0], [0.0], "unsure", ["too_few_questions", "reason_required"]),
]


@pytest.mark.parametrize(("case", "draft", "in_use", "verdict", "missing"), CASES, ids=[case[0] for case in CASES])
def test_case(case: str, draft: Sequence[float], in_use: Sequence[float], verdict: str, missing: list[str]) -> None:
    comparison = compared(draft, in_use)
    assert comparison is not None
    assert comparison.verdict == verdict, str(comparison)
    assert codes(comparison) == missing
    with_reason = codes(comparison, reason="It halves the tokens, which matters more to us.")
    assert with_reason == [code for code in missing if code != "reason_required"]
    assert EvidenceComparison.from_dict(comparison.to_dict()) == comparison


def test_question_sets_without_a_shared_question_compare_nothing() -> None:
    assert compared(HALF, HALF, first=100) is None
    assert compare_evidence(shares(HALF, budgets=[250]), shares(HALF), base="own 1") is None
    assert codes(None) == ["baseline_not_evaluated"]
    assert codes(None, has_run=False) == ["not_evaluated"]


def test_only_the_shared_questions_count() -> None:
    comparison = compared([0.9] * 40, [0.5] * 60)
    assert comparison is not None
    assert (comparison.questions, comparison.decisive.base_value) == (40, 0.5)
    assert codes(compared([0.9] * 40, HALF, first=20)) == ["too_few_questions"], "40 in each, 20 in both"


def test_worse_at_any_budget_is_worse() -> None:
    mixed = {f"q{place}": {250: 0.1, 1000: 0.9} for place in range(40)}
    comparison = compare_evidence(mixed, shares(HALF, budgets=(250, 1000)), base="own 1")
    assert comparison is not None
    assert comparison.verdict == "worse"
    assert comparison.decisive.budget == 250


@pytest.mark.parametrize(("budgets", "decisive"), [((250, 1000, 4000), 1000), ((250, 500), 500), ((2000, 4000), 2000)])
def test_budget_nearest_to_a_thousand_tokens_decides(budgets: Sequence[int], decisive: int) -> None:
    comparison = compare_evidence(
        shares([0.9] * 40, budgets=budgets), shares(HALF, budgets=(*budgets, 9000)), base="own 1"
    )
    assert comparison is not None
    assert comparison.decisive.budget == decisive
    assert [row.budget for row in comparison.rows] == list(budgets)
    assert DECISIVE_BUDGET_TOKENS == 1000


def test_comparison_in_words() -> None:
    comparison = compared([0.6, 0.5] * 21, [0.5] * 42)
    assert str(comparison) == "evidence at 1,000 tokens +5.0 pp (+3.6 to +6.4 pp), 42 questions"
    nothing = compared([0.0] * 40, [0.0] * 40)
    assert str(nothing) == "evidence at 1,000 tokens 0.0 pp (0.0 to 0.0 pp), 40 questions, no evidence found by either"


#: (case, runs newest first, the place of the draft's run, that of the run it is compared with)
RUNS: list[tuple[str, Sequence[Run], int | None, int | None]] = [
    ("both on one corpus", [Run(), Run(IN_USE)], 0, 1),
    ("no run", [], None, None),
    ("other numbers", [Run({**DRAFT, "half_life_days": 15}), Run(IN_USE)], None, None),
    ("equal numbers of another type", [Run({**DRAFT, "half_life_days": 14.0}), Run(IN_USE)], 0, 1),
    ("other corpus", [Run(), Run(IN_USE, corpus_sha256="b")], 0, None),
    ("other packer", [Run(), Run(IN_USE, packer="elastic")], 0, None),
    ("other ordering", [Run(), Run(IN_USE, ordering="u_curve")], 0, None),
    ("other embedding model", [Run(), Run(IN_USE, embedder_model="n")], 0, None),
    ("no budget in common", [Run(), Run(IN_USE, budgets=[500])], 0, None),
    ("newest of each", [Run(), Run(IN_USE), Run(), Run(IN_USE)], 0, 1),
    ("newest that can be compared", [Run(corpus_sha256="b"), Run(), Run(IN_USE)], 1, 2),
    ("comparable with too few loses to one with enough", [Run(total=5), Run(corpus_sha256="b"), Run(IN_USE, total=5),
     Run(IN_USE, corpus_sha256="b")], 1, 3),
    ("too few alone", [Run(total=5), Run(IN_USE, total=5)], 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("case", "runs", "own", "base"), RUNS, ids=[case[0] for case in RUNS])
def test_run_that_is_compared(case: str, runs: Sequence[Run], own: int | None, base: int | None) -> None:
    expected = tuple(None if place is None else runs[place] for place in (own, base))
    found = select_runs(DRAFT, IN_USE, runs)
    assert [id(run) for run in found] == [id(run) for run in expected]


def test_same_numbers_are_compared_with_themselves() -> None:
    run = Run()
    assert select_runs(DRAFT, DRAFT, [run]) == (run, run)


LONG = TEXT_BOUNDS[1] + 1


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"argument": {**ARGUMENT, "decision": ""}}, "required"),
        ({"argument": {**ARGUMENT, "decision": " \n "}}, "required"),
        ({"argument": {**ARGUMENT, "decision": "ADR-9999"}}, "too_short"),
        ({"argument": {**ARGUMENT, "decision": "x" * LONG}}, "too_long"),
        ({"reason": "because"}, "too_short"),
        ({"reason": "x" * LONG}, "too_long"),
    ],
)
def test_texts_are_bounded(given: dict[str, Any], code: str) -> None:
    assert codes(compared([0.9] * 40, HALF), **given) == [code]


def test_every_missing_part_is_named_with_its_field() -> None:
    conditions = publishing_conditions(has_run=False, comparison=None, base="own 1", argument={}, reason="")
    assert [(each.field, each.code) for each in conditions if not each.is_met] == [
        ("version", "not_evaluated"),
        *((f"argument.{part}", "required") for part in ("context", "decision", "consequences")),
    ]
