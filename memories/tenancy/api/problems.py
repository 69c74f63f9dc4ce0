"""Map every error under /api/ to problem+json (RFC 9457, ADR-0058).

Messages never come from a database, a provider or a rejected value, so that no memory text gets into errors or logs.
"""

import logging
import math
import traceback
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import DataError, IntegrityError, OperationalError
from django.http import Http404, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from memories.services.store.drafts import FieldProblem
from memories.services.time_limits import TimeIsUpError
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.serializers import bounded_errors, flat_errors
from memory_platform.web.unavailable import is_conflict

logger = logging.getLogger("memory_platform.api")

PROBLEM_TYPE = "application/problem+json"
#: SQLSTATE class of deadlocks and serialization failures, and the states of a wait for a lock that took too long and of
#: a row that an erasure deleted while this request referred to it.
ROLLED_BACK_STATES = ("40", "55P03", "23503")
READ_ONLY_STATE = "25006"


def problem_payload(
    status: int, code: str, detail: str, errors: Sequence[dict[str, str]] = (), headers: dict[str, str] | None = None
) -> Response:
    """Return the response to a failed request; each of `errors` has field (a dotted path), code and detail.

    At most 50 errors are shown.
    """
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": _encodable(detail),
        "errors": [{name: _encodable(text) for name, text in entry.items()} for entry in bounded_errors(errors)],
    }
    return Response(body, status=status, headers=headers, content_type=PROBLEM_TYPE)


def plain_problem_response(status: int, code: str, detail: str) -> HttpResponse:
    """Return the response to a failed request as a plain Django response, for middleware."""
    content = problem_payload(status, code, detail).data
    return JsonResponse(content, status=status, content_type=PROBLEM_TYPE)


#: Status, code and detail of errors that Django and REST framework raise.
FIXED_PROBLEMS: dict[type[Exception], tuple[int, str, str]] = {
    Http404: (404, "not_found", "This URL does not exist."),
    exceptions.NotFound: (404, "not_found", "This URL does not exist."),
    PermissionDenied: (403, "forbidden", "This key does not permit this request."),
    exceptions.PermissionDenied: (403, "forbidden", "This key does not permit this request."),
    exceptions.NotAuthenticated: (401, "key_missing", "Send a key as `Authorization: Bearer <key>` or `X-API-Key`."),
    exceptions.AuthenticationFailed: (401, "key_invalid", "This key is unknown, revoked or expired."),
    exceptions.MethodNotAllowed: (405, "method_not_allowed", "This URL does not support that method."),
    exceptions.NotAcceptable: (406, "not_acceptable", "Responses are available only as application/json."),
    exceptions.Throttled: (429, "rate_limited", "Too many requests with this key; wait and try again."),
}


def api_exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Return the response to an error, for REST framework."""
    if isinstance(error, PlatformError):
        faults = [fault for fault in error.problems if fault.field or isinstance(error, InvalidInput)]
        named = [_entry(fault) for fault in faults]
        return problem_payload(error.status, error.code, error.detail, named, _headers(error))
    if isinstance(error, exceptions.ValidationError):
        errors = flat_errors(error.detail)
        names = ", ".join(sorted({entry["field"] for entry in errors if entry["field"]})[:5])
        detail = f"The request is not valid: {names}." if names else (errors[0]["detail"] if errors else "")
        return problem_payload(400, "invalid", detail, errors)
    if isinstance(error, RestError):
        errors = [_entry(error)] if error.status_code == 400 else []
        return problem_payload(error.status_code, error.code, str(error.detail), errors, _headers(error))
    if isinstance(error, exceptions.UnsupportedMediaType):
        types = " or ".join(parser.media_type for parser in context["view"].parser_classes)
        return problem_payload(415, "unsupported_media_type", f"Send the body as {types}.")
    if fixed := next((fixed for kind, fixed in FIXED_PROBLEMS.items() if isinstance(error, kind)), None):
        return problem_payload(*fixed, headers=_headers(error))
    if isinstance(error, exceptions.APIException):
        return problem_payload(error.status_code, error.default_code, str(error.default_detail), (), _headers(error))
    if isinstance(error, TimeIsUpError):
        return problem_payload(503, "time_limit", "The request took too long and was cancelled; request less at once.")
    state = _log(error, context)
    again = {"Retry-After": "1"}
    if isinstance(error, (OperationalError, IntegrityError)) and state.startswith(ROLLED_BACK_STATES):
        detail = "The request conflicted with another request for the same rows; try again."
        return problem_payload(503, "try_again", detail, headers=again)
    if is_conflict(error):
        return problem_payload(409, "conflict", "Another request stored the same data at the same time; read it again.")
    if state == READ_ONLY_STATE:
        detail = "The database accepts no changes at the moment; try again."
        return problem_payload(503, "database_read_only", detail, headers=again)
    if isinstance(error, UNAVAILABLE):
        return problem_payload(503, "database_unavailable", "The database cannot be reached; try again.", headers=again)
    if isinstance(error, DataError):  # A value that only the database rejects.
        return problem_payload(400, "invalid", "A value in the request cannot be stored or compared.")
    return problem_payload(500, "internal_error", "An unexpected error occurred and was logged.")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _entry(fault: PlatformError | FieldProblem | RestError) -> dict[str, str]:
    return {"field": fault.field, "code": fault.code, "detail": str(fault.detail)}


def _headers(error: Exception) -> dict[str, str]:
    challenge = getattr(error, "auth_header", "")
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    wait: float = getattr(error, "wait", None) or getattr(error, "retry_after", None) or 0
    return headers | ({"Retry-After": str(max(math.ceil(wait), 1))} if wait else {})


def _log(error: Exception, context: dict[str, Any]) -> str:
    """Log the place of the error, not its message, which quotes rows; return the SQLSTATE, "" for other errors."""
    state: str = getattr(error.__cause__, "sqlstate", None) or ""
    view = context.get("view")
    frames = "".join(traceback.format_tb(error.__traceback__)[-12:])
    method = getattr(context.get("request"), "method", "?")
    name = type(view).__name__ if view else "?"
    logger.error("%s in %s %s %s\n%s", type(error).__name__, method, name, state, frames)
    return state
