"""All background jobs of a tenant in one list, newest first, page by page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from compaction.models import Run
from context.models import EvaluationRun
from memories.models import EmbeddingModel, MissingVector
from memories.tenancy.queries.rows import TenantRows
from memory_platform.web.numerals import counted

UNFINISHED, _FAILED, _DONE = "unfinished", "failed", "done"
JOB_STATES = (("", "All"), (UNFINISHED, "Unfinished"), (_FAILED, "Failed"), (_DONE, "Done"))
ALL_RUNS = "runs"
JOB_KINDS = (
    ("", "All"),
    (ALL_RUNS, "Compactions and roll-ups"),
    ("compaction", "Compactions"),
    ("roll_up", "Roll-ups"),
    ("evaluation", "Evaluations"),
    ("embedding_model", "Re-embedding"),
)

#: By state, the rows in it.
Chooser = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Job:
    """A background job. `done_count` of `total_count` are done, in `unit`; an empty address offers no action."""

    pk: UUID
    kind: str
    title: str
    address: str
    state: str
    created_at: datetime
    finished_at: datetime | None = None
    is_open: bool = False
    partition: str | None = None
    requested_by: str = ""
    step: str = ""
    attempts: int | None = None
    error_code: str = ""
    error_detail: str = ""
    done_count: int = 0
    total_count: int = 0
    unit: str = ""
    retry_address: str = ""
    cancel_address: str = ""
    is_for_admins: bool = False
    started_at: datetime | None = None

    @property
    def percent(self) -> float:
        """The progress from 0 to 100."""
        return round(100 * self.done_count / self.total_count, 1) if self.total_count else 0.0

    @property
    def took_milliseconds(self) -> float | None:
        """The time from start to end; None where one of the two is unknown."""
        if self.started_at is None or self.finished_at is None or self.finished_at <= self.started_at:
            return None
        return (self.finished_at - self.started_at).total_seconds() * 1000


@dataclass(frozen=True)
class JobSource:
    """Where some kinds of jobs are stored: their rows, the column of their creation time, and a row as a job."""

    rows: TenantRows
    created_column: str
    as_job: Callable[[Any], Job]

    def page(self, ordering: str, **cursor: Any) -> list[Job]:
        rows = self.rows.page(ordering.replace("created_at", self.created_column), **cursor)
        return [self.as_job(row) for row in rows]


def read_job_page(
    tenant_id: UUID, kind: str, state: str, ordering: str, *, after: Any = None, is_backward: bool = False, count: int
) -> list[Job]:
    """Return `count` jobs after a cursor, merged from all sources; inside a scope. At most five queries."""
    cursor = {"after": after, "is_backward": is_backward, "count": count}
    jobs = [job for source in _sources(tenant_id, kind, state) for job in source.page(ordering, **cursor)]
    is_descending = ordering.startswith("-") != is_backward
    jobs.sort(key=lambda job: job.pk, reverse=not is_descending)
    jobs.sort(key=lambda job: job.created_at, reverse=is_descending)
    return jobs[:count]


def _sources(tenant_id: UUID, kind: str, state: str) -> Iterable[JobSource]:
    if kind in {"", ALL_RUNS, "compaction", "roll_up"}:
        runs = Run.objects.for_tenant(tenant_id).with_titled_targets()
        runs = runs.of_kind(kind) if kind in Run.Kind.values else runs
        states: Chooser = {
            UNFINISHED: runs.open,
            _FAILED: runs.still_failed,
            _DONE: partial(runs.in_state, Run.State.DONE),
        }
        yield JobSource(_in_state(runs, states, state), "created_at", _run_job)
    if kind in {"", "evaluation"}:
        evaluations = EvaluationRun.objects.for_tenant(tenant_id).without_results()
        states = {
            UNFINISHED: evaluations.open,
            _FAILED: partial(evaluations.in_state, EvaluationRun.State.FAILED),
            _DONE: partial(evaluations.in_state, EvaluationRun.State.DONE, EvaluationRun.State.CANCELLED),
        }
        yield JobSource(_in_state(evaluations, states, state), "created_at", _evaluation_job)
    if kind in {"", "embedding_model"}:
        models = EmbeddingModel.objects.for_tenant(tenant_id).asked_for()
        states = {UNFINISHED: models.in_motion, _FAILED: models.failing, _DONE: models.at_rest}
        missing = MissingVector.objects.for_tenant(tenant_id).tally()
        yield JobSource(_in_state(models, states, state), "started_at", partial(_model_job, missing))


def _in_state(rows: TenantRows, states: Chooser, state: str) -> TenantRows:
    return states[state]() if state else rows


def _run_job(run: Run) -> Job:
    is_open = run.state in (Run.State.QUEUED, Run.State.RUNNING)
    if run.session is not None:
        title, partition = f"Compaction of “{run.session.title}”", run.session.partition_path
        address = reverse("compaction", args=[run.tenant_id, run.compaction_id])
    else:
        title, partition = f"Roll-up, {run.style}", run.partition.path if run.partition else ""
        address = f"{reverse('partitions', args=[run.tenant_id])}?{urlencode({'partition': partition})}"
    can_retry = run.state == Run.State.FAILED
    return Job(
        pk=run.pk,
        kind=run.kind,
        title=title,
        address=address,
        state=run.state,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        is_open=is_open,
        partition=partition,
        requested_by=run.requested_by,
        step=run.step if is_open else "",
        attempts=run.attempts,
        error_code=run.error_code,
        error_detail=run.error_detail,
        retry_address=reverse("run-retry", args=[run.tenant_id, run.pk]) if can_retry else "",
    )


def _evaluation_job(run: EvaluationRun) -> Job:
    at = partial(reverse, args=[run.tenant_id, run.pk])
    can_retry = run.state in (EvaluationRun.State.FAILED, EvaluationRun.State.CANCELLED)
    return Job(
        pk=run.pk,
        kind="evaluation",
        title=f"Evaluation of {run.corpus_name} with {run.profile_name}",
        address=at("evaluation"),
        state=run.state,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        is_open=run.is_open,
        requested_by=run.created_by,
        step=run.step if run.is_open else "",
        attempts=run.attempts,
        error_code=run.error_code,
        error_detail=run.error_detail,
        done_count=run.done,
        total_count=run.total,
        unit="questions",
        retry_address=at("evaluation-retry") if can_retry else "",
        cancel_address=at("evaluation-cancel") if run.is_open else "",
    )


def _model_job(missing: Mapping[UUID, tuple[int, int]], model: EmbeddingModel) -> Job:
    waiting, refused = missing.get(model.pk, (0, 0))
    address = reverse("embeddings", args=[model.tenant_id])
    is_filling = model.state == EmbeddingModel.State.FILLING
    is_retiring = model.state == EmbeddingModel.State.RETIRING
    is_open = is_filling or is_retiring
    error = f"{counted(refused, 'text was', 'texts were')} rejected." if refused else model.error
    return Job(
        pk=model.pk,
        kind="embedding_model",
        title=f"Vectors of {model.name} {'are removed' if is_retiring else 'for every memory'}",
        address=address,
        state="failed" if error else ("running" if is_open else "done"),
        created_at=model.started_at,
        started_at=model.started_at,
        finished_at=model.retired_at if is_retiring else model.filled_at,
        is_open=is_open,
        requested_by=model.requested_by,
        error_detail=error,
        done_count=max(model.needed - waiting - refused, 0),
        total_count=model.needed if is_filling else 0,
        unit="vectors",
        retry_address=reverse("embedding-retry", args=[model.tenant_id, model.pk]) if refused else "",
        is_for_admins=True,
    )


def is_any_open(jobs: Sequence[Job]) -> bool:
    """Return whether some job is unfinished, so that the list changes."""
    return any(job.is_open for job in jobs)
