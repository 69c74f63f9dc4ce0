"""The conductor of an evaluation: claim -> read the corpus -> stage it -> ask every question -> sum up (ADR-0080).

Each answer is written when it is there, so that a worker may be killed at any step: whoever takes the run over goes on
with the questions that have none. Called with no scope open.
"""

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from django.db import OperationalError

from context.evaluation.corpora import EvaluationCorpus, evaluation_corpus_from_corpus, load_evaluation_corpus
from context.evaluation.measurement import EvaluationQuestion, EvaluationSettings, measure_question
from context.evaluation.queries import EvaluationRunQuerySet
from context.evaluation.report import run_results
from context.evaluation.staging import drop_staged_corpus, load_staged_corpus, staged_run_ids
from context.models import EvaluationAnswer, EvaluationRun
from context.profiles.scoring_profiles import mark_drafts_evaluated
from context.services.evaluation.corpus import Corpus
from context.services.profiles.scoring_profiles import ScoringProfile
from memories.embeddings.embedders import embedder_of
from memories.embeddings.providers import EmbeddingError
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import maintenance_scope, tenant_scope

logger = logging.getLogger(__name__)

#: Tokens at which a corpus is asked where nobody says otherwise.
DEFAULT_EVALUATION_BUDGETS = (250, 500, 1000, 2000, 4000)
#: Of both files of an upload together.
UPLOAD_BYTES_MAX = 4 * 1024 * 1024
#: How long a claim holds after its last sign of life: much longer than loading one batch, or asking one question.
_LEASE = timedelta(minutes=5)
#: How long one task works before it hands the run to the next (tasks.py), well below its own limit.
SLICE = timedelta(minutes=3)
#: Workers that may die over a run before it is given up.
EVALUATION_ATTEMPTS_MAX = 5
#: Answers are written, and progress is shown, this often.
_WRITE_EVERY_SECONDS = 1.0
#: A run this young is most likely on its way to a worker.
RUN_GRACE = timedelta(seconds=60)
_RUNS_BATCH = 50

READING, _LOADING, _ASKING, SUMMING_UP = "reading", "loading", "asking", "summing up"


class EvaluationProgress(Protocol):
    """Called with what is being done, and how much of how much of it is."""

    def __call__(self, step: str, done: int, total: int) -> None: ...


def _silent(step: str, done: int, total: int) -> None:
    """The progress of a run that nobody waits for."""


@dataclass(frozen=True)
class EvaluationRunResult:
    """What came of a call: the state of the run, or "" where somebody else has it; `queued` was given back."""

    state: str = ""
    detail: str = ""


@dataclass
class _Claim:
    """A run that is ours until then, if nobody cancels it."""

    run: EvaluationRun
    until: datetime
    clock: Callable[[], datetime]
    deadline: datetime | None
    progress: EvaluationProgress


class _LostClaimError(Exception):
    """The run was cancelled or deleted, or somebody took it over."""


class _TimeIsUpError(Exception):
    """The next task goes on with it."""


def run_evaluation(
    tenant_id: UUID,
    run_id: UUID,
    *,
    now: datetime,
    corpus: Corpus | None = None,
    time_limit: timedelta | None = None,
    progress: EvaluationProgress = _silent,
) -> EvaluationRunResult:
    """Do a queued or abandoned run, or go on with it; does nothing where somebody else has it.

    `corpus` is what a run of a file asks. After `time_limit` the run is given back, to be gone on with.
    """
    claim = _claimed(tenant_id, run_id, now, time_limit, progress)
    if claim is None:
        return EvaluationRunResult()
    try:
        return _worked(claim, corpus)
    except _LostClaimError:
        _drop_unless_open(tenant_id, run_id)
        return EvaluationRunResult()
    except _TimeIsUpError:
        return _given_back(claim)
    except (PlatformError, EmbeddingError) as error:
        return _failed(claim, getattr(error, "code", "embedder_unavailable"), error.detail)
    except OperationalError:
        raise  # the database is away: the run is taken up again once the claim lapses
    except KeyboardInterrupt:
        _failed(claim, "interrupted", "It was interrupted; it can go on where it stopped.")
        raise
    except Exception as error:  # noqa: BLE001 - a run ends in a defined state
        # its message may quote what somebody wrote
        place = traceback.extract_tb(error.__traceback__)[-1]
        logger.error("%s in %s:%s", type(error).__name__, place.filename, place.lineno)
        return _failed(claim, "internal_error", "It broke in a way that nobody foresaw.")


def abandoned_evaluation_runs(*, now: datetime) -> list[EvaluationRun]:
    """Runs that a worker can go on with and nobody holds. What only its command can go on with has failed then."""
    with maintenance_scope():
        runs = EvaluationRun.objects.abandoned(now).older_than(now - RUN_GRACE).without_details()
        found: list[EvaluationRun] = list(runs[:_RUNS_BATCH])
    for run in found:
        if run.corpus_kind == EvaluationRun.Corpus.FILE:
            _fail_unheld(run, now)
    return [run for run in found if run.corpus_kind != EvaluationRun.Corpus.FILE]


def drop_unused_stages() -> int:
    """Drop the hidden tenants of runs that are over or gone; how many there were."""
    staged = staged_run_ids()
    if not staged:
        return 0
    with maintenance_scope():
        needed = set(EvaluationRun.objects.with_ids(staged).open().values_list("pk", flat=True))
    return sum(drop_staged_corpus(run_id) for run_id in staged if run_id not in needed)


def _fail_unheld(run: EvaluationRun, now: datetime) -> None:
    detail = f"The command ended before it was done. manage.py evaluate with --resume {run.pk} goes on with it."
    with tenant_scope(run.tenant_id):
        rows = EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk)
        rows.abandoned(now).ended("failed", now, code="abandoned", detail=detail)


def _claimed(
    tenant_id: UUID, run_id: UUID, now: datetime, time_limit: timedelta | None, progress: EvaluationProgress
) -> _Claim | None:
    started = time.monotonic()

    def clock() -> datetime:
        return now + timedelta(seconds=time.monotonic() - started)

    until = now + _LEASE
    with tenant_scope(tenant_id):
        rows = EvaluationRun.objects.for_tenant(tenant_id)
        if not rows.claim(run_id, now=now, until=until):
            return None
        run: EvaluationRun = rows.get(pk=run_id)
    return _Claim(run, until, clock, None if time_limit is None else now + time_limit, progress)


def _worked(claim: _Claim, corpus: Corpus | None) -> EvaluationRunResult:
    if claim.run.attempts > EVALUATION_ATTEMPTS_MAX:
        raise InvalidInput("too_many_attempts", "Workers died over this again and again.")
    _show(claim, READING, 0, 0)
    material = (
        evaluation_corpus_from_corpus(corpus)
        if corpus is not None
        else load_evaluation_corpus(claim.run, now=claim.clock())
    )
    answered = _begun(claim, material)
    tenant_id, questions = _staged(claim, material)
    profile = ScoringProfile.from_numbers(claim.run.profile_name, claim.run.profile_version, claim.run.profile_numbers)
    with tenant_scope(claim.run.tenant_id):
        _hold(claim, embedder_model=embedder_of(tenant_id).name)
    setting = EvaluationSettings(tenant_id, profile, claim.run.packer, claim.run.ordering, claim.run.budgets)
    _ask_all(claim, setting, questions, answered)
    return _summed_up(claim)


def _begun(claim: _Claim, material: EvaluationCorpus) -> set[str]:
    """The questions that have an answer; none where the corpus is no longer the one that they were of."""
    run = claim.run
    if run.corpus_sha256 != material.sha256:
        drop_staged_corpus(run.pk)
    with tenant_scope(run.tenant_id):
        answers = EvaluationAnswer.objects.for_tenant(run.tenant_id).of_run(run.pk)
        if run.corpus_sha256 != material.sha256:
            answers.delete()
        answered = answers.question_ids()
        _hold(
            claim,
            corpus_sha256=material.sha256,
            corpus_name=material.name,
            total=material.size,
            done=len(answered),
            started_at=run.started_at or claim.clock(),
        )
    return answered


def _staged(claim: _Claim, material: EvaluationCorpus) -> tuple[UUID, Sequence[EvaluationQuestion]]:
    """The tenant to ask, and the questions with its rows."""
    if material.corpus is None:
        return claim.run.tenant_id, material.asked({})
    total = len(material.corpus.memories)
    _show(claim, _LOADING, 0, total)
    tenant_id, ids = load_staged_corpus(
        claim.run.pk, material.corpus, now=claim.clock(), loaded=lambda done: _show(claim, _LOADING, done, total)
    )
    return tenant_id, material.asked(ids)


def _ask_all(
    claim: _Claim, setting: EvaluationSettings, questions: Sequence[EvaluationQuestion], answered: set[str]
) -> None:
    done, waiting = len(answered), []
    written = time.monotonic()
    claim.progress(_ASKING, done, len(questions))
    for position, question in enumerate(questions):
        if question.id in answered:
            continue
        waiting.append(_answer(claim.run, position, question, setting))
        if time.monotonic() - written >= _WRITE_EVERY_SECONDS:
            done += _write(claim, waiting, done, len(questions))
            waiting, written = [], time.monotonic()
            if claim.deadline is not None and claim.clock() > claim.deadline:
                raise _TimeIsUpError
    _write(claim, waiting, done, len(questions))


def _answer(
    run: EvaluationRun, position: int, question: EvaluationQuestion, setting: EvaluationSettings
) -> EvaluationAnswer:
    return EvaluationAnswer(
        tenant_id=run.tenant_id,
        run_id=run.pk,
        position=position,
        question_id=question.id,
        category=question.category[:64],
        measures=measure_question(question, setting),
    )


def _write(claim: _Claim, answers: list[EvaluationAnswer], done: int, total: int) -> int:
    with tenant_scope(claim.run.tenant_id):
        _hold(claim, step=_ASKING, done=done + len(answers))
        EvaluationAnswer.objects.bulk_create(answers)
    claim.progress(_ASKING, done + len(answers), total)
    return len(answers)


def _show(claim: _Claim, step: str, done: int, total: int) -> None:
    with tenant_scope(claim.run.tenant_id):
        _hold(claim, step=step)
    claim.progress(step, done, total)


def _hold(claim: _Claim, **values: object) -> None:
    """Write to the run and hold it for longer; inside a scope. Raises `_LostClaimError` where it is not ours."""
    until = claim.clock() + _LEASE
    if not _held(claim).update(claimed_until=until, **values):
        raise _LostClaimError
    claim.until = until


def _summed_up(claim: _Claim) -> EvaluationRunResult:
    run = claim.run
    _show(claim, SUMMING_UP, 0, 0)
    with tenant_scope(run.tenant_id):
        answers = list(EvaluationAnswer.objects.for_tenant(run.tenant_id).of_run(run.pk).in_order())
    results = run_results(answers, run.budgets)
    with tenant_scope(run.tenant_id):
        _hold(claim, results=results)
        _held(claim).ended("done", claim.clock())
        mark_drafts_evaluated(EvaluationRun.objects.for_tenant(run.tenant_id).get(pk=run.pk))
    drop_staged_corpus(run.pk)
    return EvaluationRunResult(EvaluationRun.State.DONE)


def _held(claim: _Claim) -> EvaluationRunQuerySet:
    return EvaluationRun.objects.for_tenant(claim.run.tenant_id).held(claim.run.pk, claim.until)


def _given_back(claim: _Claim) -> EvaluationRunResult:
    """Give the run back, for the next task to go on with; its rows stay where they are."""
    with tenant_scope(claim.run.tenant_id):
        is_held = _held(claim).given_back()
    return EvaluationRunResult(EvaluationRun.State.QUEUED if is_held else "")


def _failed(claim: _Claim, code: str, detail: str) -> EvaluationRunResult:
    """Note why; what was answered stays, so that another try goes on from there."""
    logger.warning("evaluation %s failed: %s", claim.run.pk, code)
    with tenant_scope(claim.run.tenant_id):
        is_held = _held(claim).ended("failed", claim.clock(), code=code, detail=detail)
    drop_staged_corpus(claim.run.pk)
    return EvaluationRunResult(EvaluationRun.State.FAILED if is_held else "", detail)


def _drop_unless_open(tenant_id: UUID, run_id: UUID) -> None:
    with tenant_scope(tenant_id):
        is_open = EvaluationRun.objects.for_tenant(tenant_id).with_id(run_id).open().exists()
    if not is_open:
        drop_staged_corpus(run_id)
