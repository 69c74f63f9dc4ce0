"""The orchestrator of a calibration: assemble every question with the profile and with all components (ADR-0081).

Every context is a preview through the real assembly, so nothing is counted. Called with no scope open.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import NAMESPACE_OID, UUID, uuid5

from context.evaluation.corpora import EvaluationCorpus, stage_questions
from context.evaluation.measurement import EvaluationQuestion, question_context
from context.evaluation.staging import EvaluationProgress, drop_staged_corpus, staged_run_ids
from context.services.evaluation.calibration import Calibration, Observation, calibrate, require_enough_questions
from context.services.evaluation.logistic import FOLDS, TooLittleDataError
from context.services.profiles.scoring_profiles import PART_NAMES, ScoringProfile
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput

_BY = Actor.system("fit_profile")
_STAGE = "calibration"
_BUDGETS = (250, 500, 1000, 2000, 4000)
#: Longer than any calibration takes: an older hidden tenant was left by a killed command.
CALIBRATION_LASTS = timedelta(hours=6)


def calibrate_profile(
    tenant_id: UUID, corpus: EvaluationCorpus, base: ScoringProfile, *, now: datetime, progress: EvaluationProgress
) -> Calibration:
    """Return the probability of being evidence among the candidates of `base`, fitted to the questions of `corpus`.

    A corpus is loaded into a hidden tenant and dropped again. Raises `InvalidInput` for too little data, or for a
    memory that cannot be stored.
    """
    # Too little evidence is refused before anything is loaded.
    evidence = [len(question.evidence) for question in corpus.all_questions]
    try:
        require_enough_questions(len(evidence), sum(evidence))
        drop_killed_calibrations(now=now)
        stage = uuid5(NAMESPACE_OID, f"{tenant_id} {corpus.sha256}")
        try:
            staged_id, questions = stage_questions(stage, tenant_id, corpus, now=now, progress=progress, stage=_STAGE)
            observations = _observed(staged_id, questions, base, progress)
        finally:
            if corpus.corpus is not None:
                drop_staged_corpus(stage, stage=_STAGE)
        evidence_counts = {question.id: len(question.evidence) for question in questions}
        return calibrate(observations, evidence_counts, _BUDGETS)
    except TooLittleDataError as error:
        raise InvalidInput(error.code, error.detail, "corpus") from error


def drop_killed_calibrations(*, now: datetime) -> int:
    """Drop the hidden tenants that killed commands left; return how many there were."""
    left = staged_run_ids(_STAGE, before=now - CALIBRATION_LASTS)
    return sum(drop_staged_corpus(run_id, stage=_STAGE) for run_id in left)


def _observed(
    tenant_id: UUID, questions: Sequence[EvaluationQuestion], base: ScoringProfile, progress: EvaluationProgress
) -> list[Observation]:
    same = {"max_tokens": _BUDGETS[-1], "explain": True}
    probe = with_all_components(base)
    partitions = {question.partition for question in questions}
    observations: list[Observation] = []
    for done, question in enumerate(questions, start=1):
        context = question_context(question, tenant_id, _BY, scoring=base, **same)
        scores = {row.anchor.id: row.score for row in context.candidates}
        group = question.partition if len(partitions) >= FOLDS else question.id
        observations += [
            Observation(
                question=question.id,
                group=group,
                memory=row.anchor.id,
                tokens=row.tokens,
                score=scores.get(row.anchor.id, 0.0),
                parts=row.score_breakdown,
                is_evidence=row.anchor.id in question.evidence,
            )
            for row in question_context(question, tenant_id, _BY, scoring=probe, **same).candidates
        ]
        progress("asking", done, len(questions))
    return observations


def with_all_components(base: ScoringProfile) -> ScoringProfile:
    """Return `base` with every component in the sum, so that each candidate reports all of them."""
    numbers = base.to_numbers() | {"weights": dict.fromkeys(PART_NAMES, 1 / len(PART_NAMES)), "recency_mode": "added"}
    return ScoringProfile.from_numbers(base.name, base.version, numbers | {"coefficients": None, "intercept": None})
