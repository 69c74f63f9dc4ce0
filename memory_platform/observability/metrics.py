"""Counters of each process; `/metrics` adds them up over all processes (memory_platform/console/metrics.py)."""

import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

# The library reads the variable when it is imported, and expects the folder to exist.
if _folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    Path(_folder).mkdir(parents=True, exist_ok=True)

from prometheus_client import Counter, Histogram, values

from memory_platform.observability import tracing
from memory_platform.observability.metric_files import ProcessNumbers

if _folder:
    values.ValueClass = values.MultiProcessValue(ProcessNumbers(Path(_folder)).own_number)  # type: ignore[no-untyped-call]

#: In seconds.
_REQUEST_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_STEP_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_TASK_BUCKETS = (0.01, 0.1, 0.5, 1, 5, 15, 60, 240)
_TOKEN_BUCKETS = (100, 250, 500, 1000, 2000, 4000, 8000, 16000, 32000)

REQUESTS = Counter("memory_platform_requests", "Requests.", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "memory_platform_request_seconds", "Duration of requests.", ["method", "route"], buckets=_REQUEST_BUCKETS
)
CONTEXTS = Counter("memory_platform_contexts", "Contexts assembled.", ["kind"])
CONTEXT_SECONDS = Histogram("memory_platform_context_seconds", "Duration of contexts.", buckets=_STEP_BUCKETS)
CONTEXT_STEP_SECONDS = Histogram(
    "memory_platform_context_step_seconds", "Duration of each step of contexts.", ["step"], buckets=_STEP_BUCKETS
)
CONTEXT_TOKENS = Histogram("memory_platform_context_tokens", "Tokens of contexts.", buckets=_TOKEN_BUCKETS)
REPLICA_READS = Counter("memory_platform_replica_reads", "Searches for which a replica could be read.", ["outcome"])
COMPACTIONS = Counter("memory_platform_compactions", "Runs of compactions by outcome.", ["outcome"])
PROVIDER_ERRORS = Counter("memory_platform_provider_errors", "Failed calls of model providers.", ["provider"])
TASKS = Counter("memory_platform_tasks", "Background tasks that ended.", ["task", "state"])
TASK_SECONDS = Histogram(
    "memory_platform_task_seconds", "Duration of background tasks.", ["task"], buckets=_TASK_BUCKETS
)
TASK_WAIT_SECONDS = Histogram(
    "memory_platform_task_wait_seconds",
    "Time of tasks in the broker's queue, without those that are sent for a later time.",
    ["task"],
    buckets=_TASK_BUCKETS,
)

_TOTAL = "total"


class _Result(Protocol):
    @property
    def state(self) -> str: ...


_Parameters = ParamSpec("_Parameters")
_AnyResult = TypeVar("_AnyResult", bound=_Result)


def record_context(milliseconds: Mapping[str, float], *, tokens: int, is_preview: bool) -> None:
    """Count a context, its tokens, and the duration of its steps."""
    CONTEXTS.labels("preview" if is_preview else "context").inc()
    CONTEXT_TOKENS.observe(tokens)
    for step, duration in milliseconds.items():
        metric = CONTEXT_SECONDS if step == _TOTAL else CONTEXT_STEP_SECONDS.labels(step)
        metric.observe(duration / 1000)
    tracing.annotate({f"context.{step}_ms": duration for step, duration in milliseconds.items()})


def counts_outcome(
    counter: Counter,
) -> Callable[[Callable[_Parameters, _AnyResult]], Callable[_Parameters, _AnyResult]]:
    """Count the states of a function's results; "" is none."""

    def decorate(function: Callable[_Parameters, _AnyResult]) -> Callable[_Parameters, _AnyResult]:
        @wraps(function)
        def counted(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _AnyResult:
            result = function(*args, **kwargs)
            if result.state:
                counter.labels(result.state).inc()
            return result

        return counted

    return decorate
