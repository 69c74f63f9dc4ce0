"""No page has an address with a NUL character, which Postgres cannot compare: admin's filters would fail on one."""

from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memory_platform.rest.requests import is_api_request


class NulByteMiddleware:
    """Answers such an address with a 400; /api/ names the field that holds the character by itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_api_request(request) and _has_nul(request):
            raise BadRequest("The address holds a NUL character.")
        return self.get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    return "\x00" in request.path_info or b"\x00" in unquote_to_bytes(request.META.get("QUERY_STRING", ""))
