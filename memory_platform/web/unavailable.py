"""The response for pages if the database or cache cannot be reached: 503 instead of 500."""

import logging
import sys

from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error
from redis.exceptions import RedisError

from memory_platform.postgres.errors import UNAVAILABLE

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 2
#: SQLSTATEs of a row that another transaction deleted while this one referred to it, and of one that it stored first.
_REFERENCE_GONE, _STORED_MEANWHILE = "23503", "23505"


def is_conflict(error: BaseException) -> bool:
    """Return whether the database refused a change because of a concurrent one."""
    state = getattr(error.__cause__, "sqlstate", None)
    return isinstance(error, IntegrityError) and state in {_REFERENCE_GONE, _STORED_MEANWHILE}


def log_conflict(error: BaseException) -> None:
    """Log which constraint refused a change, because a defect looks like a conflict; the message would quote rows."""
    diagnostics = getattr(error.__cause__, "diag", None)
    logger.warning("A change was refused by the constraint %s.", getattr(diagnostics, "constraint_name", "?"))


def error_page(request: HttpRequest) -> HttpResponse:
    """Return the page for an exception that no view handled; Django calls it while it handles that exception."""
    if not isinstance(sys.exc_info()[1], (*UNAVAILABLE, RedisError)):
        return server_error(request)
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return HttpResponse(render_to_string("503.html"), status=503, headers=headers)
