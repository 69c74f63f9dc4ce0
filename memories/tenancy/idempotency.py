"""Answer a repeated POST with its first answer (ADR-0058). Each step is one short transaction."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memories.models import IdempotencyRecord
from memories.tenancy.exceptions import Conflict

ANSWER_KEPT_HOURS = 24
#: A claim of a failed request expires after this time, longer than any request.
CLAIM_SECONDS = 120


@dataclass(frozen=True)
class StoredResponse:
    """The stored answer to a POST."""

    status: int
    body: Any
    headers: dict[str, str]


def claim_idempotency_key(
    *, tenant_id: UUID, api_key_id: str, idempotency_key: str, request_hash: str, now: datetime
) -> tuple[int, StoredResponse | None]:
    """Return the record to fill and None, or the record and its stored answer.

    Raises `Conflict`: `idempotency_key_reused` for another request, `idempotency_key_in_use` while the first one runs.
    """
    record, is_new = IdempotencyRecord.objects.get_or_create(
        api_key_id=api_key_id,
        idempotency_key=idempotency_key,
        defaults={"tenant_id": tenant_id, "request_hash": request_hash, "created_at": now},
    )
    if is_new or _reclaim(record, request_hash, now):
        return record.pk, None
    if record.request_hash != request_hash:
        raise Conflict("idempotency_key_reused", "This Idempotency-Key came with another request before.")
    if record.status is None or record.answer is None:
        raise Conflict("idempotency_key_in_use", "The first request with this Idempotency-Key is still running.")
    return record.pk, StoredResponse(record.status, record.answer["body"], record.answer["headers"])


def store_response(*, record_id: int, answer: StoredResponse) -> None:
    """Store the answer for repetitions."""
    IdempotencyRecord.objects.filter(pk=record_id).update(
        status=answer.status, answer={"body": answer.body, "headers": answer.headers}
    )


def release_idempotency_key(*, record_id: int) -> None:
    """Delete the claim of a failed request, so that the client can retry."""
    IdempotencyRecord.objects.filter(pk=record_id, status=None).delete()


def _reclaim(record: IdempotencyRecord, request_hash: str, now: datetime) -> bool:
    kept = timedelta(hours=ANSWER_KEPT_HOURS) if record.status else timedelta(seconds=CLAIM_SECONDS)
    if record.created_at > now - kept:
        return False
    taken = IdempotencyRecord.objects.filter(pk=record.pk, created_at=record.created_at)
    return bool(taken.update(request_hash=request_hash, status=None, answer=None, created_at=now))
