"""Endpoints of the hygiene lists: read a list, act on its rows, undo an act."""

from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from memories.hygiene import findings, serializers
from memories.hygiene.actions import perform_hygiene_action, undo_hygiene
from memories.hygiene.findings import HygieneActionEffect
from memories.models import Memory, StoredAct
from memories.services.hygiene.rules import LISTS, HygieneList
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag
from memories.tenancy.api.endpoint import ALL_METHODS, Endpoint
from memories.tenancy.api.etags import conditional, require_etag
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import WRITE, readable_partition
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope, write_in_tenant_scope
from memory_platform.rest.serializers import EmptyInput

_MERGE = {"Merge two pairs": {"action": "merge", "ids": [17, 18]}}


class HygieneListsEndpoint(Endpoint):
    """Return the lengths of all lists."""

    @operation("hygiene_lists", {200: serializers.HygieneListsOutput}, parameters=[serializers.HygieneListsInput])
    def get(self, request: Request) -> Response:
        """Every hygiene list with its meaning and length. For a key with a partition, only its rows count."""
        values = self.query(serializers.HygieneListsInput)
        path = readable_partition(self.key, values["partition"]).path
        with tenant_scope(self.tenant_id):
            lengths = findings.hygiene_list_lengths(self.tenant_id, path, reach=self.key.partition_prefix, now=self.now)
            waiting = findings.comparison_backlog(self.tenant_id, path)
        return Response(serializers.HygieneListsOutput({"results": lengths, "waiting": waiting}).data)


class HygieneListEndpoint(Endpoint):
    """Read one list; act on its rows."""

    scopes = WRITE

    def list_named(self, name: str) -> HygieneList:
        """Return the list. Raises `NotFound`."""
        if name not in LISTS:
            raise NotFound("not_found", f"There is no such list. Lists: {', '.join(LISTS)}.")
        return LISTS[name]

    @list_operation("hygiene_list", serializers.HygieneRowOutput, 404, query=serializers.HygieneListInput)
    def get(self, request: Request, name: str) -> Response:
        """The unresolved rows: pairs of memories, or memories. A key with a partition sees only its rows."""
        values = self.query(serializers.HygieneListInput)
        each = self.list_named(name)
        path = readable_partition(self.key, values["partition"]).path
        sort = values.get("sort") or next(iter(each.sorts))
        if sort not in each.sorts:
            raise InvalidInput("invalid_choice", f"The sort orders of this list are {', '.join(each.sorts)}.", "sort")
        ordering = each.sorts[sort]
        rows = findings.open_rows(self.tenant_id, each, path, self.now).within_reach(self.key.partition_prefix)
        return self.listing(rows.with_memories(), values, serializers.HygieneRowOutput, ordering=ordering)

    @operation(
        "hygiene_action",
        {200: serializers.HygieneActionOutput},
        404,
        request=serializers.HygieneActionInput,
        examples=_MERGE,
        parameters=[IF_MATCH],
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Merge, archive or dismiss rows of the list, all at once; rows that left the list are skipped.

        A dry run returns the `ETag` of what would be done. With it as `If-Match`, the same request without `dry_run`
        gets 412 if something else would be done now, or if one of the memories was changed.
        """
        values, each = self.body(serializers.HygieneActionInput), self.list_named(name)

        def perform() -> tuple[HygieneActionEffect, StoredAct | None]:
            rows = findings.open_rows(self.tenant_id, each, "", self.now).within_reach(self.key.partition_prefix)
            ids = rows.with_ids(values["ids"]).row_ids()
            effect = findings.hygiene_action_effect(
                self.tenant_id, each, values["action"], ids, keep=values["keep"], now=self.now
            )
            changed = Memory.objects.for_tenant(self.tenant_id).with_ids(memory.pk for memory in effect.members)
            require_etag(request, lambda: _effect_etag(effect, changed.locked()))
            if values["dry_run"]:
                return effect, None
            who: dict[str, Any] = {"tenant_id": self.tenant_id, "by": self.actor, "now": self.now}
            return effect, perform_hygiene_action(effect=effect, has_pairs=each.has_pairs, **who)

        effect, act = write_in_tenant_scope(self.tenant_id, perform)
        context = {"act_id": act and act.pk}
        headers = {"ETag": _effect_etag(effect, effect.members)} if values["dry_run"] else None
        return Response(serializers.HygieneActionOutput(effect, context=context).data, headers=headers)


def _effect_etag(effect: HygieneActionEffect, members: Iterable[Memory]) -> str:
    """Return the ETag of a dry run: of its response and of the versions of the memories that it would change."""
    answer = serializers.HygieneActionOutput(effect, context={"act_id": None}).data
    return content_etag({**answer, "versions": {str(memory.pk): memory.version for memory in members}})


class ActEndpointBase(Endpoint):
    """The base of the endpoints of one act. They need a key of the whole tenant."""

    output = serializers.ActOutput
    whole_tenant = ALL_METHODS

    def edited_row(self, act_id: UUID) -> StoredAct:
        """Return the act; inside a scope."""
        return find_row(StoredAct.objects.for_tenant(self.tenant_id).on_memories().with_id(act_id), StoredAct, "act")


class ActEndpoint(ActEndpointBase):
    """Read an act."""

    @operation("acts_read", {200: serializers.ActOutput, 304: None}, 404)
    def get(self, request: Request, act_id: UUID) -> Response:
        """The act, with the time of its undo. An act can be read as long as it can be undone."""
        return self.answer_with_etag(lambda: self.shown(act_id))


class ActUndoEndpoint(ActEndpointBase):
    """Undo an act."""

    scopes = WRITE

    @operation("acts_undo", {200: serializers.UndoneActOutput}, 404)
    @idempotent
    @conditional
    def post(self, request: Request, act_id: UUID) -> Response:
        """Undo a hygiene action or a move, except for memories changed since. Needs a key of the whole tenant.

        After 90 days, only replacements that the list `replaced` contains can be undone (404 otherwise).
        An undo can be undone too, except for that of a merge, replacement or dismissal (409 `is_undo`).
        """
        self.body(EmptyInput)
        undo = partial(undo_hygiene, tenant_id=self.tenant_id, act_id=act_id, by=self.actor, now=self.now)
        undone = write_in_tenant_scope(self.tenant_id, undo)
        return Response(serializers.UndoneActOutput(undone).data)
