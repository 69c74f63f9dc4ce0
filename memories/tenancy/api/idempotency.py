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
from memories.tenancy.scopes import last_write_held, tenant_scope, write_in_tenant_scope
from memory_platform.rest.request_errors import RestError

HEADER = "Idempotency-Key"
HEADER_CHARACTERS_MAX = 255
REPLAYED = "Idempotent-Replayed"
KEPT_HEADERS = ("ETag", "Location")

Post = Callable[..., Response]


class _AnsweredFirstError(Exception):
    """Another request with the key stored its response first: what this one wrote is rolled back."""

    def __init__(self, record: IdempotencyRecord) -> None:
        super().__init__()
        self.record = record


def idempotent(post: Post) -> Post:
    """Run `post` once per key and body; a repetition gets the stored response. Failures are not stored.

    With a key, everything that `post` writes and the response are one transaction (ADR-0256).
    """
    return _handler(post, lambda view, answer: write_in_tenant_scope(view.tenant_id, answer))


def idempotent_in_steps(post: Post) -> Post:
    """Do the same for a `post` with several transactions or calls of models; the response is part of the last one.

    A write before the last, in a `last_write_scope`, changes nothing when it runs again, or `post` calls
    `note_partial_write`.
    """

    def run(_: Any, answer: Callable[[], Response]) -> Response:
        with last_write_held():
            return answer()

    return _handler(post, run)


def _handler(post: Post, run: Callable[[Any, Callable[[], Response]], Response]) -> Post:
    @wraps(post)
    def handler(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        idempotency_key = request.headers.get(HEADER)
        if idempotency_key is None:
            return post(view, request, *args, **kwargs)
        _check(idempotency_key)
        claim = {"api_key_id": view.key.pk, "idempotency_key": idempotency_key, "request_hash": _request_hash(request)}
        # not the time at which the request began: it may have waited for its turn longer than a claim lasts
        view.claim = record = claim_idempotency_key(tenant_id=view.tenant_id, **claim, now=timezone.now())
        if record.answer is not None:
            return _replayed(record)

        def answer() -> Response:
            response = post(view, request, *args, **kwargs)
            with tenant_scope(view.tenant_id):
                first = store_response(record, status=response.status_code, **_repeated(response, view.unrepeated))
            if first is not None:
                raise _AnsweredFirstError(first)
            return response

        try:
            with claim_keeper.renewing(record):
                return run(view, answer)
        except _AnsweredFirstError as error:
            return _replayed(error.record)
        except BaseException:
            with tenant_scope(view.tenant_id):
                release_idempotency_key(record)
            raise

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
