"""`/metrics` for Prometheus: the counters of all processes, and the current queue and backlogs."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from compaction.models import Compaction, Run
from context.models import EvaluationRun
from memories.models import Memory
from memories.search.vector_index import tail_lengths
from memories.tenancy.queries.rows import Backlog
from memories.tenancy.scopes import maintenance_scope
from memory_platform.console.health import read_components

_LOOPBACK = frozenset({"127.0.0.1", "::1", ""})  # "" is a Unix socket
_BROKER_SECONDS = 2

#: The waiting rows of every tenant, with the time since which they have waited.
_BACKLOGS: Mapping[str, Callable[[], Mapping[UUID, Backlog]]] = {
    "compactions": lambda: Run.objects.all().of_kind(Run.Kind.COMPACTION).open().backlogs("created_at"),
    "roll_ups": lambda: Run.objects.all().of_kind(Run.Kind.ROLL_UP).open().backlogs("created_at"),
    "evaluations": lambda: EvaluationRun.objects.all().open().backlogs("created_at"),
    "embeddings": lambda: Memory.objects.all().awaiting_embedding().backlogs("recorded_from"),
    "reviews": lambda: Compaction.objects.to_review().backlogs("finished_at"),
}


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics as text; 403 without METRICS_TOKEN or, if it is not set, for requests from other machines."""
    if not _may_read(request):
        return HttpResponse("Send METRICS_TOKEN as a bearer token.\n", status=403, content_type="text/plain")
    present = CollectorRegistry()
    present.register(_Present(timezone.now()))
    return HttpResponse(generate_latest(counted()) + generate_latest(present), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    token: str = settings.METRICS_TOKEN
    if token:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode())
    # Behind a proxy, all requests seem to come from it.
    is_direct = not settings.TRUSTED_PROXIES and "X-Forwarded-For" not in request.headers
    return is_direct and request.META.get("REMOTE_ADDR", "") in _LOOPBACK


def counted() -> CollectorRegistry:
    """Return the counters of this process, or of all processes that share its folder."""
    if not settings.PROMETHEUS_MULTIPROC_DIR:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=settings.PROMETHEUS_MULTIPROC_DIR)  # type: ignore[no-untyped-call]
    return registry


class _Present:
    """Computes gauges for each scrape; those of a component that is down are omitted."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        states = {component.name: component.state for component in read_components(self._now)}
        up = GaugeMetricFamily("memory_platform_component_up", "1 while a component responds.", labels=["component"])
        for name, state in states.items():
            up.add_metric([name], float(state.is_ok))
        yield up
        if states["broker"].is_ok:
            queued = GaugeMetricFamily("memory_platform_queue_tasks", "Tasks in the broker's queues.", labels=["queue"])
            for queue in settings.CELERY_TASK_QUEUES:
                queued.add_metric([queue], _queued(queue))
            yield queued
        if states["database"].is_ok and states["migrations"].is_ok:
            yield from self._backlogs()

    def _backlogs(self) -> Iterator[GaugeMetricFamily]:
        count = GaugeMetricFamily("memory_platform_backlog", "Rows waiting for a worker or a person.", labels=["kind"])
        age = GaugeMetricFamily("memory_platform_backlog_age_seconds", "Age of the oldest such row.", labels=["kind"])
        with maintenance_scope():
            for kind, read in _BACKLOGS.items():
                backlogs = read().values()
                count.add_metric([kind], float(sum(each.count for each in backlogs)))
                oldest = min((each.oldest for each in backlogs if each.oldest), default=self._now)
                age.add_metric([kind], max((self._now - oldest).total_seconds(), 0.0))
        yield count
        yield age
        text = "Vectors that are not in the vector index yet."
        tail = GaugeMetricFamily("memory_platform_unindexed_vectors", text, labels=["model"])
        for model, length in tail_lengths().items():
            tail.add_metric([model], float(length))
        yield tail


def _queued(queue: str) -> float:
    """Return how many tasks of a queue no worker has taken yet."""
    with current_app.connection_for_read() as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=_BROKER_SECONDS)
        channel: Any = broker.default_channel
        try:
            return float(channel.queue_declare(queue=queue, passive=True).message_count)
        except broker.channel_errors:  # nothing has been sent yet
            return 0.0
