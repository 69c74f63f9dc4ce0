"""The decorator for POST methods that accept `Idempotency-Key`."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import IdempotencyRecord
from memories.tenancy.api.claims import claim_keeper
from memories.tenancy.idempotency import claim_idempotency_key, release_idempotency_key, store_response
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.request_errors import RestError

HEADER = "Idempotency-Key"
HEADER_CHARACTERS_MAX = 255
REPLAYED = "Idempotent-Replayed"
KEPT_HEADERS = ("ETag", "Location")


def idempotent(post: Callable[..., Response]) -> Callable[..., Response]:
    """Run `post` once per key and body; a repetition gets the stored response. Failures are not stored."""

    @wraps(post)
    def handler(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        idempotency_key = request.headers.get(HEADER)
        if idempotency_key is None:
            return post(view, request, *args, **kwargs)
        _check(idempotency_key)
        claim = {"api_key_id": view.key.pk, "idempotency_key": idempotency_key, "request_hash": _request_hash(request)}
        with tenant_scope(view.tenant_id):
            # not the time at which the request began: it may have waited for its turn longer than a claim lasts
            record = claim_idempotency_key(tenant_id=view.tenant_id, **claim, now=timezone.now())
        if record.answer is not None:
            return _replayed(record)
        try:
            with claim_keeper.renewing(record):
                response = post(view, request, *args, **kwargs)
            with tenant_scope(view.tenant_id):
                repeated = _repeated(response, view.unrepeated)
                first = store_response(record, status=response.status_code, **repeated)
        except BaseException:
            with tenant_scope(view.tenant_id):
                release_idempotency_key(record)
            raise
        return response if first is None else _replayed(first)

    handler.is_idempotent = True  # type: ignore[attr-defined]  # for the documentation
    return handler


def _replayed(record: IdempotencyRecord) -> Response:
    answer: Any = record.answer
    return Response(answer["body"], status=record.status, headers={**answer["headers"], REPLAYED: "true"})


def _check(idempotency_key: str) -> None:
    is_plain = idempotency_key.isascii() and idempotency_key.isprintable()
    if not (is_plain and 1 <= len(idempotency_key.strip()) <= HEADER_CHARACTERS_MAX):
        detail = f"{HEADER} has 1 to {HEADER_CHARACTERS_MAX} printable ASCII characters."
        raise RestError("bad_idempotency_key", detail, field=HEADER)


def _request_hash(request: Request) -> str:
    """Return the hash of method, path and parsed body; white space and key order do not matter."""
    body = json.dumps(request.data, sort_keys=True)
    return hashlib.sha256(f"{request.method} {request.path_info.rstrip('/')}\n{body}".encode()).hexdigest()


def _repeated(response: Response, unrepeated: Sequence[str]) -> dict[str, Any]:
    """Return headers and body of the response as plain JSON, without the fields that are shown only once."""
    body = json.loads(JSONRenderer().render(response.data)) if response.data is not None else None
    if isinstance(body, dict) and unrepeated:
        body |= dict.fromkeys(unrepeated)
    return {
        "body": body,
        "headers": {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers},
    }
