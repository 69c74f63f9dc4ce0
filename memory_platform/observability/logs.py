"""Format log records, as lines or as JSON Lines. Errors have no messages, which may quote a memory (ADR-0349)."""

import json
import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from memory_platform.observability.requests import REQUEST_ID, TASK

#: The name of the type in the `repr` of an error, such as "ValueError('...')" or "<CancelledError: ...>", after the
#: time of a repetition.
_ERROR_TYPE = re.compile(r"(?:Retry in [\d.]+s: )?(?:[A-Za-z_][\w.]*(?=\()|<[A-Za-z_][\w.]*)")


class LineFormatter(logging.Formatter):
    """Lines of text; a traceback follows an error."""

    def formatException(self, ei: Any) -> str:
        """Return the tracebacks of an error, of those that it groups and of their causes, first the original one."""
        return "\n".join(reversed([_without_message(error) for error in _with_causes(ei[1])]))


class JsonFormatter(LineFormatter):
    """One JSON object per line: time, level, logger, message, request id, task, values, and the traceback of errors."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in (("request_id", REQUEST_ID.get()), ("task", TASK.get())) if value}
        line |= getattr(record, "values", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class TaskErrorFilter(logging.Filter):
    """Replaces errors in the arguments of log records by their types, also as text in Celery's records of tasks."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                type(each).__name__ if isinstance(each, BaseException) else each for each in record.args
            )
        elif isinstance(record.args, Mapping) and "exc" in record.args:
            found = _ERROR_TYPE.match(str(record.args["exc"]))
            record.args = {**record.args, "exc": found.group() if found else "error"}
        return True


def log_place_of(error: BaseException, logger: logging.Logger) -> None:
    """Log the type of an unexpected error and where it was raised, without its message."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    logger.error("%s in %s:%s", type(error).__name__, place.filename, place.lineno)


def _with_causes(error: BaseException | None) -> list[BaseException]:
    """Return an error, the errors that it groups, and the causes of each."""
    found: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in found:
            continue
        found[id(error)] = error
        waiting.append(error.__cause__ or (None if error.__suppress_context__ else error.__context__))
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(error.exceptions)
    return list(found.values())


def _without_message(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{frames}{type(error).__module__}.{type(error).__qualname__}{f' {state}' if state else ''}"
