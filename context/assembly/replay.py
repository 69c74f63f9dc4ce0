"""Replay: a context as it was given, or from the same inputs with today's data and profiles."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.assembly.sources import KEY_ACTOR, ContextCaller
from context.models import Receipt
from context.receipts.results import ContextRequest, Focus
from context.receipts.storing import StoredContext, context_text_hash, find_receipt, stored_context
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope


class ReplayMode(StrEnum):
    """The data that a replay reads."""

    RECORDED = "recorded"
    TODAY = "today"


#: Inputs that neither a budget profile nor a default determines.
PLAIN_FIELDS = ("query", "partition", "exact", "segments", "render")


def replay_context(receipt_id: UUID, mode: str, caller: ContextCaller) -> StoredContext:
    """Return the context of a receipt again. Call with no scope open; stores and counts nothing.

    `recorded` renders the versions that it contained, `today` assembles the request again. `is_verified` is true if the
    text matches the original byte for byte. The caller writes the audit entry. Raises `NotFound` for a receipt outside
    of the caller's reach, `InvalidInput` for an unknown mode.
    """
    if mode not in list(ReplayMode):
        raise InvalidInput("invalid_choice", f"Known values: {', '.join(ReplayMode)}.", "mode")
    with tenant_scope(caller.tenant_id):
        receipt = find_receipt(tenant_id=caller.tenant_id, receipt_id=receipt_id, reach=caller.reach)
        if mode == ReplayMode.RECORDED:
            return stored_context(receipt)
    if receipt.api_key_id is not None:  # the key of the receipt decides which profiles apply
        caller = caller._replace(actor=Actor(KEY_ACTOR, receipt.api_key_id, caller.actor.label))
    context = assemble_context(_request_of(receipt), caller, is_audited=False)
    return StoredContext(context, context_text_hash(context.text) == receipt.text_sha256)


def _request_of(receipt: Receipt) -> ContextRequest:
    """Return the request as a preview: the inputs that were given, without those that a default filled in."""
    record: Mapping[str, Any] = receipt.request
    ids = {name: UUID(value) for name, value in (record["focus"] or {}).items() if name != "partition"}
    focus = Focus(**ids, partition=record["focus"].get("partition")) if record["focus"] else None
    plain = [name for name in PLAIN_FIELDS if name != "partition" or focus is None]
    return ContextRequest(
        focus=focus,
        **{name: record[name] for name in {*plain, *record["given"]}},
        as_of=record["as_of"] and datetime.fromisoformat(record["as_of"]),
        stable_with=record["stable_with"] and UUID(record["stable_with"]),
        shares_of=record.get("shares_of"),
        already_shown=[UUID(memory_id) for memory_id in record.get("already_shown", ())],
        explain=True,
        preview=True,
    )
