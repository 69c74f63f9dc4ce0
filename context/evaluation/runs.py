"""The orchestrator of an evaluation run: claim, load the corpus, ask every question, report (ADR-0080).

Each answer is stored when it is measured, so a worker may be killed at any step: the next one continues with the
questions that have no answer. Called with no scope open.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from context.evaluation.corpora import (
    EvaluationCorpus,
    evaluation_corpus_from_corpus,
    load_evaluation_corpus,
    stage_questions,
)
from context.evaluation.measurement import EvaluationQuestion, EvaluationSettings, measure_question
from context.evaluation.queries import EvaluationRunQuerySet
from context.evaluation.report import run_results
from context.evaluation.staging import EvaluationProgress, drop_staged_corpus, staged_run_ids
from context.models import EvaluationAnswer, EvaluationRun
from context.profiles.scoring_profiles import mark_drafts_evaluated
from context.services.evaluation.corpus import Corpus
from context.services.profiles.scoring_profiles import ScoringProfile
from memories.embeddings.embedders import embedder_of
from memories.embeddings.providers import EmbeddingError
from memories.services.time_limits import TimeIsUpError
from memories.tenancy.claims import claim_in_turn, next_waiting
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.queries.rows import LostClaimError
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memory_platform.observability.logs import log_place_of
from memory_platform.postgres.errors import UNAVAILABLE

logger = logging.getLogger(__name__)

#: Default budgets of a run, in tokens.
DEFAULT_EVALUATION_BUDGETS = (250, 500, 1000, 2000, 4000)
#: Maximum size of both files of an upload together.
UPLOAD_BYTES_MAX = 4 * 1024 * 1024
#: How long a claim lasts after its last update: much longer than one batch or one question takes.
_LEASE = timedelta(minutes=5)
#: How long one task works before it leaves the run to the next (tasks.py), well below its own limit.
SLICE = timedelta(minutes=3)
#: Maximum workers that may die during a run before it fails.
EVALUATION_ATTEMPTS_MAX = 5
#: Maximum runs of one tenant that workers execute at the same time.
TENANT_RUNS_MAX = 1
#: Answers are stored, and progress is shown, this often.
_WRITE_EVERY_SECONDS = 1.0
#: A younger run is probably still queued for a worker.
EVALUATION_RUN_GRACE = timedelta(seconds=60)
_RUNS_BATCH = 50
#: The steps of a run.
_READING, _ASKING, _REPORTING = "reading", "asking", "creating the report"


class EvaluationRunResult(NamedTuple):
    """The state of the run after a call: `queued` if it was returned, "" if another worker has it."""

    state: str = ""
    detail: str = ""


def run_evaluation(
    tenant_id: UUID,
    run_id: UUID,
    *,
    now: datetime,
    corpus: Corpus | None = None,
    time_limit: timedelta | None = None,
    progress: EvaluationProgress = lambda *_: None,
) -> EvaluationRunResult:
    """Start or continue a queued or abandoned run; do nothing if another worker has it.

    A run of a file needs its `corpus`. After `time_limit` the run returns to the queue. A run with one also waits
    while a worker has another run of the tenant, so that one tenant cannot occupy all workers (ADR-0127).
    """
    until = now + _LEASE
    with tenant_scope(tenant_id):
        rows = EvaluationRun.objects.for_tenant(tenant_id)
        claimed = (
            rows.claim(run_id, now=now, until=until)
            if time_limit is None
            else claim_in_turn(rows, tenant_id, run_id, now=now, until=until, most=TENANT_RUNS_MAX)
        )
        if not claimed:
            return EvaluationRunResult()
        run: EvaluationRun = rows.get(pk=run_id)
    claim = _Claim(run, now, time.monotonic(), until, time_limit, progress)
    try:
        return claim.evaluate(corpus)
    except LostClaimError:
        with tenant_scope(tenant_id):
            is_open = rows.with_id(run_id).open().exists()
        if not is_open:
            drop_staged_corpus(run_id)
        return EvaluationRunResult()
    except TimeIsUpError:
        with tenant_scope(tenant_id):
            is_claimed = claim.rows().return_to_queue()
        return EvaluationRunResult(EvaluationRun.State.QUEUED if is_claimed else "")
    except (PlatformError, EmbeddingError) as error:
        return claim.fail(getattr(error, "code", "embedder_unavailable"), error.detail)
    except UNAVAILABLE:
        raise  # the database is unreachable: another worker continues the run when the claim expires
    except KeyboardInterrupt:
        claim.fail("interrupted", "It was interrupted. You can resume it.")
        raise
    except Exception as error:  # noqa: BLE001 - a run ends in a defined state
        log_place_of(error, logger)
        return claim.fail("internal_error", "An internal error occurred.")


@dataclass
class _Claim:
    """A run that this worker may change until `until`, unless it is cancelled."""

    run: EvaluationRun
    now: datetime
    started: float
    until: datetime
    time_limit: timedelta | None
    progress: EvaluationProgress

    def clock(self) -> datetime:
        return self.now + timedelta(seconds=time.monotonic() - self.started)

    def rows(self) -> EvaluationRunQuerySet:
        """Return the run as a query; empty if the claim is lost."""
        return EvaluationRun.objects.for_tenant(self.run.tenant_id).claimed(self.run.pk, self.until)

    def write(self, **values: object) -> None:
        """Write to the run and extend the claim; inside a scope. Raises `LostClaimError`."""
        until = self.clock() + _LEASE
        self.rows().write(claimed_until=until, **values)
        self.until = until

    def show(self, step: str, done: int = 0, total: int = 0) -> None:
        with tenant_scope(self.run.tenant_id):
            self.write(step=step)
        self.progress(step, done, total)

    def fail(self, code: str, detail: str) -> EvaluationRunResult:
        """Store the reason; the answers are kept, so that a retry continues with the other questions."""
        logger.warning("evaluation %s failed: %s", self.run.pk, code)
        with tenant_scope(self.run.tenant_id):
            is_claimed = self.rows().finish("failed", self.clock(), code=code, detail=detail)
        drop_staged_corpus(self.run.pk)
        return EvaluationRunResult(EvaluationRun.State.FAILED if is_claimed else "", detail)

    def evaluate(self, file_corpus: Corpus | None) -> EvaluationRunResult:
        run = self.run
        if run.attempts > EVALUATION_ATTEMPTS_MAX:
            raise InvalidInput("too_many_attempts", "Workers died repeatedly during this run.")
        self.show(_READING)
        corpus = evaluation_corpus_from_corpus(file_corpus) if file_corpus else None
        corpus = corpus or load_evaluation_corpus(run, now=self.clock())
        answered = self._begin(corpus)
        model = run.embedder_model if run.corpus_kind == EvaluationRun.Corpus.GOLDEN_COPY else ""
        tenant_id, questions = stage_questions(
            run.pk, run.tenant_id, corpus, now=self.clock(), progress=self.show, model=model
        )
        profile = ScoringProfile.from_numbers(run.profile_name, run.profile_version, run.profile_numbers)
        with tenant_scope(run.tenant_id):
            self.write(embedder_model=embedder_of(tenant_id).name)
        self._ask(EvaluationSettings(tenant_id, profile, run.packer, run.ordering, run.budgets), questions, answered)
        return self._finish()

    def _begin(self, corpus: EvaluationCorpus) -> set[str]:
        """Return the answered questions; none if the corpus changed since, for which all are deleted."""
        run = self.run
        is_changed = run.corpus_sha256 != corpus.sha256
        if is_changed:
            drop_staged_corpus(run.pk)
        with tenant_scope(run.tenant_id):
            answers = EvaluationAnswer.objects.for_tenant(run.tenant_id).of_run(run.pk)
            if is_changed:
                answers.delete()
            answered = answers.question_ids()
            counts = {"total": len(corpus.all_questions), "done": len(answered)}
            started_at = run.started_at or self.clock()
            self.write(corpus_sha256=corpus.sha256, corpus_name=corpus.name, started_at=started_at, **counts)
        return answered

    def _ask(self, settings: EvaluationSettings, questions: Sequence[EvaluationQuestion], answered: set[str]) -> None:
        done, unsaved, saved_at = len(answered), list[EvaluationAnswer](), time.monotonic()
        own = {"tenant_id": self.run.tenant_id, "run_id": self.run.pk}
        self.progress(_ASKING, done, len(questions))
        for position, question in enumerate(questions):
            if question.id in answered:
                continue
            values = {"position": position, "question_id": question.id, "category": question.category[:64]}
            measures = measure_question(question, settings)
            unsaved.append(EvaluationAnswer(**own, **values, measures=measures))
            if time.monotonic() - saved_at >= _WRITE_EVERY_SECONDS:
                done = self._save_answers(unsaved, done, len(questions))
                unsaved, saved_at = [], time.monotonic()
                if self.time_limit is not None and self.clock() > self.now + self.time_limit:
                    raise TimeIsUpError
        self._save_answers(unsaved, done, len(questions))

    def _save_answers(self, answers: list[EvaluationAnswer], done: int, total: int) -> int:
        done += len(answers)
        with tenant_scope(self.run.tenant_id):
            self.write(step=_ASKING, done=done)
            EvaluationAnswer.objects.bulk_create(answers)
        self.progress(_ASKING, done, total)
        return done

    def _finish(self) -> EvaluationRunResult:
        run = self.run
        self.show(_REPORTING)
        with tenant_scope(run.tenant_id):
            answers = list(EvaluationAnswer.objects.for_tenant(run.tenant_id).of_run(run.pk).in_order())
        results = run_results(answers, run.budgets)
        with tenant_scope(run.tenant_id):
            self.write(results=results)
            self.rows().finish("done", self.clock())
            mark_drafts_evaluated(EvaluationRun.objects.for_tenant(run.tenant_id).get(pk=run.pk))
        drop_staged_corpus(run.pk)
        return EvaluationRunResult(EvaluationRun.State.DONE)


def next_evaluation_run(tenant_id: UUID, *, now: datetime) -> EvaluationRun | None:
    """Return the tenant's run that has waited longest for a worker."""
    rows = EvaluationRun.objects.for_tenant(tenant_id).exclude(corpus_kind=EvaluationRun.Corpus.FILE)
    run: EvaluationRun | None = next_waiting(rows.without_details(), tenant_id, now=now)
    return run


def abandoned_evaluation_runs(*, now: datetime) -> list[EvaluationRun]:
    """Return unclaimed runs that a worker can continue; fail those that only their command can."""
    with maintenance_scope():
        runs = EvaluationRun.objects.abandoned(now).older_than(now - EVALUATION_RUN_GRACE).without_details()
        abandoned: list[EvaluationRun] = list(runs.first_of_each_tenant(TENANT_RUNS_MAX)[:_RUNS_BATCH])
    for run in abandoned:
        if run.corpus_kind == EvaluationRun.Corpus.FILE:
            detail = f"The command ended before the run. Resume it with manage.py evaluate --resume {run.pk}."
            with tenant_scope(run.tenant_id):
                rows = EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk)
                rows.abandoned(now).finish("failed", now, code="abandoned", detail=detail)
    return [run for run in abandoned if run.corpus_kind != EvaluationRun.Corpus.FILE]


def drop_unused_stages() -> int:
    """Drop the hidden tenants of closed or deleted runs; return how many there were."""
    staged = staged_run_ids()
    if not staged:
        return 0
    with maintenance_scope():
        needed = set(EvaluationRun.objects.with_ids(staged).open().values_list("pk", flat=True))
    return sum(drop_staged_corpus(run_id) for run_id in staged if run_id not in needed)
