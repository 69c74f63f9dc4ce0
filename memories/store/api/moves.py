"""The endpoint that moves many memories to another partition."""

from typing import Any
from uuid import UUID

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Memory
from memories.services.partitions.paths import PartitionPath
from memories.services.store.bulk import BULK_MEMORIES_MAX
from memories.store.actions.bulk import BulkActionResult, move_memories
from memories.store.api.schema import IF_MATCH, operation
from memories.store.serializers.answers import content_etag
from memories.store.serializers.moves import MemoryMoveInput, MemoryMoveOutput
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import require_etag
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import WRITE, readable_partition, require_reach
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import write_in_tenant_scope
from memories.tenancy.serializers.partitions import requested_segments

_RENAME = {"Another user": {"filter": {"user_id": "alex"}, "to": "user=alexander", "dry_run": True}}


class MemoryMoveEndpoint(Endpoint):
    """Move up to 1,000 memories at once."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = WRITE

    @operation(
        "memories_move", {200: MemoryMoveOutput}, request=MemoryMoveInput, examples=_RENAME, parameters=[IF_MATCH]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Move live memories, selected by id or filter, into one partition, each as a new version.

        A memory whose text or `source_id` is there already is skipped. If more memories match than one action takes,
        the newest are moved; repeat until `has_more` is false. `POST acts/{act_id}/undo` undoes the move.
        A dry run returns the `ETag` of what would be done. With it as `If-Match`, the same request without `dry_run`
        gets 412 if something else would be done now, or if one of the selected memories was changed.
        """
        values = self.body(MemoryMoveInput)
        to: PartitionPath = values["to"]
        require_reach(self.key, to.path, "to")

        def move() -> tuple[BulkActionResult, dict[str, Any], str]:
            seen = self._chosen(values, to)
            has_more = len(seen) > BULK_MEMORIES_MAX
            selected = dict(list(seen.items())[:BULK_MEMORIES_MAX])
            absent = len(set(values["ids"])) - len(seen) if "ids" in values else 0
            with transaction.atomic():
                done = self._moved(selected, to)
                skipped = {**done.left, **({"not_found": absent} if absent else {})}
                answer = {"to": to.path, "moved": done.count, "skipped": skipped, "has_more": has_more}
                versions = {str(pk): version for pk, version in selected.items()}
                etag = content_etag({**answer, "versions": versions})
                require_etag(request, lambda: etag)  # the rows are locked by now
                transaction.set_rollback(values["dry_run"])  # a dry run moves the memories and rolls back
            return done, answer, etag

        done, answer, etag = write_in_tenant_scope(self.tenant_id, move)
        shown = MemoryMoveOutput({**answer, "act_id": None if values["dry_run"] else done.act.pk}).data
        return Response(shown, headers={"ETag": etag} if values["dry_run"] else None)

    def _moved(self, selected: dict[UUID, int], to: PartitionPath) -> BulkActionResult:
        """Move the memories. If none can be moved, raise `StaleVersion` with `If-Match`, else `Conflict`."""
        try:
            if not selected:
                raise Conflict("nothing_left", "Nothing was moved: no memory matches.")
            return move_memories(tenant_id=self.tenant_id, seen=selected, to=to, by=self.actor, now=self.now)
        except Conflict:
            require_etag(self.request, lambda: "")
            raise

    def _chosen(self, values: dict[str, Any], to: PartitionPath) -> dict[UUID, int]:
        """Return the memories to move with their versions; ids that the key cannot reach are skipped."""
        rows = Memory.objects.for_tenant(self.tenant_id)
        if "ids" in values:
            own = rows.within(self.key.partition_prefix).with_ids(values["ids"])
            return own.versions()
        filters = values["filter"]
        partition = readable_partition(self.key, filters["partition"], "filter.partition")
        rows = rows.live(self.now).within(partition.path, exact=filters["exact"])
        rows = rows.with_segments(requested_segments(filters)).elsewhere(to.path)
        rows = rows.created_between(filters.get("created_after"), filters.get("created_before"))
        rows = rows.of_kind(filters["kind"]) if "kind" in filters else rows
        rows = rows.pinned(filters["pinned"]) if "pinned" in filters else rows
        return rows.page("-created_at", count=BULK_MEMORIES_MAX + 1).versions()
