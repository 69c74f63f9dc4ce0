"""A context again: as it was given, or from the same inputs with the data and the profile of today."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.assembly.requests import OPTIONAL_FIELDS
from context.models import Receipt
from context.receipts.results import ContextRequest, Focus
from context.receipts.storing import StoredContext, context_text_hash, find_receipt, stored_context
from memories.models import AuditEntry
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope


class ReplayMode(StrEnum):
    """Which data a replay reads."""

    RECORDED = "recorded"
    TODAY = "today"


#: Inputs that no budget profile and no default decides.
PLAIN_FIELDS = ("query", "partition", "exact", "segments", "render")


def replay_context(
    *, tenant_id: UUID, receipt_id: UUID, mode: str, reach: str, actor: Actor, now: datetime
) -> StoredContext:
    """The context of a receipt again; called with no scope open, stores and counts nothing.

    `recorded` renders the versions it was made of, `today` assembles what was asked for anew. Either says whether the
    text is, byte for byte, the one that was given. Raises `NotFound` for a receipt outside of `reach`, `InvalidInput`
    for an unknown mode.
    """
    if mode not in list(ReplayMode):
        raise InvalidInput("unknown_choice", f"Known are: {', '.join(ReplayMode)}.", "mode")
    with tenant_scope(tenant_id):
        receipt = find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach)
        if mode == ReplayMode.RECORDED:
            return stored_context(receipt)
    context = assemble_context(
        replay_request(receipt), tenant_id=tenant_id, reach=reach, actor=_asker(receipt, actor), now=now
    )
    return StoredContext(context, context_text_hash(context.text) == receipt.text_sha256)


def replay_request(receipt: Receipt) -> ContextRequest:
    """What was asked for, as a preview: the inputs that were given, with nothing that a default filled in."""
    record: Mapping[str, Any] = receipt.request
    # receipts of the first version know of no focus, no time, and not of what was given
    focus = _focus(record.get("focus") or {})
    given = [name for name in OPTIONAL_FIELDS if name in record.get("given", ())]
    plain = [name for name in PLAIN_FIELDS if name != "partition" or focus is None or focus.partition is None]
    as_of, stable_with = record.get("as_of"), record.get("stable_with")
    return ContextRequest(
        focus=focus,
        **{name: record[name] for name in (*plain, *given)},
        as_of=None if as_of is None else datetime.fromisoformat(as_of),
        stable_with=None if stable_with is None else UUID(stable_with),
        shares_of=record.get("shares_of"),
        already_shown=[UUID(memory_id) for memory_id in record.get("already_shown", ())],
        explain=True,
        preview=True,
    )


def _focus(record: Mapping[str, str]) -> Focus | None:
    if not record:
        return None
    ids = {name: UUID(record[name]) for name in ("memory_id", "summary_id") if name in record}
    return Focus(**ids, partition=record.get("partition"))


def _asker(receipt: Receipt, actor: Actor) -> Actor:
    """Who decides which budget profile applies: the key that asked first, whoever replays."""
    if receipt.api_key_id is None:
        return actor
    return Actor(AuditEntry.ActorKind.KEY, receipt.api_key_id, actor.label)
