"""Logged errors have their type and place, and no message, because it may quote a memory."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from logging.config import dictConfig

import pytest
from celery import shared_task
from psycopg.errors import CheckViolation

from memory_platform.observability.log_settings import logging_config

MEMORY = "Alex prefers green tea."


def fail_with_a_cause() -> None:
    try:
        raise CheckViolation(f"DETAIL:  Failing row contains ({MEMORY}).")
    except CheckViolation as error:
        raise ValueError(f"refused: {MEMORY}") from error


@shared_task(name="tests.fail")
def failing_task() -> None:
    fail_with_a_cause()


@shared_task(name="tests.repeat", autoretry_for=(ValueError,), max_retries=1)
def repeated_task() -> None:
    fail_with_a_cause()


def log_an_exception() -> None:
    try:
        fail_with_a_cause()
    except ValueError:
        logging.getLogger("django.request").exception("Internal Server Error")


@pytest.fixture(params=["line", "json"])
def written(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What the handler of the settings writes."""
    config, stream = logging_config("INFO", request.param), io.StringIO()
    config["handlers"]["stderr"]["stream"] = stream
    root = logging.getLogger()
    former = root.level, root.handlers[:]
    dictConfig(config)
    yield stream
    root.level, root.handlers[:] = former


@pytest.mark.parametrize("fail", [log_an_exception, failing_task.apply, repeated_task.apply])
def test_error_is_logged_with_its_types_and_without_their_messages(
    written: io.StringIO, fail: Callable[[], object]
) -> None:
    fail()
    text = written.getvalue()
    assert "ValueError" in text
    assert MEMORY not in text
    assert "green" not in text


def test_causes_precede_the_error_that_they_led_to(written: io.StringIO) -> None:
    log_an_exception()
    text = written.getvalue()
    text = json.loads(text)["traceback"] if text.startswith("{") else text
    assert text.index("psycopg.errors.CheckViolation 23514") < text.index("builtins.ValueError")
    assert "in fail_with_a_cause" in text
