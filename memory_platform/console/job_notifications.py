"""What has become of background work that somebody watches: the registry of its kinds, above all apps (ADR-0085)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from compaction.models import Compaction, Run
from context.models import EvaluationRun
from memories.models import EmbeddingModel, Memory, MissingVector
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted

#: How much is looked after in one request; the browser asks for no more.
WATCHED_MAX = 20


@dataclass(frozen=True)
class WatchedJob:
    """One piece of work as the browser names it; `text` is that name, which the answer gives back."""

    text: str
    kind: str
    tenant_id: UUID
    id: UUID


@dataclass(frozen=True)
class JobNotification:
    """What came of work that is over, and the page that shows it; `is_followed` where that page tells it by itself."""

    text: str
    url: str
    is_failed: bool = False
    is_followed: bool = False


#: Of each row that is there: its outcome, None while it is under way. A row that is gone is left out.
Outcomes = Mapping[UUID, JobNotification | None]


def parse_watched_jobs(texts: Iterable[str]) -> list[WatchedJob]:
    """What the browser asks for, without what names nothing: `kind:tenant:id:once`."""
    return [watched for watched in map(_watched, texts) if watched is not None]


def _watched(text: str) -> WatchedJob | None:
    kind, *rest = text.split(":")
    if kind not in _KINDS or len(rest) != 3:
        return None
    try:
        return WatchedJob(text, kind, UUID(rest[0]), UUID(rest[1]))
    except ValueError:
        return None


def read_job_notifications(watched: Iterable[WatchedJob]) -> dict[str, JobNotification | None]:
    """By name, for what is there; called with no scope open. One or two queries for each kind of each tenant."""
    found: dict[str, JobNotification | None] = {}
    for (tenant_id, kind), group in groupby(sorted(watched, key=_place), key=_place):
        names = {each.text: each.id for each in group}
        with tenant_scope(UUID(tenant_id)):
            outcomes = _KINDS[kind](UUID(tenant_id), list(names.values()))
        found |= {text: outcomes[row_id] for text, row_id in names.items() if row_id in outcomes}
    return found


def _place(watched: WatchedJob) -> tuple[str, str]:
    return str(watched.tenant_id), watched.kind


def _runs(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    rows = Run.objects.for_tenant(tenant_id).with_ids(ids).with_targets()
    return {row.pk: _of_run(row) for row in rows}


def _of_run(run: Run) -> JobNotification | None:
    if run.state in (Run.State.QUEUED, Run.State.RUNNING):
        return None
    is_failed = run.state == Run.State.FAILED
    if run.compaction is not None:
        url = reverse("compaction", args=[run.tenant_id, run.compaction.pk])
        return JobNotification(_of_compaction(run.compaction, is_failed=is_failed), url, is_failed, is_followed=True)
    path = run.partition.path if run.partition else ""
    url = f"{reverse('partitions', args=[run.tenant_id])}?{urlencode({'partition': path})}"
    done = "could not be made" if is_failed else "is made anew"
    return JobNotification(f"The {run.style} summary of {path} {done}.", url, is_failed)


def _of_compaction(compaction: Compaction, *, is_failed: bool) -> str:
    if is_failed:
        return "A compaction failed. The session is as it was."
    if compaction.state == Compaction.State.PROPOSED:
        return "A compaction is ready and waits for review."
    if compaction.state == Compaction.State.APPLIED:
        before = counted(compaction.tokens_before, "token", "tokens")
        return f"The session is compacted: {before} became {compaction.tokens_after:,}."
    return "A compaction is done."


def _evaluations(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    rows = EvaluationRun.objects.for_tenant(tenant_id).with_ids(ids).without_details()
    return {row.pk: _of_evaluation(row) for row in rows}


def _of_evaluation(run: EvaluationRun) -> JobNotification | None:
    if run.is_open:
        return None
    url = reverse("evaluation", args=[run.tenant_id, run.pk])
    if run.state == EvaluationRun.State.DONE:
        text = f"The evaluation of {run.profile_name} on {run.corpus_name} is done."
    else:
        text = f"The evaluation on {run.corpus_name} is {run.state}."
    return JobNotification(text, url, run.state == EvaluationRun.State.FAILED, is_followed=True)


def _embedding_models(tenant_id: UUID, ids: Sequence[UUID]) -> Outcomes:
    missing = MissingVector.objects.for_tenant(tenant_id).tally()
    rows = EmbeddingModel.objects.for_tenant(tenant_id).with_ids(ids)
    return {row.pk: _of_model(row, *missing.get(row.pk, (0, 0))) for row in rows}


def _of_model(model: EmbeddingModel, waiting: int, refused: int) -> JobNotification | None:
    state, url = EmbeddingModel.State, reverse("embeddings", args=[model.tenant_id])
    if waiting or model.state in (state.FILLING, state.RETIRING):
        return None
    if refused:
        return JobNotification(
            f"{model.name} refused {counted(refused, 'text', 'texts')}; the others have a vector.", url, is_failed=True
        )
    if model.state == state.RETIRED:
        return JobNotification(f"The vectors of {model.name} are removed.", url)
    used = " Searches use it now." if model.state == state.ACTIVE else ""
    return JobNotification(f"All vectors of {model.name} are made.{used}", url)


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
