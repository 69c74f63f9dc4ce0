"""Notifications of finished background jobs, for every kind of job (ADR-0085)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from compaction.models import Compaction, Run
from context.models import EvaluationRun
from memories.models import EmbeddingModel, Memory, MissingVector
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted

#: Jobs in one request; the browser asks for no more.
WATCHED_MAX = 20


@dataclass(frozen=True)
class WatchedJob:
    """A job as the browser names it; the answer repeats the name, which is `text`."""

    text: str
    kind: str
    tenant_id: UUID
    id: UUID


@dataclass(frozen=True)
class JobNotification:
    """The result of a finished job and its page; `is_shown_by_page` where that page shows the result by itself."""

    text: str
    url: str
    is_failed: bool = False
    is_shown_by_page: bool = False


#: By the id of each existing row: its notification, None while the job is unfinished.
Outcomes = Mapping[UUID, JobNotification | None]


def parse_watched_jobs(texts: Iterable[str]) -> list[WatchedJob]:
    """Return the jobs that `kind:tenant:id:once` names, without malformed names."""
    return [job for job in map(_parse_watched_job, texts) if job is not None]


def _parse_watched_job(text: str) -> WatchedJob | None:
    kind, *rest = text.split(":")
    if kind not in _KINDS or len(rest) != 3:
        return None
    try:
        return WatchedJob(text, kind, UUID(rest[0]), UUID(rest[1]))
    except ValueError:
        return None


def read_job_notifications(jobs: Iterable[WatchedJob]) -> dict[str, JobNotification | None]:
    """Return the notifications of existing jobs by name. At most two queries a kind and tenant; opens the scopes."""
    grouped: dict[tuple[UUID, str], dict[str, UUID]] = {}
    for job in jobs:
        grouped.setdefault((job.tenant_id, job.kind), {})[job.text] = job.id
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
        url = reverse("compaction", args=[run.tenant_id, run.compaction.pk])
        text = _compaction_text(run.compaction, is_failed=is_failed)
        return JobNotification(text, url, is_failed, is_shown_by_page=True)
    path = run.partition.path if run.partition else ""
    url = f"{reverse('partitions', args=[run.tenant_id])}?{urlencode({'partition': path})}"
    done = "could not be made" if is_failed else "is regenerated"
    return JobNotification(f"The {run.style} summary of {path} {done}.", url, is_failed)


def _compaction_text(compaction: Compaction, *, is_failed: bool) -> str:
    if is_failed:
        return "Compaction failed. The session did not change."
    if compaction.state == Compaction.State.PROPOSED:
        return "A compaction is ready for review."
    if compaction.state == Compaction.State.APPLIED:
        before = counted(compaction.tokens_before, "token", "tokens")
        return f"Session compacted: {before} to {compaction.tokens_after:,}."
    return "Compaction done."


def _evaluations(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    rows = EvaluationRun.objects.for_tenant(tenant_id).with_ids(ids).without_details()
    return {row.pk: _evaluation_notification(row) for row in rows}


def _evaluation_notification(run: EvaluationRun) -> JobNotification | None:
    if run.is_open:
        return None
    url = reverse("evaluation", args=[run.tenant_id, run.pk])
    if run.state == EvaluationRun.State.DONE:
        text = f"Evaluation of {run.profile_name} on {run.corpus_name} done."
    else:
        text = f"Evaluation on {run.corpus_name} {run.state}."
    return JobNotification(text, url, run.state == EvaluationRun.State.FAILED, is_shown_by_page=True)


def _embedding_models(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    missing = MissingVector.objects.for_tenant(tenant_id).tally()
    rows = EmbeddingModel.objects.for_tenant(tenant_id).with_ids(ids)
    return {row.pk: _model_notification(row, *missing.get(row.pk, (0, 0))) for row in rows}


def _model_notification(model: EmbeddingModel, waiting: int, refused: int) -> JobNotification | None:
    state, url = EmbeddingModel.State, reverse("embeddings", args=[model.tenant_id])
    if waiting or model.state in (state.FILLING, state.RETIRING):
        return None
    if refused:
        return JobNotification(
            f"{model.name} rejected {counted(refused, 'text', 'texts')}; the others have a vector.", url, is_failed=True
        )
    if model.state == state.RETIRED:
        return JobNotification(f"Vectors of {model.name} removed.", url)
    used = " Search uses it now." if model.state == state.ACTIVE else ""
    return JobNotification(f"Vectors of {model.name} complete.{used}", url)


def _embeddings(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    memories = Memory.objects.for_tenant(tenant_id)
    outcome = None
    if not memories.pending_embedding().unarchived().how_many():
        failed = memories.with_failed_embedding().how_many()
        url = reverse("memories", args=[tenant_id])
        outcome = JobNotification("Every memory has its vector.", url)
        if failed:
            outcome = JobNotification(
                f"{counted(failed, 'text', 'texts')} could not be embedded.", f"{url}?state=failed", is_failed=True
            )
    return dict.fromkeys(ids, outcome)


_KINDS: Mapping[str, Callable[[UUID, Sequence[UUID]], Outcomes]] = {
    "compaction": _runs,
    "roll_up": _runs,
    "evaluation": _evaluations,
    "embedding_model": _embedding_models,
    "embeddings": _embeddings,
}
