"""Middleware that reads the rest of a request body before the response is sent."""

from collections.abc import Callable
from contextlib import suppress

from django.http import HttpRequest, HttpResponseBase

#: A body up to this size is received before the request gets a thread (ADR-0247).
SMALL_BODY_BYTES_MAX = 64 * 1024
READ_BYTES_MAX = 64 * 1024 * 1024
PIECE_BYTES = 64 * 1024


class UnreadBodyMiddleware:
    """Discards what no view has read of a large body, for example of a refused request.

    Otherwise the connection is closed while the client is still sending, and it may never read the response. The proxy
    closes it half a second after the response of the web process.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        declared = request.META.get("CONTENT_LENGTH") or "0"
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
            if request.META.get("wsgi.input_terminated"):
                # Django treats a body without a declared length as empty.
                _discard(request.META["wsgi.input"].read)
        elif declared.isdecimal() and int(declared) > SMALL_BODY_BYTES_MAX:
            _discard(request.read)
        return response


def _discard(read: Callable[[int], bytes]) -> None:
    with suppress(Exception):  # the client sends too slowly or has stopped; each WSGI server has its own errors
        for _ in range(READ_BYTES_MAX // PIECE_BYTES):
            if not read(PIECE_BYTES):
                return
