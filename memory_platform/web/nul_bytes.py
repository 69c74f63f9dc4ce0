"""Rejects page addresses with a NUL character, which Postgres cannot store or compare."""

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memory_platform.rest.requests import is_api_request


class NulByteMiddleware:
    """Answers 400 to such an address; the API reports the field itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_api_request(request) and _has_nul(request):
            raise BadRequest("The address contains a NUL character.")
        return self.get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    return "\x00" in request.path_info or b"\x00" in unquote_to_bytes(request.META.get("QUERY_STRING", ""))
