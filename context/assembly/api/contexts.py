"""Endpoints of contexts: ask for one, read a receipt, list receipts."""

from datetime import datetime
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.requests import build_context_request
from context.assembly.api.schema import context_schema, receipt_schema, receipts_schema
from context.assembly.orchestrator import assemble_context
from context.assembly.serializers.contexts import ContextInput
from context.assembly.serializers.receipts import ReceiptInput, ReceiptListInput, serialize_receipt_row
from context.receipts.storing import list_receipts, read_receipt
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_scope
from memories.tenancy.scopes import tenant_scope


class ContextEndpoint(Endpoint):
    """Assemble a context."""

    @context_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """The best text for a query within a token budget, with its receipt. A preview needs the scope read only."""
        values = self.body(ContextInput)
        if not values["preview"]:
            require_scope(self.key, "write")
        context = assemble_context(
            build_context_request(self.key, values),
            tenant_id=self.tenant_id,
            reach=self.key.partition_prefix,
            actor=self.actor,
            now=self.now,
        )
        return Response(context.as_answer(explain=values["explain"]))


class ReceiptEndpoint(Endpoint):
    """One context again."""

    @receipt_schema
    def get(self, request: Request, receipt_id: UUID) -> Response:
        """The context as it was given; `explain=true` adds every candidate and the retrieval plan."""
        values = self.query(ReceiptInput)
        with tenant_scope(self.tenant_id):
            stored = read_receipt(tenant_id=self.tenant_id, receipt_id=receipt_id, reach=self.key.partition_prefix)
        return Response(stored.as_answer(explain=values["explain"]))


class ReceiptListEndpoint(Endpoint):
    """The receipts within the key's reach."""

    @receipts_schema
    def get(self, request: Request) -> Response:
        """Receipts, newest first, without their texts."""
        values = self.query(ReceiptListInput)
        partition = readable_partition(self.key, values["partition"])
        rows = list_receipts(
            tenant_id=self.tenant_id,
            reach=self.key.partition_prefix,
            partition=partition.path,
            key_prefix=values.get("key", ""),
            after=values.get("created_after"),
            before=values.get("created_before"),
            asking=values.get("q", ""),
        )
        rows = rows.in_partition(partition.path) if values["exact"] else rows
        rows = rows.for_model(values["model"]) if "model" in values else rows
        return self.listing(
            rows.with_keys(),
            values,
            ordering="-created_at",
            kinds=(datetime, UUID),
            answer=serialize_receipt_row,
        )
