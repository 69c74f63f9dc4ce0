"""Django's `LOGGING`: one line per event, never with memory text."""

from typing import Any


def logging_config(level: str, log_format: str) -> dict[str, Any]:
    """Return Django's `LOGGING`; `log_format` is line or json."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "class": "memory_platform.observability.logs.LineFormatter",
                "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
            },
            "json": {"()": "memory_platform.observability.logs.JsonFormatter"},
        },
        "filters": {
            "route": {"()": "memory_platform.web.request_logs.RouteFilter"},
            "task_error": {"()": "memory_platform.observability.logs.TaskErrorFilter"},
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": log_format,
                "filters": ["route", "task_error"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        # Their messages carry the prompt or the request path with its query.
        "loggers": {
            **{name: {"level": "WARNING"} for name in ("openai", "httpx2", "httpcore2")},
            # A line for each request and task, if a program reads the log.
            "memory_platform.requests": {"level": level if log_format == "json" else "WARNING"},
        },
    }
