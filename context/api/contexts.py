"""Endpoints of contexts: ask for one, read a receipt, list receipts."""

from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from context.api.schema import context_schema, receipt_schema, receipts_schema
from context.assembly import assemble_context
from context.models import Receipt
from context.receipts import read_receipt
from context.results import DEFAULT_RENDER, ContextRequest
from context.serializers import ContextInput, ReceiptInput, ReceiptsInput
from context.serializers.receipts import receipt_row_answer
from memories.api.door import Door
from memories.api.idempotency import idempotent
from memories.api.permissions import partition_to_read, require_scope
from memories.scopes import tenant_scope
from memories.serializers.partitions import segments_named

#: Null in a body means the same as leaving the field out.
NULLABLE = ("query", "model", "profile", "budget_profile", "packer", "ordering", "render")


class ContextDoor(Door):
    """Assemble a context."""

    @context_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """The best text for a query within a token budget, with its receipt. A preview needs the scope read only."""
        values = self.body(ContextInput)
        if not values["preview"]:
            require_scope(self.key, "write")
        context = assemble_context(
            self._wish(values),
            tenant_id=self.tenant_id,
            reach=self.key.partition_prefix,
            actor=self.actor,
            now=self.now,
        )
        return Response(context.as_answer(explain=values["explain"]))

    def _wish(self, values: dict[str, Any]) -> ContextRequest:
        given = {name: values[name] for name in NULLABLE if values[name] is not None}
        return ContextRequest(
            partition=partition_to_read(self.key, values["partition"]).path,
            exact=values["exact"],
            segments=segments_named(values),
            max_tokens=values["max_tokens"],
            include_tenant_memo=values["include_tenant_memo"],
            include_memories_top_k=values["include_memories_top_k"],
            stable_with=values["stable_with"],
            explain=values["explain"],
            preview=values["preview"],
            **{"render": DEFAULT_RENDER, **given},
        )


class ReceiptDoor(Door):
    """One context again."""

    @receipt_schema
    def get(self, request: Request, receipt_id: UUID) -> Response:
        """The context as it was given; `explain=true` adds every candidate and the retrieval plan."""
        values = self.query(ReceiptInput)
        with tenant_scope(self.tenant_id):
            stored = read_receipt(tenant_id=self.tenant_id, receipt_id=receipt_id, reach=self.key.partition_prefix)
        return Response(stored.as_answer(explain=values["explain"]))


class ContextsDoor(Door):
    """The receipts within the key's reach."""

    @receipts_schema
    def get(self, request: Request) -> Response:
        """Receipts, newest first, without their texts."""
        values = self.query(ReceiptsInput)
        partition = partition_to_read(self.key, values["partition"])
        rows = Receipt.objects.for_tenant(self.tenant_id).for_reach(partition.path)
        rows = rows.in_partition(partition.path) if values["exact"] else rows
        rows = rows.created_between(values.get("created_after"), values.get("created_before"))
        rows = rows.of_key(values["key"]) if "key" in values else rows
        rows = rows.for_model(values["model"]) if "model" in values else rows
        return self.listing(
            rows.without_details().with_keys(),
            values,
            ordering="-created_at",
            kinds=(datetime, UUID),
            answer=receipt_row_answer,
        )
