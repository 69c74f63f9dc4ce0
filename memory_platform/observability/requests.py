"""A request id for each request and the tasks that it sends; counts, durations and one log line for each."""

import logging
import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.http import HttpRequest, HttpResponseBase

from memory_platform.observability import metrics, tracing

logger = logging.getLogger("memory_platform.requests")

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
TASK: ContextVar[str] = ContextVar("task", default="")
HEADER = "X-Request-ID"
#: The form of a request id that a client may choose; any other id is replaced.
_VALID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_NO_ROUTE = "(no route)"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_started: dict[str, tuple[float, Any]] = {}


class RequestMiddleware:
    """The outermost middleware: gives the request its id and records its end."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get(HEADER, "")
        request_id = given if _VALID.fullmatch(given) else uuid4().hex
        token, start = REQUEST_ID.set(request_id), time.perf_counter()
        try:
            with tracing.span("request", carrier=request.headers) as span:
                response = self.get_response(request)
                self._record(request, response.status_code, time.perf_counter() - start, span)
            response.headers[HEADER] = request_id
            return response
        finally:
            REQUEST_ID.reset(token)

    def _record(self, request: HttpRequest, status: int, seconds: float, span: Any) -> None:
        """Record the route, not the path, because paths contain partitions, which name people."""
        method = request.method if request.method in _METHODS else "other"
        route = f"/{request.resolver_match.route}" if request.resolver_match else _NO_ROUTE
        metrics.REQUESTS.labels(method, route, status).inc()
        metrics.REQUEST_SECONDS.labels(method, route).observe(seconds)
        tracing.name(span, f"{method} {route}", status=status, request_id=REQUEST_ID.get())
        values = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        logger.info("request", extra={"values": values})


def connect_task_signals() -> None:
    """Pass request id and time from the process that sends a task to the one that runs it, and record wait and end."""
    before_task_publish.connect(_send_request_id)
    task_prerun.connect(_begin_task)
    task_postrun.connect(_end_task)


def _send_request_id(headers: dict[str, Any] | None = None, **_: object) -> None:
    if headers is not None:
        headers["request_id"] = REQUEST_ID.get()
        headers["sent_at"] = time.time()
        tracing.inject(headers)


def _begin_task(task_id: str, task: Any, **_: object) -> None:
    REQUEST_ID.set(getattr(task.request, "request_id", None) or task_id)
    TASK.set(task.name)
    sent_at = getattr(task.request, "sent_at", None)
    if sent_at is not None and not task.request.eta:
        metrics.TASK_WAIT_SECONDS.labels(task.name).observe(max(time.time() - sent_at, 0.0))  # clocks may differ
    span = tracing.span(task.name, carrier=vars(task.request))
    span.__enter__()
    _started[task_id] = time.perf_counter(), span


def _end_task(task_id: str, task: Any, state: str | None = None, **_: object) -> None:
    start, span = _started.pop(task_id, (time.perf_counter(), None))
    seconds = time.perf_counter() - start
    metrics.TASKS.labels(task.name, (state or "unknown").lower()).inc()
    metrics.TASK_SECONDS.labels(task.name).observe(seconds)
    logger.info("task", extra={"values": {"state": state, "ms": round(seconds * 1000, 1)}})
    if span is not None:
        span.__exit__(None, None, None)
    REQUEST_ID.set("")
    TASK.set("")
