"""Middleware of /api/: body limits, normalised paths, problem+json instead of error pages."""

import io
from collections.abc import Callable
from http import HTTPStatus
from typing import IO

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from memories.tenancy.api.body_limits import LARGE_BODY_BYTES, too_large
from memories.tenancy.api.problems import PROBLEM_TYPE, plain_problem_response
from memory_platform.rest.request_errors import is_api_request

WITH_SLASH = {"/api", "/api/docs", "/api/schema"}


class ApiMiddleware:
    """The outermost middleware; it affects only /api/."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_api_request(request):
            return self.get_response(request)
        response = _refuse_host(request) or self._refuse_body(request) or self._answer(request)
        # Responses are for one key; a client may store one with an ETag and revalidate it.
        response.headers.setdefault("Cache-Control", "private, no-cache" if "ETag" in response.headers else "no-store")
        patch_vary_headers(response, ("Authorization", "X-API-Key"))
        return response

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info.rstrip("/")
        request.path_info = f"{path}/" if path in WITH_SLASH else path
        response = self.get_response(request)
        if response.status_code < 400 or response.headers.get("Content-Type", "").startswith(PROBLEM_TYPE):
            return response
        # An error that does not come from REST framework.
        status = HTTPStatus(response.status_code)
        problem = plain_problem_response(status.value, status.name.lower(), status.phrase)
        if wait := response.headers.get("Retry-After"):
            problem.headers["Retry-After"] = wait
        return problem

    def _refuse_body(self, request: HttpRequest) -> HttpResponse | None:
        stream = request.META.get("wsgi.input")
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
            return self._take_chunks(request, stream)
        declared = request.META.get("CONTENT_LENGTH") or "0"
        if not (declared.isascii() and declared.isdigit()):
            return plain_problem_response(400, "bad_content_length", "Content-Length is not a number.")
        return _too_large() if int(declared) > LARGE_BODY_BYTES else None

    def _take_chunks(self, request: HttpRequest, stream: IO[bytes] | None) -> HttpResponse | None:
        """Read a chunked body, which Django would treat as empty because it declares no length."""
        if stream is None or not request.META.get("wsgi.input_terminated"):
            return plain_problem_response(411, "length_required", "Send the body with a Content-Length.")
        try:
            body = stream.read(LARGE_BODY_BYTES + 1)
            if len(body) > LARGE_BODY_BYTES:
                return _too_large()
        except Exception:  # noqa: BLE001 - each WSGI server has its own errors for chunks that it cannot read
            return plain_problem_response(400, "malformed_body", "The chunks of the body cannot be read.")
        request.META["CONTENT_LENGTH"] = str(len(body))
        request._stream = io.BytesIO(body)
        return None


def _refuse_host(request: HttpRequest) -> HttpResponse | None:
    """Reject a disallowed host here, because Django would answer with a page."""
    try:
        request.get_host()
    except DisallowedHost:
        detail = "The Host header names a host that this server does not serve."
        return plain_problem_response(400, "bad_request", detail)
    return None


def _too_large() -> HttpResponse:
    error = too_large(LARGE_BODY_BYTES)
    return plain_problem_response(error.status_code, error.code, str(error.detail))
