"""The gate before a version of a scoring profile: conditions, and what was measured (ADR-0084)."""

from collections.abc import Sequence
from dataclasses import dataclass

from context.evaluation.report import ReportRow, evidence_rows
from context.models import EvaluationRun, ScoringProfileVersion
from context.profiles.scoring_profiles import proving_evaluation, scoring_profile_version
from context.services.profiles.publishing import PublishingCondition, publishing_conditions
from context.services.profiles.scoring_profiles import ADR_0040


@dataclass(frozen=True)
class PublishingGate:
    """What publishing a version needs, and its evidence recall (`lines`) beside that of the version it would replace.

    `base_run` is the run of that version on the same corpus. Without a `proof` nothing is compared.
    """

    evaluation: PublishingCondition
    decision: PublishingCondition
    proof: EvaluationRun | None
    running_evaluation: EvaluationRun | None
    base_name: str
    base_run: EvaluationRun | None
    lines: Sequence[ReportRow]

    @property
    def missing(self) -> list[PublishingCondition]:
        return [condition for condition in (self.evaluation, self.decision) if not condition.is_met]

    @property
    def is_open(self) -> bool:
        return not self.missing


def publishing_gate(
    row: ScoringProfileVersion, active: ScoringProfileVersion | None, *, adr_reference: str
) -> PublishingGate:
    """Return what `row` still needs if `adr_reference` argues it; inside a scope."""
    proof = proving_evaluation(row)
    runs = EvaluationRun.objects.for_tenant(row.tenant_id).without_details().newest_first()
    base = active
    if base is None or base.version == row.version:
        base = scoring_profile_version(row.tenant_id, ADR_0040.name, ADR_0040.version)
    base_run = runs.proving_numbers(base.numbers).of_corpus(proof.corpus_sha256).first() if proof else None
    evaluation, decision = publishing_conditions(has_proof=proof is not None, adr_reference=adr_reference)
    return PublishingGate(
        evaluation=evaluation,
        decision=decision,
        proof=proof,
        running_evaluation=None if proof else runs.open().of_numbers(row.numbers).first(),
        base_name=f"{base.name} {base.version}",
        base_run=base_run,
        lines=evidence_rows(proof, base_run) if proof else [],
    )
