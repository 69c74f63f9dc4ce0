"""Repeat the first response for a repeated POST (ADR-0058, ADR-0256)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memories.models import IdempotencyRecord
from memories.tenancy.exceptions import Conflict
from memories.tenancy.queries.prepared import set_locally
from memories.tenancy.scopes import tenant_scope

RESPONSE_TTL_HOURS = 24
#: A claim that is not renewed for this time belongs to a process that died.
CLAIM_SECONDS = 10
#: The status of a claim whose request has committed part of its work but has no response yet.
PARTLY_DONE = 102


def claim_idempotency_key(
    *, tenant_id: UUID, api_key_id: str, idempotency_key: str, request_hash: str, now: datetime
) -> IdempotencyRecord:
    """Return the record to fill, which has no response yet, or the one with the stored response. Opens its own scopes.

    Raises `Conflict`: `idempotency_key_reused` for another request, `idempotency_key_in_use` while the first one runs,
    `idempotency_outcome_unknown` if it ended after a part of its work.
    """
    record = IdempotencyRecord(
        tenant_id=tenant_id,
        api_key_id=api_key_id,
        idempotency_key=idempotency_key,
        request_hash=request_hash,
        created_at=now,
    )
    with tenant_scope(tenant_id, is_pipelined=True):
        # A crash of the database may lose a claim, but everything that was committed later is then lost as well.
        set_locally({"synchronous_commit": "off"})
        is_new = IdempotencyRecord.objects.claim(record)
    if is_new:
        return record
    with tenant_scope(tenant_id):
        found = IdempotencyRecord.objects.filter(api_key_id=api_key_id, idempotency_key=idempotency_key).first()
        # None if it was released at this moment
        record = found or record
        if found and _reclaim(record, request_hash, now):
            return record
    if record.request_hash != request_hash:
        raise Conflict("idempotency_key_reused", "This Idempotency-Key was already used for another request.")
    if record.answer is not None:
        return record
    if record.status == PARTLY_DONE and record.created_at <= now - timedelta(seconds=CLAIM_SECONDS):
        detail = "The first request with this Idempotency-Key ended without a response, perhaps after changing data."
        raise Conflict("idempotency_outcome_unknown", f"{detail} Check what is stored before you send another key.")
    detail = "The first request with this Idempotency-Key is still running."
    raise Conflict("idempotency_key_in_use", detail, retry_after=1)


def renew_idempotency_claim(record: IdempotencyRecord, *, now: datetime) -> None:
    """Keep the claim of a request that still runs."""
    if _unanswered(record).filter(pk=record.pk).update(created_at=now):
        record.created_at = now


def mark_partly_done(record: IdempotencyRecord) -> None:
    """Note that the transaction commits a part of the request: a repetition must not run it again."""
    _unanswered(record).filter(pk=record.pk).update(status=PARTLY_DONE)


def store_response(
    record: IdempotencyRecord, *, status: int, body: Any, headers: dict[str, str]
) -> IdempotencyRecord | None:
    """Store the response for repetitions; return the record of the one that was stored first, if it is another.

    Another request has the claim if this process was stopped for longer than a claim lasts. Both then get one response.
    Called in the transaction of the write, which the caller rolls back if another response was first.
    """
    answer = {"body": body, "headers": headers}
    key = {"api_key_id": record.api_key_id, "idempotency_key": record.idempotency_key}
    claim = _unanswered(record).filter(**key, request_hash=record.request_hash)
    if claim.update(status=status, answer=answer):
        return None
    values = {name: getattr(record, name) for name in ("tenant_id", "request_hash", "created_at")}
    first, is_new = IdempotencyRecord.objects.get_or_create(
        **key, defaults={**values, "status": status, "answer": answer}
    )
    return None if is_new or first.request_hash != record.request_hash else first


def release_idempotency_key(record: IdempotencyRecord) -> None:
    """Delete the claim of a failed request, unless it was taken over, so that the client can retry.

    The claim of a request that committed part of its work stays, because a repeated request would do that part again.
    """
    IdempotencyRecord.objects.filter(pk=record.pk, status=None, created_at=record.created_at).delete()


def _unanswered(record: IdempotencyRecord) -> QuerySet[IdempotencyRecord]:
    rows: QuerySet[IdempotencyRecord] = IdempotencyRecord.objects.for_tenant(record.tenant_id).unanswered()
    return rows


def _reclaim(record: IdempotencyRecord, request_hash: str, now: datetime) -> bool:
    kept = timedelta(hours=RESPONSE_TTL_HOURS) if record.status else timedelta(seconds=CLAIM_SECONDS)
    if record.created_at > now - kept:
        return False
    expired = IdempotencyRecord.objects.filter(pk=record.pk, created_at=record.created_at, status=record.status)
    if not expired.update(request_hash=request_hash, status=None, answer=None, created_at=now):
        return False
    record.answer, record.created_at, record.request_hash = None, now, request_hash
    return True
