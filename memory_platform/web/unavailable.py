"""The response for pages if the database or cache cannot be reached: 503 instead of 500."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error
from redis.exceptions import RedisError

RETRY_AFTER_SECONDS = 2


def error_page(request: HttpRequest) -> HttpResponse:
    """Return the page for an exception that no view handled; Django calls it while it handles that exception."""
    if not isinstance(sys.exc_info()[1], (OperationalError, InterfaceError, RedisError)):
        return server_error(request)
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return HttpResponse(render_to_string("503.html"), status=503, headers=headers)
