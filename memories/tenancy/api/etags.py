"""`ETag`, `If-None-Match`, `If-Match` (ADR-0058)."""

import re
import sys
from collections.abc import Callable, Collection, Container, Mapping
from functools import wraps
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.store.serializers.answers import content_etag, memory_etag
from memories.tenancy.exceptions import StaleVersion
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.request_errors import RestError

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
_VERSION = re.compile(r"([0-9]{1,9})(\.[0-9a-f]*)?")
#: The headers that are conditions of an edit, and the error codes of operations that do not read them.
_UNSUPPORTED = {"If-Match": "if_match_unsupported", "If-None-Match": "if_none_match_unsupported"}


def is_etag_current(request: Request, etag: str) -> bool:
    """Whether `If-None-Match` names `etag`."""
    header = request.headers.get("If-None-Match", "")
    return header.strip() == "*" or etag in {f'"{tag}"' for tag in _TAG.findall(header)}


def response_with_etag(request: Request, answer: Mapping[str, Any]) -> Response:
    """Return the response with its `ETag`, or a 304 without a body if the client already has it."""
    etag = memory_etag(answer) if "version" in answer else content_etag(answer)
    if is_etag_current(request, etag):
        return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
    return Response(answer, headers={"ETag": etag})


def if_match_version(request: Request, current: int) -> int | None:
    """Return `current`, or None if `If-Match` allows any version.

    Raises `StaleVersion` if it names only other versions.
    """
    if not has_condition(request):
        return None
    if current not in _named_versions(request):
        raise stale()
    return current


def upserted_versions(request: Request) -> Container[int] | None:
    """Return the versions that the row of an upsert may have, 0 if there may be none, or None without a header.

    An `If-Match` needs a row, and `If-None-Match: *` that there is none; both exclude every state. Raises `RestError`
    for an `If-None-Match` that names tags.
    """
    if request.headers.get("If-None-Match", "*").strip() != "*":
        detail = "This operation supports only If-None-Match: *. Nothing was done."
        raise RestError(_UNSUPPORTED["If-None-Match"], detail, field="If-None-Match")
    if "If-None-Match" in request.headers:
        return () if "If-Match" in request.headers else {0}
    if "If-Match" not in request.headers:
        return None
    return _named_versions(request) - {0} if has_condition(request) else range(1, sys.maxsize)


def _named_versions(request: Request) -> set[int]:
    matches = [_VERSION.fullmatch(tag) for tag in _TAG.findall(request.headers["If-Match"])]
    return {int(match[1]) for match in matches if match}


def conditional(change: Callable[..., Response]) -> Callable[..., Response]:
    """Run a method that changes one row only if `If-Match` names its current state.

    The endpoint's `edited_row` returns the row and `shown` its output, as a GET does; both take the ids of the URL.
    With the header, check and change are one transaction that locks the row.
    """

    @wraps(change)
    def handler(view: Any, request: Request, *args: Any, **ids: Any) -> Response:
        if not has_condition(request):
            return change(view, request, *args, **ids)
        request.data  # noqa: B018 - a client may send slowly, so read it before the transaction
        with tenant_scope(view.tenant_id):
            row = view.edited_row(**ids)
            type(row)._default_manager.for_tenant(view.tenant_id).lock_row(row.pk)
            require_etag(request, lambda: content_etag(view.shown(**ids)))
            return change(view, request, *args, **ids)

    handler.is_conditional = True  # type: ignore[attr-defined]  # for the documentation
    return handler


def require_etag(request: Request, current: Callable[[], str]) -> None:
    """Raise `StaleVersion` if `If-Match` names other tags than the current one, which is computed only for that."""
    if has_condition(request):
        named = {f'"{tag}"' for tag in _TAG.findall(request.headers["If-Match"])}
        if current() not in named:
            raise stale()


def require_etags(if_match: str | None, current: Callable[[], Collection[str]], *, field: str = "If-Match") -> None:
    """Raise `StaleVersion` unless `if_match` names the tag of each existing row that an upsert changes.

    There must be such a row, also for `*`, which names every one. `current` is called only with an `if_match`.
    """
    if if_match is not None:
        tags, named = set(current()), {f'"{tag}"' for tag in _TAG.findall(if_match)}
        if not tags or not (if_match.strip() == "*" or tags <= named):
            raise stale(field)


def refuse_conditions(request: Request, *, read: Collection[str] = (), instead: str = "Nothing was done.") -> None:
    """Raise `RestError` if the request has a header of a condition that the operation does not `read`."""
    for header, code in _UNSUPPORTED.items():
        if header in request.headers and header not in read:
            raise RestError(code, f"This operation does not support {header}. {instead}", field=header)


def has_condition(request: Request) -> bool:
    """Whether `If-Match` names states."""
    return request.headers.get("If-Match", "*").strip() != "*"


def stale(field: str = "If-Match") -> StaleVersion:
    """Return the error of a request whose `If-Match` names another state."""
    return StaleVersion("stale_version", "It has changed in the meantime. Read it again.", field)
