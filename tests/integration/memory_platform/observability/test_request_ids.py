"""The response, each log line and the tasks of a request have one id; spans name routes, not paths."""

import json
import logging
import sys
import time
from collections.abc import Iterator

import pytest
from celery import shared_task
from celery.contrib.testing.worker import start_worker
from django.test import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY

from memory_platform.celery import app
from memory_platform.observability.logs import JsonFormatter
from memory_platform.observability.requests import REQUEST_ID, TASK
from tests.users import api_client

#: Only ends a test that would never end.
PATIENCE_SECONDS = 60.0
seen: list[tuple[str, str]] = []


@shared_task(name="tests.note_request_id")
def note_request_id() -> None:
    seen.append((REQUEST_ID.get(), TASK.get()))


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[dict[str, object]]]:
    """Return the lines that requests and tasks log as JSON."""
    found: list[dict[str, object]] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(json.loads(JsonFormatter().format(record)))

    logger, handler = logging.getLogger("memory_platform.requests"), Collector()
    caplog.set_level(logging.INFO, logger.name)
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


@pytest.mark.parametrize(("given", "is_kept"), [("order-4711", True), ("short", False), ("with space and more", False)])
def test_valid_request_id_is_kept_and_another_replaced(given: str, is_kept: bool) -> None:
    answer = Client(headers={"X-Request-ID": given}).get("/healthz")
    assert (answer.headers["X-Request-ID"] == given) is is_kept
    assert len(answer.headers["X-Request-ID"]) >= 8
    assert REQUEST_ID.get() == ""


@pytest.mark.django_db
def test_line_of_a_request_names_the_route_and_not_the_path(api_key: str, lines: list[dict[str, object]]) -> None:
    answer = api_client(api_key).get("/api/v1/memories?partition=user=alice", headers={"X-Request-ID": "order-4711"})
    (line,) = lines
    assert answer.headers["X-Request-ID"] == line["request_id"] == "order-4711"
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/v1/memories", 200)
    assert "alice" not in json.dumps(line)


def test_unknown_methods_and_routes_are_one_label(lines: list[dict[str, object]]) -> None:
    Client().generic("BREW", "/tea/pot")
    assert (lines[0]["method"], lines[0]["route"]) == ("other", "(no route)")


def test_error_is_one_json_line() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "f", 1, "It %s", ("fails",), sys.exc_info())
    line = json.loads(JsonFormatter().format(record))
    assert (line["level"], line["message"]) == ("ERROR", "It fails")
    assert line["traceback"].endswith("ValueError")


@pytest.mark.django_db(transaction=True)
def test_request_id_trace_and_time_of_sending_reach_the_task(exporter: InMemorySpanExporter) -> None:
    token = REQUEST_ID.set("order-4711")
    with (
        trace.get_tracer("tests").start_as_current_span("caller") as caller,
        start_worker(app, pool="solo", perform_ping_check=False, loglevel="ERROR"),
    ):
        note_request_id.delay()
        REQUEST_ID.reset(token)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not seen and time.monotonic() < deadline:
            time.sleep(0.02)
    assert seen[-1] == ("order-4711", "tests.note_request_id")
    wait = {"task": "tests.note_request_id"}
    assert REGISTRY.get_sample_value("memory_platform_task_wait_seconds_count", wait) == 1
    assert REGISTRY.get_sample_value("memory_platform_task_wait_seconds_sum", wait) > 0
    (span,) = [each for each in exporter.get_finished_spans() if each.name == "tests.note_request_id"]
    assert span.context.trace_id == caller.get_span_context().trace_id


def test_span_of_a_request_continues_the_callers_trace(exporter: InMemorySpanExporter) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    Client(headers={"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"}).get("/healthz?partition=user=alice")
    (span,) = exporter.get_finished_spans()
    assert (span.name, f"{span.context.trace_id:032x}") == ("GET /healthz", trace_id)
    assert "alice" not in str(span.attributes)
