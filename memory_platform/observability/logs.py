"""Format log records as JSON Lines, and log errors without their messages."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from memory_platform.observability.requests import REQUEST_ID, TASK


class JsonFormatter(logging.Formatter):
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


def log_place_of(error: BaseException, logger: logging.Logger) -> None:
    """Log the type of an unexpected error and where it was raised, without its message, which may quote a memory."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    logger.error("%s in %s:%s", type(error).__name__, place.filename, place.lineno)
