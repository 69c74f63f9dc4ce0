"""The conditions for publishing a version of a scoring profile, and its measured comparison (ADR-0084, ADR-0098)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from context.models import EvaluationAnswer, EvaluationRun, GoldenQuestion, ScoringProfileVersion
from context.profiles.scoring_profiles import scoring_profile_in_use
from context.services.profiles.publishing import (
    BETTER,
    QUESTIONS_MIN,
    EvidenceComparison,
    PublishingCondition,
    compare_evidence,
    publishing_conditions,
    select_runs,
)
from memory_platform.web.numerals import versioned_name

#: The number of newest finished runs of both profiles that are considered.
_RUNS_READ = 200


@dataclass(frozen=True)
class PublishingGate:
    """The conditions of a version in order, and its comparison with the profile in use, `base`.

    `run` is an evaluation of exactly its numbers, `baseline` the one of the profile in use that it is compared with,
    `unfinished` an evaluation of either that could meet the first condition once it is finished. `golden_questions` is
    the number of golden questions with which the tenant can evaluate.
    """

    questions_min: ClassVar[int] = QUESTIONS_MIN

    conditions: list[PublishingCondition]
    base: ScoringProfileVersion
    run: EvaluationRun | None
    baseline: EvaluationRun | None
    comparison: EvidenceComparison | None
    unfinished: EvaluationRun | None
    golden_questions: int

    @property
    def missing(self) -> list[PublishingCondition]:
        return [condition for condition in self.conditions if not condition.is_met]

    @property
    def evaluation(self) -> PublishingCondition:
        return self.conditions[0]

    @property
    def needs_reason(self) -> bool:
        """Whether the version is not clearly better, regardless of the entered texts."""
        return self.comparison is not None and self.comparison.verdict != BETTER


def publishing_gate(
    row: ScoringProfileVersion, active: ScoringProfileVersion | None, *, argument: Mapping[str, str], reason: str
) -> PublishingGate:
    """Return what publishing `row` in place of `active` needs; inside a scope."""
    base = scoring_profile_in_use(row.tenant_id, active)
    rows = EvaluationRun.objects.for_tenant(row.tenant_id).newest_first()
    finished = list(rows.of_either_numbers(row.numbers, base.numbers)[:_RUNS_READ])
    run, baseline = select_runs(row.numbers, base.numbers, finished)
    shares, base_shares = (_evidence_shares(row.tenant_id, each) for each in (run, baseline))
    # A run that was deleted after it was read no longer has answers.
    run, baseline = run if shares else None, baseline if base_shares else None
    comparison = None
    if run is not None and baseline is not None:
        comparison = compare_evidence(shares, base_shares, base=f"{base.name} {base.version}")
    conditions = publishing_conditions(
        has_run=run is not None,
        comparison=comparison,
        base=versioned_name(base.name, base.version),
        argument=argument,
        reason=reason,
    )
    sought = rows.open().of_numbers(row.numbers)
    if run is not None:
        sought |= rows.open().of_numbers(base.numbers)
    unfinished = None if conditions[0].is_met else sought.first()
    golden = GoldenQuestion.objects.for_tenant(row.tenant_id).not_removed().row_count()
    return PublishingGate(conditions, base, run, baseline, comparison, unfinished, golden)


def _evidence_shares(tenant_id: UUID, run: EvaluationRun | None) -> dict[str, dict[int, float]]:
    if run is None:
        return {}
    answers = EvaluationAnswer.objects.for_tenant(tenant_id).of_run(run.pk)
    return {answer.question_id: answer.evidence_shares for answer in answers}
