"""Middleware of pages. API requests pass it unchanged, except for one header."""

from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

from csp.utils import build_policy
from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render

from memory_platform.postgres import roles
from memory_platform.rest.request_errors import is_api_request
from memory_platform.web.unavailable import is_conflict, log_conflict


class DatabaseRoleMiddleware:
    """Uses one database role for API requests and another for all other requests (ADR-0160).

    The role stays until the thread's next request, because the body of a response may be read from the database later.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        roles.log_in(roles.API if is_api_request(request) else roles.CONSOLE)
        return self.get_response(request)


class PageCompression(GZipMiddleware):
    """Compresses pages, with random padding against attacks on lengths. API responses stay uncompressed (ADR-0092)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response if is_api_request(request) else super().process_response(request, response)


#: Larger than the largest file with its form, and the same as the limit of the proxy in docker-compose.yml.
BODY_BYTES_MAX = 16 * 1024 * 1024


class BadRequestMiddleware:
    """Refuses requests that no page can process: 400 for a NUL character in the URL, 413 for more than any form.

    Postgres cannot store NUL; the API reports the field itself. Django limits the fields of a body but not its files,
    which it writes to disk.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        query = unquote_to_bytes(request.META.get("QUERY_STRING", ""))
        if not is_api_request(request) and ("\x00" in request.path_info or b"\x00" in query):
            raise BadRequest("The address contains a NUL character.")
        declared = request.META.get("CONTENT_LENGTH") or ""
        if declared.isdecimal() and int(declared) > BODY_BYTES_MAX:
            raise RequestDataTooBig("The body is larger than 16 MiB.")
        return self.get_response(request)


class ConflictMiddleware:
    """Responds with 409 to a page's change that conflicts with another one and that no view turned into an error."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """Render the page."""
        if not is_conflict(error):
            return None
        log_conflict(error)
        return render(request, "409.html", status=HTTPStatus.CONFLICT)


class PolicyMiddleware:
    """Sends the policies on what a page may load and use (no camera, no location and so on) with every response.

    The middleware of django-csp would build the policy again for each response (ADR-0173).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._policies = {"Content-Security-Policy": build_policy(), "Permissions-Policy": settings.PERMISSIONS_POLICY}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, policy in self._policies.items():
            response.headers[name] = policy
        return response
