"""The Celery application; tasks live in each app's tasks.py, their schedule in settings."""

import logging
import os
from time import monotonic
from typing import Any

from billiard.compat import mem_rss
from celery import Celery, Task
from celery.signals import beat_init, celeryd_init, task_postrun, worker_init, worker_process_init, worker_ready
from django.conf import settings
from prometheus_client import start_http_server

from memories.services.time_limits import TimeIsUpError, work_until
from memory_platform.console import heartbeats
from memory_platform.observability import tracing
from memory_platform.observability.memory import trim_memory
from memory_platform.observability.requests import connect_task_signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_platform.settings")

logger = logging.getLogger(__name__)

#: The share of a task's time limit after which its loops end; the rest is for the current batch.
LOOP_SHARE = 0.8


class TimedTask(Task):  # type: ignore[type-arg]
    """A task whose loops end before its process would be killed; the next run does the remaining work (ADR-0245)."""

    abstract = True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the task with a time limit for its loops."""
        end = monotonic() + LOOP_SHARE * (self.time_limit or settings.CELERY_TASK_TIME_LIMIT)
        try:
            with work_until(lambda: monotonic() >= end):
                return super().__call__(*arguments, **named)
        except TimeIsUpError:
            logger.warning("%s ran out of time; the next run continues.", self.name)
            return None


#: A process that exceeds the worker's size by more than this (about one compaction) is replaced after its task.
TASK_GROWTH_KIB = 16 * 1024

app = Celery("memory_platform", task_cls=TimedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_scheduler = "memory_platform.beat:Scheduler"
app.autodiscover_tasks()
heartbeats.connect_heartbeat_signals()
connect_task_signals()


@celeryd_init.connect
@beat_init.connect
def require_secret_key(**_: object) -> None:
    """Stop a worker or beat without a configured key. Celery would only log an `Exception`."""
    if len(settings.SECRET_KEY) < settings.SECRET_KEY_MIN_CHARACTERS:
        raise SystemExit("SECRET_KEY must be set: sessions and fences are signed with it")


@worker_init.connect
def prepare_pool(sender: Any, **_: object) -> None:
    """Load rules and models before the pool forks; warn if tasks do not run in processes (ADR-0127, ADR-0163).

    Processes open a connection for each task: Celery ends a pool of connections after each one, which costs more.
    """
    from django.db import connections

    from memory_platform.preloading import preload_models, preload_rules

    preload_rules()
    preload_models()
    if not sender.pool_cls.__module__.endswith("prefork"):
        logger.warning("Tasks do not run in processes (--pool prefork): their time limits are not enforced.")
        return
    for connection in connections.all():
        connection.settings_dict["OPTIONS"].pop("pool", None)
    limit_growth(sender)


def limit_growth(worker: Any) -> None:
    """Let a worker replace processes that grow, unless an option limits their size (ADR-0295)."""
    worker.max_memory_per_child = worker.max_memory_per_child or mem_rss() + TASK_GROWTH_KIB


@worker_ready.connect
def check_models(**_: object) -> None:
    from django.db import connections

    from memories.embeddings.checks import log_model_problems

    log_model_problems()
    connections.close_all()  # processes that are forked later must not share the connection


@worker_ready.connect
def serve_metrics(**_: object) -> None:
    """Serve the worker's own metrics if it shares no folder with the web processes."""
    if settings.METRICS_PORT:
        from memory_platform.console.metrics import counted

        start_http_server(settings.METRICS_PORT, registry=counted())


@task_postrun.connect
def release_memory(**_: object) -> None:
    """Return a task's free memory: a compaction uses about ten MB, and the next one may run in another process."""
    trim_memory()


@worker_init.connect
@worker_process_init.connect
def trace_tasks(**_: object) -> None:
    tracing.configure("worker")
