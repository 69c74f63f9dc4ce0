"""The gate before a version of a scoring profile: what is there, what is missing, what was measured (ADR-0084)."""

from collections.abc import Sequence
from dataclasses import dataclass

from context.evaluation.report import ReportCell, evidence_cells, evidence_gain
from context.models import EvaluationRun, ScoringProfileVersion
from context.profiles.scoring_profiles import proving_evaluation, scoring_profile_version
from context.services.profiles.publishing import PublishingCondition, publishing_conditions
from context.services.profiles.scoring_profiles import ADR_0040


@dataclass(frozen=True)
class PublishingComparisonRow:
    """The evidence included at one budget (tokens), and that of the profile it would replace."""

    budget: int
    candidate: ReportCell
    base: ReportCell | None
    difference: ReportCell | None


@dataclass(frozen=True)
class PublishingGate:
    """What publishing a version needs; `base` is what counts today, as far as the same corpus was asked with it."""

    conditions: Sequence[PublishingCondition]
    proof: EvaluationRun | None
    running_evaluation: EvaluationRun | None
    base_name: str
    base_run: EvaluationRun | None

    @property
    def is_open(self) -> bool:
        return all(condition.is_met for condition in self.conditions)

    @property
    def missing(self) -> list[PublishingCondition]:
        return [condition for condition in self.conditions if not condition.is_met]

    @property
    def evaluation(self) -> PublishingCondition:
        return self.conditions[0]

    @property
    def decision(self) -> PublishingCondition:
        return self.conditions[1]

    @property
    def lines(self) -> list[PublishingComparisonRow]:
        """Budget by budget; nothing where no run proves the version."""
        if self.proof is None:
            return []
        base = evidence_cells(self.base_run) if self.base_run else {}
        steps = evidence_gain(self.proof, self.base_run) if self.base_run else {}
        return [
            PublishingComparisonRow(budget, cell, base.get(budget), steps.get(budget))
            for budget, cell in evidence_cells(self.proof).items()
        ]


def publishing_gate(
    row: ScoringProfileVersion, in_force: ScoringProfileVersion | None, *, adr_reference: str
) -> PublishingGate:
    """Return what `row` still needs if `adr_reference` argues it; inside a scope."""
    proof = proving_evaluation(row)
    runs = EvaluationRun.objects.for_tenant(row.tenant_id).without_details()
    base = in_force
    if base is None or base.version == row.version:
        base = scoring_profile_version(row.tenant_id, ADR_0040.name, ADR_0040.version)
    base_run: EvaluationRun | None = None
    if proof is not None:
        base_run = runs.proving_numbers(base.numbers).of_corpus(proof.corpus_sha256).newest_first().first()
    return PublishingGate(
        conditions=publishing_conditions(has_proof=proof is not None, adr_reference=adr_reference),
        proof=proof,
        running_evaluation=None if proof else runs.open().of_numbers(row.numbers).newest_first().first(),
        base_name=f"{base.name} {base.version}",
        base_run=base_run,
    )
