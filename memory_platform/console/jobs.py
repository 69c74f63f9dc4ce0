"""All background jobs of a tenant in one list, newest first, and notifications of finished ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.urls import reverse

from compaction.models import Compaction, Run
from context.models import EvaluationRun
from memories.models import EmbeddingModel, Memory, MissingVector
from memories.tenancy.queries.rows import TenantRows
from memories.tenancy.scopes import tenant_scope
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


@dataclass(frozen=True)
class Job:
    """A background job. `done_count` of `total_count` are done, in `unit`; an empty URL offers no action."""

    pk: UUID
    title: str
    address: str
    state: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    is_open: bool
    requested_by: str
    partition: str | None = None
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

    @property
    def took_milliseconds(self) -> float | None:
        """Return the milliseconds from start to end; None if one of them is unknown."""
        if self.started_at is None or self.finished_at is None or self.finished_at <= self.started_at:
            return None
        return (self.finished_at - self.started_at).total_seconds() * 1000


def read_job_page(
    tenant_id: UUID, kind: str, state: str, ordering: str, *, after: Any = None, is_backward: bool = False, count: int
) -> list[Job]:
    """Return `count` jobs after a cursor, merged from all sources; inside a scope. At most five queries."""
    jobs: list[Job] = []
    for rows, created_column, as_job in _sources(tenant_id, kind, state):
        order = ordering.replace("created_at", created_column)
        jobs += map(as_job, rows.page(order, after=after, is_backward=is_backward, count=count))
    is_descending = ordering.startswith("-") != is_backward
    jobs.sort(key=lambda job: job.pk, reverse=not is_descending)
    jobs.sort(key=lambda job: job.created_at, reverse=is_descending)
    return jobs[:count]


def _sources(tenant_id: UUID, kind: str, state: str) -> Iterable[tuple[TenantRows, str, Callable[[Any], Job]]]:
    """Yield, for each table of jobs, its rows, the creation-time column and the condition that makes a row a job."""
    if kind in {"", ALL_RUNS, "compaction", "roll_up"}:
        runs = Run.objects.for_tenant(tenant_id).with_titled_targets()
        runs = runs.of_kind(kind) if kind in Run.Kind.values else runs
        done = runs.in_state(Run.State.DONE)
        chosen = {"": runs, UNFINISHED: runs.open(), _FAILED: runs.still_failed(), _DONE: done}
        yield chosen[state], "created_at", _run_job
    if kind in {"", "evaluation"}:
        evaluations = EvaluationRun.objects.for_tenant(tenant_id).without_results()
        failed = evaluations.in_state(EvaluationRun.State.FAILED)
        ended = evaluations.in_state(EvaluationRun.State.DONE, EvaluationRun.State.CANCELLED)
        by_state = {"": evaluations, UNFINISHED: evaluations.open(), _FAILED: failed, _DONE: ended}
        yield by_state[state], "created_at", _evaluation_job
    if kind in {"", "embedding_model"}:
        models = EmbeddingModel.objects.for_tenant(tenant_id).requested()
        missing = MissingVector.objects.for_tenant(tenant_id).counts_by_model()
        in_state = {"": models, UNFINISHED: models.in_progress(), _FAILED: models.failing(), _DONE: models.idle()}
        yield in_state[state], "started_at", partial(_model_job, missing)


def _run_address(run: Run) -> str:
    if run.compaction_id:
        return reverse("compaction", args=[run.tenant_id, run.compaction_id])
    path = run.partition.path if run.partition else ""
    return reverse("partitions", args=[run.tenant_id], query={"partition": path})


def _run_job(run: Run) -> Job:
    if run.session is not None:
        title, partition = f"Compaction of “{run.session.title}”", run.session.partition_path
    else:
        title, partition = f"Roll-up, {run.style}", run.partition.path if run.partition else ""
    return _as_job(
        run,
        title=title,
        address=_run_address(run),
        is_open=run.state in (Run.State.QUEUED, Run.State.RUNNING),
        partition=partition,
        requested_by=run.requested_by,
        retry_address=reverse("run-retry", args=[run.tenant_id, run.pk]) if run.state == Run.State.FAILED else "",
    )


def _evaluation_job(run: EvaluationRun) -> Job:
    at = partial(reverse, args=[run.tenant_id, run.pk])
    can_retry = run.state in (EvaluationRun.State.FAILED, EvaluationRun.State.CANCELLED)
    return _as_job(
        run,
        title=f"Evaluation of {run.corpus_name} with {run.profile_name}",
        address=at("evaluation"),
        is_open=run.is_open,
        requested_by=run.created_by,
        done_count=run.done,
        total_count=run.total,
        unit="questions",
        retry_address=at("evaluation-retry") if can_retry else "",
        cancel_address=at("evaluation-cancel") if run.is_open else "",
    )


def _as_job(run: Run | EvaluationRun, **own: Any) -> Job:
    same = ("pk", "state", "created_at", "started_at", "finished_at", "step", "attempts", "error_code", "error_detail")
    return Job(**{name: getattr(run, name) for name in same}, **own)


def _model_job(missing: Mapping[UUID, tuple[int, int]], model: EmbeddingModel) -> Job:
    waiting, refused = missing.get(model.pk, (0, 0))
    is_filling = model.state == EmbeddingModel.State.FILLING
    is_retiring = model.state == EmbeddingModel.State.RETIRING
    error = f"{counted(refused, 'text was', 'texts were')} rejected." if refused else model.error
    return Job(
        pk=model.pk,
        title=f"Vectors of {model.name} {'are removed' if is_retiring else 'for every memory'}",
        address=reverse("embeddings", args=[model.tenant_id]),
        state="failed" if error else ("running" if is_filling or is_retiring else "done"),
        created_at=model.started_at,
        started_at=model.started_at,
        finished_at=model.retired_at if is_retiring else model.filled_at,
        is_open=is_filling or is_retiring,
        requested_by=model.requested_by,
        error_detail=error,
        done_count=max(model.needed - waiting - refused, 0),
        total_count=model.needed if is_filling else 0,
        unit="vectors",
        retry_address=reverse("embedding-retry", args=[model.tenant_id, model.pk]) if refused else "",
        is_for_admins=True,
    )


# --- Notifications (ADR-0085) -----------------------------------------------------------------------------------------

#: Maximum jobs in one request; the browser requests no more.
WATCHED_MAX = 20


@dataclass(frozen=True)
class JobNotification:
    """The result of a finished job and its page; `is_shown_by_page` if that page already shows the result."""

    text: str
    url: str
    is_failed: bool = False
    is_shown_by_page: bool = False


#: By the id of each existing row: its notification, None while the job is unfinished.
Outcomes = Mapping[UUID, JobNotification | None]


def read_job_notifications(texts: Iterable[str], tenant_ids: Iterable[UUID]) -> dict[str, JobNotification | None]:
    """Return notifications of these tenants' jobs by `kind:tenant:id:once`; at most two queries a kind and tenant."""
    own, grouped = set(tenant_ids), dict[tuple[UUID, str], dict[str, UUID]]()
    for text in texts:
        try:
            kind, tenant, row, _ = text.split(":")
            tenant_id, row_id = UUID(tenant), UUID(row)
        except ValueError:
            continue
        if kind in _KINDS and tenant_id in own:
            grouped.setdefault((tenant_id, kind), {})[text] = row_id
    notifications: dict[str, JobNotification | None] = {}
    for (tenant_id, kind), ids in grouped.items():
        with tenant_scope(tenant_id):
            outcomes = _KINDS[kind](tenant_id, list(ids.values()))
        notifications |= {text: outcomes[row_id] for text, row_id in ids.items() if row_id in outcomes}
    return notifications


def _runs(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    rows = Run.objects.for_tenant(tenant_id).with_ids(ids).with_targets()
    return {row.pk: _run_notification(row) for row in rows}


def _run_notification(run: Run) -> JobNotification | None:
    if run.state in (Run.State.QUEUED, Run.State.RUNNING):
        return None
    is_failed = run.state == Run.State.FAILED
    if run.compaction is not None:
        text = _compaction_text(run.compaction, is_failed=is_failed)
        return JobNotification(text, _run_address(run), is_failed, is_shown_by_page=True)
    path = run.partition.path if run.partition else ""
    done = "was not created" if is_failed else "is regenerated"
    return JobNotification(f"The {run.style} summary of {path} {done}.", _run_address(run), is_failed)


def _compaction_text(compaction: Compaction, *, is_failed: bool) -> str:
    if is_failed:
        return "Compaction failed. The session did not change."
    if compaction.state == Compaction.State.PROPOSED:
        return "A compaction is ready for review."
    if compaction.state == Compaction.State.APPLIED:
        before = counted(compaction.tokens_before, "token", "tokens")
        lost = " A constraint is missing: review it." if compaction.has_lost_constraint else ""
        doubtful = " It contains a possible instruction: review it." if compaction.has_possible_instruction else ""
        return f"Session compacted: {before} to {compaction.tokens_after:,}.{lost or doubtful}"
    return "Compaction done."


def _evaluations(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    outcomes: dict[UUID, JobNotification | None] = {}
    for run in EvaluationRun.objects.for_tenant(tenant_id).with_ids(ids).without_details():
        profile = f" of {run.profile_name}" if run.state == EvaluationRun.State.DONE else ""
        text = f"Evaluation{profile} on {run.corpus_name} {run.state}."
        url = reverse("evaluation", args=[tenant_id, run.pk])
        is_failed = run.state == EvaluationRun.State.FAILED
        outcomes[run.pk] = None if run.is_open else JobNotification(text, url, is_failed, is_shown_by_page=True)
    return outcomes


def _embedding_models(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    missing = MissingVector.objects.for_tenant(tenant_id).counts_by_model()
    rows = EmbeddingModel.objects.for_tenant(tenant_id).with_ids(ids)
    return {row.pk: _model_notification(row, *missing.get(row.pk, (0, 0))) for row in rows}


def _model_notification(model: EmbeddingModel, waiting: int, refused: int) -> JobNotification | None:
    state, url = EmbeddingModel.State, reverse("embeddings", args=[model.tenant_id])
    if waiting or model.state in (state.FILLING, state.RETIRING):
        return None
    if refused:
        text = f"{model.name} rejected {counted(refused, 'text', 'texts')}; the others have a vector."
        return JobNotification(text, url, is_failed=True)
    if model.state == state.RETIRED:
        return JobNotification(f"Vectors of {model.name} removed.", url)
    used = " Search uses it now." if model.state == state.ACTIVE else ""
    return JobNotification(f"Vectors of {model.name} complete.{used}", url)


def _embeddings(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    memories, url = Memory.objects.for_tenant(tenant_id), reverse("memories", args=[tenant_id])
    outcome = None
    if not memories.awaiting_embedding().row_count():
        outcome = JobNotification("Every memory has its vector.", url)
        if failed := memories.with_failed_embedding().row_count():
            text = f"{counted(failed, 'text', 'texts')} could not be embedded."
            outcome = JobNotification(text, f"{url}?state=failed", is_failed=True)
    return dict.fromkeys(ids, outcome)


_KINDS: Mapping[str, Callable[[UUID, Sequence[UUID]], Outcomes]] = {
    "compaction": _runs,
    "roll_up": _runs,
    "evaluation": _evaluations,
    "embedding_model": _embedding_models,
    "embeddings": _embeddings,
}
