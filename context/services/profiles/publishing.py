"""The conditions for publishing a version of a scoring profile, and its comparison with the one in use (ADR-0098)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from context.services.evaluation.evidence import Estimate, estimate_means
from memories.services.store.drafts import FieldProblem

#: Minimum questions that both runs answered (ADR-0098).
QUESTIONS_MIN = 30
#: The budget nearest to this one decides.
DECISIVE_BUDGET_TOKENS = 1_000
ARGUMENT_PARTS = ("context", "decision", "consequences")
#: Minimum and maximum characters of each part of the argument, and of a reason.
TEXT_BOUNDS = (20, 4_000)
BETTER, WORSE, UNSURE = "better", "worse", "unsure"
NOT_EVALUATED, TOO_FEW_QUESTIONS, BASELINE_NOT_EVALUATED = (
    "not_evaluated",
    "too_few_questions",
    "baseline_not_evaluated",
)
#: These codes concern the measurements, not the caller's input.
EVALUATION_CODES = (NOT_EVALUATED, TOO_FEW_QUESTIONS, BASELINE_NOT_EVALUATED)


@dataclass(frozen=True)
class PublishingCondition(FieldProblem):
    """A condition, described as the problem if it is not met."""

    is_met: bool


class FinishedRun(Protocol):
    """A finished evaluation run, without its answers."""

    profile_numbers: Any
    corpus_sha256: Any
    packer: Any
    ordering: Any
    embedder_model: Any
    budgets: Any
    total: Any


_Run = TypeVar("_Run", bound=FinishedRun)


def select_runs(
    numbers: Mapping[str, Any], base_numbers: Mapping[str, Any], runs: Sequence[_Run]
) -> tuple[_Run | None, _Run | None]:
    """Return the newest run of `numbers` and the newest of `base_numbers` that it can be compared with.

    `runs` are in order, newest first. A run with enough questions and a baseline precedes one with a baseline, which
    precedes one without.
    """
    found: list[tuple[bool, bool, _Run, _Run | None]] = []
    for run in runs:
        if run.profile_numbers == numbers:
            others = (other for other in runs if other.profile_numbers == base_numbers and _is_comparable(run, other))
            base = run if numbers == base_numbers else next(others, None)
            found.append((base is not None and run.total >= QUESTIONS_MIN, base is not None, run, base))
    if not found:
        return None, None
    _, _, run, base = max(found, key=lambda each: each[:2])  # the first of equal ones
    return run, base


def _is_comparable(run: FinishedRun, other: FinishedRun) -> bool:
    same = ("corpus_sha256", "packer", "ordering", "embedder_model")
    return all(getattr(run, name) == getattr(other, name) for name in same) and bool(
        set(run.budgets) & set(other.budgets)
    )


@dataclass(frozen=True)
class BudgetEvidence:
    """The mean share of the evidence (0..1) that contexts of `budget` tokens include with either profile."""

    budget: int
    value: float
    base_value: float
    difference: Estimate

    @property
    def verdict(self) -> str:
        """Return whether the interval of the difference is above 0, below 0 or neither."""
        return BETTER if self.difference.low > 0 else WORSE if self.difference.high < 0 else UNSURE


@dataclass(frozen=True)
class EvidenceComparison:
    """A version and the profile in use (`base`: name and version), question by question, by budget (at least one)."""

    base: str
    questions: int
    rows: tuple[BudgetEvidence, ...]

    @property
    def decisive(self) -> BudgetEvidence:
        """The row that decides: one that is worse, else the one nearest to `DECISIVE_BUDGET_TOKENS`."""
        worse = [row for row in self.rows if row.verdict == WORSE]
        return min(worse or self.rows, key=lambda row: abs(row.budget - DECISIVE_BUDGET_TOKENS))

    @property
    def verdict(self) -> str:
        return self.decisive.verdict

    def __str__(self) -> str:
        row = self.decisive
        points, low, high = map(_points, (row.difference.value, row.difference.low, row.difference.high))
        text = f"evidence at {row.budget:,} tokens {points} pp ({low} to {high} pp), {_questions(self.questions)}"
        return text if row.value or row.base_value else f"{text}, no evidence found by either"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form in which a version stores them."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> EvidenceComparison:
        """Return the object from the result of `to_dict`."""
        rows = [BudgetEvidence(**{**row, "difference": Estimate(**row["difference"])}) for row in stored["rows"]]
        return cls(stored["base"], stored["questions"], tuple(rows))


def _points(share: float) -> str:
    """Return a difference of shares in percentage points with its sign, without one if it rounds to zero."""
    points = round(100 * share, 1)
    return f"{points:+.1f}".replace("-", "\N{MINUS SIGN}") if points else "0.0"


def compare_evidence(
    shares: Mapping[str, Mapping[int, float]], base_shares: Mapping[str, Mapping[int, float]], *, base: str
) -> EvidenceComparison | None:
    """Compare two runs by their shares of the evidence (0..1) by question and budget.

    Return None if they share no question or no budget.
    """
    shared = sorted(shares.keys() & base_shares.keys())
    budgets = sorted(shares[shared[0]].keys() & base_shares[shared[0]].keys()) if shared else []
    if not budgets:
        return None
    own, other = (
        np.array([[each[name][budget] for budget in budgets] for name in shared]) for each in (shares, base_shares)
    )
    rows = [
        BudgetEvidence(
            budget, round(float(own[:, place].mean()), 6), round(float(other[:, place].mean()), 6), difference
        )
        for place, (budget, difference) in enumerate(zip(budgets, estimate_means(own - other), strict=True))
        if difference is not None
    ]
    return EvidenceComparison(base, len(shared), tuple(rows))


def publishing_conditions(
    *,
    has_run: bool,
    comparison: EvidenceComparison | None,
    base: str,
    argument: Mapping[str, str],
    reason: str,
) -> list[PublishingCondition]:
    """Return every condition in order: evaluation, argument, and a reason unless `comparison` is better.

    `has_run` is whether a finished run of exactly the numbers exists; `base` is the profile in use.
    """
    code, detail = NOT_EVALUATED, "No finished evaluation of exactly these settings is stored. Run one first."
    if comparison is not None:
        code = TOO_FEW_QUESTIONS
        shared = _questions(comparison.questions)
        detail = f"Its evaluation and that of {base} share {shared}; at least {QUESTIONS_MIN} are required."
    elif has_run:
        code = BASELINE_NOT_EVALUATED
        detail = f"{base} was not evaluated on the same corpus with the same settings. Evaluate it there."
    is_evaluated = comparison is not None and comparison.questions >= QUESTIONS_MIN
    return [
        PublishingCondition("version", code, detail, is_evaluated),
        *(_text_condition(f"argument.{part}", argument.get(part, "")) for part in ARGUMENT_PARTS),
        _reason_condition(comparison, base, reason),
    ]


def _questions(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"


def _reason_condition(comparison: EvidenceComparison | None, base: str, reason: str) -> PublishingCondition:
    if reason.strip() or comparison is None or comparison.verdict == BETTER:
        return _text_condition("reason", reason, is_required=False)
    word = "worse" if comparison.verdict == WORSE else "not clearly better"
    detail = f"It is {word} than {base}: {comparison}. Give the reason for publishing it anyway."
    return PublishingCondition("reason", "reason_required", detail, is_met=False)


def _text_condition(field: str, text: str, *, is_required: bool = True) -> PublishingCondition:
    least, most = TEXT_BOUNDS
    length = len(text.strip())
    code, detail = "required", f"A text of {least} to {most:,} characters is required."
    if length > most:
        code, detail = "too_long", f"At most {most:,} characters are allowed."
    elif length:
        code, detail = "too_short", f"At least {least} characters are required."
    return PublishingCondition(field, code, detail, least <= length <= most or not (length or is_required))
