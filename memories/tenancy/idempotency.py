"""Repeat the first response for a repeated POST (ADR-0058). Each step is one short transaction."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memories.models import IdempotencyRecord
from memories.tenancy.exceptions import Conflict

RESPONSE_TTL_HOURS = 24
#: A claim that is not renewed for this time belongs to a process that died.
CLAIM_SECONDS = 10


def claim_idempotency_key(
    *, tenant_id: UUID, api_key_id: str, idempotency_key: str, request_hash: str, now: datetime
) -> IdempotencyRecord:
    """Return the record to fill, which has no response yet, or the one with the stored response.

    Raises `Conflict`: `idempotency_key_reused` for another request, `idempotency_key_in_use` while the first one runs.
    """
    record, is_new = IdempotencyRecord.objects.get_or_create(
        api_key_id=api_key_id,
        idempotency_key=idempotency_key,
        defaults={"tenant_id": tenant_id, "request_hash": request_hash, "created_at": now},
    )
    if is_new or _reclaim(record, request_hash, now):
        return record
    if record.request_hash != request_hash:
        raise Conflict("idempotency_key_reused", "This Idempotency-Key was already used for another request.")
    if record.answer is None:
        raise Conflict("idempotency_key_in_use", "The first request with this Idempotency-Key is still running.")
    return record


def renew_idempotency_claim(record: IdempotencyRecord, *, now: datetime) -> None:
    """Keep the claim of a request that still runs."""
    if IdempotencyRecord.objects.filter(pk=record.pk, status=None).update(created_at=now):
        record.created_at = now


def store_response(
    record: IdempotencyRecord, *, status: int, body: Any, headers: dict[str, str]
) -> IdempotencyRecord | None:
    """Store the response for repetitions; return the record of the one that was stored first, if it is another.

    Another request has the claim if this process was stopped for longer than a claim lasts. Both then get one response.
    """
    answer = {"body": body, "headers": headers}
    key = {"api_key_id": record.api_key_id, "idempotency_key": record.idempotency_key}
    claim = IdempotencyRecord.objects.filter(**key, request_hash=record.request_hash, status=None)
    if claim.update(status=status, answer=answer):
        return None
    values = {name: getattr(record, name) for name in ("tenant_id", "request_hash", "created_at")}
    first, is_new = IdempotencyRecord.objects.get_or_create(
        **key, defaults={**values, "status": status, "answer": answer}
    )
    return None if is_new or first.request_hash != record.request_hash else first


def release_idempotency_key(record: IdempotencyRecord) -> None:
    """Delete the claim of a failed request, so that the client can retry; not one that was renewed or taken over."""
    IdempotencyRecord.objects.filter(pk=record.pk, status=None, created_at=record.created_at).delete()


def _reclaim(record: IdempotencyRecord, request_hash: str, now: datetime) -> bool:
    kept = timedelta(hours=RESPONSE_TTL_HOURS) if record.status else timedelta(seconds=CLAIM_SECONDS)
    if record.created_at > now - kept:
        return False
    expired = IdempotencyRecord.objects.filter(pk=record.pk, created_at=record.created_at, status=record.status)
    if not expired.update(request_hash=request_hash, status=None, answer=None, created_at=now):
        return False
    record.answer, record.created_at, record.request_hash = None, now, request_hash
    return True
