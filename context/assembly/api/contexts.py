"""Endpoints of contexts: ask for one, read a receipt, list receipts."""

from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.schema import context_schema, receipt_schema, receipts_schema
from context.assembly.orchestrator import assemble_context
from context.assembly.serializers.contexts import ContextInput
from context.assembly.serializers.receipts import ReceiptInput, ReceiptListInput, serialize_receipt_row
from context.receipts.results import DEFAULT_RENDER, ContextRequest, Focus
from context.receipts.storing import list_receipts, read_receipt
from memories.models import ApiKey
from memories.services.partitions.paths import PartitionPath
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import readable_partition, require_scope
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_segments

#: In a body, null means the same as omitting the field.
NULLABLE = ("query", "model", "profile", "budget_profile", "packer", "ordering", "render", "summary_style")


def build_context_request(key: ApiKey, values: dict[str, Any]) -> ContextRequest:
    """Return the request that the `values` of a `ContextInput` describe, within the key's reach."""
    given = {name: values[name] for name in NULLABLE if values[name] is not None}
    return ContextRequest(
        focus=_focus(key, values["focus"]),
        partition=_path(key, values["partition"]),
        exact=values["exact"],
        segments=requested_segments(values),
        max_tokens=values["max_tokens"],
        include_tenant_memo=values["include_tenant_memo"],
        include_summaries_at=values["include_summaries_at"],
        include_linked_memories=values["include_linked_memories"],
        include_memories_top_k=values["include_memories_top_k"],
        as_of=values["as_of"],
        stable_with=values["stable_with"],
        explain=values["explain"],
        preview=values["preview"],
        **{"render": DEFAULT_RENDER, **given},
    )


def _focus(key: ApiKey, values: dict[str, Any] | None) -> Focus | None:
    if values is None:
        return None
    path = None if values["partition"] is None else _path(key, values["partition"], "focus.partition")
    return Focus(memory_id=values.get("memory_id"), summary_id=values.get("summary_id"), partition=path)


def _path(key: ApiKey, requested: PartitionPath | None, field: str = "partition") -> str:
    """Return the requested path, or "", which means all that the key reaches."""
    return "" if requested is None else readable_partition(key, requested, field).path


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
