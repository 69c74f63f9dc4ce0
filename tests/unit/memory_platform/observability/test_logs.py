"""Logged errors have their type and place, and no message, because it may quote a memory."""

import io
import json
import logging
import re
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


class Quoting(ValueError):
    """An error whose representation has no parenthesis after its name, like some of Celery's own."""

    def __repr__(self) -> str:
        return f"<Quoting: {MEMORY} (ValueError)>"


class Bare(ValueError):
    """An error whose representation is its message."""

    def __repr__(self) -> str:
        return f"{MEMORY} ValueError"


@shared_task(name="tests.fail_with", autoretry_for=(Bare, Quoting), max_retries=1)
def repeated_with(kind: str) -> None:
    raise {"bare": Bare, "quoting": Quoting}[kind](MEMORY)


def log_an_argument() -> None:
    logging.getLogger("celery").error("Task handler raised error: %r", ValueError(MEMORY))


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


@pytest.mark.parametrize(
    "fail",
    [
        *(log_an_exception, log_an_argument, failing_task.apply, repeated_task.apply),
        *(lambda: repeated_with.apply(("bare",)), lambda: repeated_with.apply(("quoting",))),
    ],
)
def test_error_is_logged_with_its_types_and_without_their_messages(
    written: io.StringIO, fail: Callable[[], object]
) -> None:
    fail()
    text = written.getvalue()
    assert re.search(r"ValueError|Quoting|Bare", text)
    assert "green" not in text
    assert "Alex" not in text


def test_causes_precede_the_error_that_they_led_to(written: io.StringIO) -> None:
    log_an_exception()
    text = written.getvalue()
    text = json.loads(text)["traceback"] if text.startswith("{") else text
    assert text.index("psycopg.errors.CheckViolation 23514") < text.index("builtins.ValueError")
    assert "in fail_with_a_cause" in text


def test_errors_of_a_group_are_logged_with_their_frames_and_causes(written: io.StringIO) -> None:
    try:
        try:
            fail_with_a_cause()
        except ValueError as error:
            raise ExceptionGroup(MEMORY, [error, KeyError(MEMORY)]) from None
    except ExceptionGroup:
        logging.getLogger("django.request").exception("Internal Server Error")
    text = written.getvalue()
    assert "in fail_with_a_cause" in text
    names = ["psycopg.errors.CheckViolation 23514", "builtins.ValueError", "builtins.KeyError", "ExceptionGroup"]
    assert sorted(names, key=text.index) == names
    assert MEMORY not in text
