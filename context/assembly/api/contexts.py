"""Endpoints of contexts: request one, read a receipt, list receipts."""

from dataclasses import fields
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.orchestrator import assemble_context
from context.assembly.serializers.contexts import ContextInput, ContextOutput
from context.assembly.serializers.receipts import (
    ReceiptInput,
    ReceiptListInput,
    ReceiptOutput,
    ReceiptPageOutput,
    ReceiptRowOutput,
)
from context.assembly.sources import ContextCaller
from context.models import Receipt
from context.receipts.results import ContextRequest, Focus
from context.receipts.storing import read_receipt
from memories.models import ApiKey
from memories.services.partitions.paths import PartitionPath
from memories.store.api.schema import operation
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import response_with_etag
from memories.tenancy.api.idempotency import idempotent_in_steps
from memories.tenancy.api.permissions import readable_partition, require_scope
from memories.tenancy.audit import record_shown
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_segments

_EXAMPLES = {
    "For one question": {"query": "When did Sam move to Lisbon?", "partition": "conversation=7", "max_tokens": 1000},
    "About one memory, in short pieces, with what it links to": {
        "focus": {"memory_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11"},
        "query": "Why did Sam move?",
        "packer": "elastic",
        "summary_style": "compact",
        "include_linked_memories": True,
    },
    "As of a time, without storing anything": {
        "query": "Where does Sam live?",
        "as_of": "2026-05-08T00:00:00+02:00",
        "preview": True,
        "explain": True,
    },
    "Keeping the beginning of an earlier context, so that a provider's cache hits": {
        "query": "And where did Sam work?",
        "stable_with": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20",
    },
}


def build_context_request(key: ApiKey, values: dict[str, Any]) -> ContextRequest:
    """Return the request that the `values` of a `ContextInput` describe, within the key's reach; null means absent."""
    given = {field.name: values.get(field.name) for field in fields(ContextRequest)}
    given |= {
        "focus": _focus(key, values["focus"]),
        "partition": _path(key, values["partition"]),
        "segments": requested_segments(values),
    }
    return ContextRequest(**{name: value for name, value in given.items() if value is not None})


def _focus(key: ApiKey, values: dict[str, Any] | None) -> Focus | None:
    if values is None:
        return None
    path = _path(key, values["partition"], "focus.partition")
    return Focus(values.get("memory_id"), values.get("summary_id"), path)


def _path(key: ApiKey, requested: PartitionPath | None, field: str = "partition") -> str | None:
    """Return the requested path within the key's reach, or None."""
    return None if requested is None else readable_partition(key, requested, field).path


class AssemblingEndpoint(Endpoint):
    """An endpoint that assembles contexts."""

    @property
    def caller(self) -> ContextCaller:
        reach, revision = self.key.partition_prefix, self.key.tenant.settings_revision
        return ContextCaller(self.tenant_id, self.actor, self.now, reach, revision)

    def record_read(self, receipt_id: UUID) -> None:
        """Write the audit entry of a context that is read again."""
        record_shown("read_context", "receipt", receipt_id, tenant_id=self.tenant_id, by=self.actor, now=self.now)


class ContextEndpoint(AssemblingEndpoint):
    """Assemble a context."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("context_create", {200: ContextOutput}, 404, request=ContextInput, examples=_EXAMPLES)
    @idempotent_in_steps
    def post(self, request: Request) -> Response:
        """The best text for a query within a token budget, with its receipt. A preview needs the scope read only."""
        values = self.body(ContextInput)
        if not values["preview"]:
            require_scope(self.key, "write")
        context = assemble_context(build_context_request(self.key, values), self.caller)
        return Response(context.as_answer(explain=values["explain"]))


class ReceiptEndpoint(AssemblingEndpoint):
    """Read a context from its receipt."""

    @operation("context_read", {200: ReceiptOutput, 304: None}, 404, parameters=[ReceiptInput])
    def get(self, request: Request, receipt_id: UUID) -> Response:
        """The context as the agent received it; `explain=true` adds every candidate and the retrieval plan.

        The audit log records the read, once per key, context and hour. Only the response without `explain` has an ETag.
        """
        values = self.query(ReceiptInput)
        with tenant_scope(self.tenant_id):
            stored = read_receipt(tenant_id=self.tenant_id, receipt_id=receipt_id, reach=self.key.partition_prefix)
        self.record_read(receipt_id)
        answer = stored.as_answer(explain=values["explain"])
        return Response(answer) if values["explain"] else response_with_etag(request, answer)


class ReceiptListEndpoint(Endpoint):
    """List the receipts within the key's reach."""

    @operation("contexts_list", {200: ReceiptPageOutput}, parameters=[ReceiptListInput])
    def get(self, request: Request) -> Response:
        """Receipts, newest first, without their texts."""
        values = self.query(ReceiptListInput)
        rows = Receipt.objects.for_tenant(self.tenant_id).listed(
            reach=self.key.partition_prefix,
            partition=readable_partition(self.key, values["partition"]).path,
            exact=values["exact"],
            key_prefix=values.get("key", ""),
            model=values.get("model", ""),
            after=values.get("created_after"),
            before=values.get("created_before"),
            asking=values.get("q", ""),
        )
        return self.listing(rows.with_keys(), values, ReceiptRowOutput)
