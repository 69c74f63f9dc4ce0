"""Endpoints of sessions and of their contexts."""

from functools import partial
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from compaction.models import Session
from compaction.pipeline.orchestrator import compact_in_emergency
from compaction.pipeline.session_rows import find_session
from compaction.sessions.actions import close_session, create_session, restore_session, update_session
from compaction.sessions.context import build_session_context
from compaction.sessions.serializers import sessions as schemas
from compaction.tasks import enqueue_compaction
from context.receipts.results import ContextRequest
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional, require_etag
from memories.tenancy.api.idempotency import idempotent, idempotent_in_steps
from memories.tenancy.api.permissions import WRITE, readable_partition, require_scope, writable_partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition, requested_segments
from memory_platform.rest.serializers import EmptyInput

_NEW_SESSION = {
    "model": "gpt-4o",
    "max_context_tokens": 32000,
    "directive": "You help Alex plan meetings.",
    "user_id": "alex",
    "metadata": {"channel": "chat"},
}
_SMALL = {"max_tokens": 2000, "query": "When does Alex like to meet?", "preview": True}


class SessionEndpointBase(Endpoint):
    """The base of the endpoints of sessions."""

    scopes: dict[str, str] = WRITE
    output: type[Serializer[Any]] = schemas.SessionOutput

    def session(self, session_id: UUID, *, is_open: bool = True) -> Session:
        """Return the session within the key's reach; a closed one only unless `is_open`."""
        return find_session(
            tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix, is_open=is_open
        )

    def answer(self, session_id: UUID, status_code: int = 200) -> Response:
        """Return the session as it is now."""
        with tenant_scope(self.tenant_id):
            answer = schemas.SessionOutput(self.session(session_id)).data
        return Response(answer, status=status_code, headers={"ETag": content_etag(answer)})

    def require_state(self, session_id: UUID) -> None:
        """Raise `StaleVersion` if `If-Match` names another state of the session than the current one."""
        require_etag(self.request, lambda: str(self.answer(session_id)["ETag"]))

    def edited_row(self, session_id: UUID) -> Session:
        """Return the session that `If-Match` is about."""
        return self.session(session_id, is_open=False)


class SessionListEndpoint(SessionEndpointBase):
    """Open a session; list sessions."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation(
        "sessions_create",
        {201: schemas.SessionOutput},
        request=schemas.SessionInput,
        examples={"A support agent's session": _NEW_SESSION},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Open a session without messages. Its window is the model's by default."""
        values = self.body(schemas.SessionInput)
        with tenant_scope(self.tenant_id):
            session = create_session(
                tenant=self.key.tenant,
                partition=writable_partition(self.key, requested_partition(values)),
                model=values["model"] or "",
                max_context_tokens=values["max_context_tokens"],
                directive=values["directive"],
                metadata=values["metadata"],
                by=self.actor,
                now=self.now,
            )
        response = self.answer(session.pk, status.HTTP_201_CREATED)
        response["Location"] = request.build_absolute_uri(f"{request.path_info}/{session.pk}")
        return response

    @list_operation("sessions_list", schemas.SessionOutput, query=schemas.SessionListInput)
    def get(self, request: Request) -> Response:
        """Sessions that meet the query parameters: open ones by default."""
        values = self.query(schemas.SessionListInput)
        partition = readable_partition(self.key, values["partition"])
        column = schemas.SESSION_LIST_ORDERINGS[values["ordering"].removeprefix("-")]
        rows = Session.objects.for_tenant(self.tenant_id).within(partition.path, exact=values["exact"])
        rows = rows.with_segments(requested_segments(values)).with_pressure().with_current()
        rows = rows.open() if values["state"] == schemas.OPEN else rows
        rows = rows.closed() if values["state"] == schemas.CLOSED_SESSION_STATE else rows
        rows = rows.at_least(values["min_pressure"]) if "min_pressure" in values else rows
        return self.listing(rows, values, ordering=values["ordering"], column=column)


class SessionEndpoint(SessionEndpointBase):
    """Read, change or close a session."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("sessions_read", {200: schemas.SessionOutput, 304: None}, 404)
    def get(self, request: Request, session_id: UUID) -> Response:
        """The session as it is now, with its pressure."""
        return self.answer_with_etag(lambda: schemas.SessionOutput(self.session(session_id)).data)

    @operation(
        "sessions_change",
        {200: schemas.SessionOutput},
        404,
        409,
        request=schemas.SessionChanges,
        examples={"A smaller window": {"max_context_tokens": 16000}},
    )
    @conditional
    def patch(self, request: Request, session_id: UUID) -> Response:
        """Change directive, model, window or metadata; with another model every message is counted again."""
        changes: dict[str, Any] = self.body(schemas.SessionChanges)
        with tenant_scope(self.tenant_id):
            update_session(session=self.session(session_id), changes=changes, by=self.actor, now=self.now)
        return self.answer(session_id)

    @operation("sessions_close", {204: None}, 404)
    @conditional
    def delete(self, request: Request, session_id: UUID) -> Response:
        """Close the session; it can be restored. Closing it again has no effect."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            close_session(session=self.session(session_id, is_open=False), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionRestoreEndpoint(SessionEndpointBase):
    """Restore a closed session."""

    @operation("sessions_restore", {200: schemas.SessionOutput}, 404)
    @conditional
    def post(self, request: Request, session_id: UUID) -> Response:
        """Open a closed session again; an open one stays as it is."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            restore_session(session=self.session(session_id, is_open=False), by=self.actor, now=self.now)
        return self.answer(session_id)


class SessionContextEndpoint(SessionEndpointBase):
    """The context of a session."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = {}

    @operation(
        "sessions_context",
        {200: schemas.SessionContextOutput},
        404,
        request=schemas.SessionContextInput,
        examples={
            "What fits the session's window": {},
            "In 2,000 tokens, searching for something else than the last message": _SMALL,
        },
        parameters=[IF_MATCH],
    )
    @idempotent_in_steps
    def post(self, request: Request, session_id: UUID) -> Response:
        """Directive, memories for the newest message, summary and the newest messages in one exact budget.

        A preview needs the scope read only.
        """
        values = self.body(schemas.SessionContextInput)
        if not values["preview"]:
            require_scope(self.key, "write")
        self.require_state(session_id)
        given: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        context = build_session_context(
            ContextRequest(**given),
            session_id=session_id,
            tenant_id=self.tenant_id,
            reach=self.key.partition_prefix,
            actor=self.actor,
            now=self.now,
            compact=partial(compact_in_emergency, enqueue=enqueue_compaction),
        )
        return Response(context.as_answer(explain=values["explain"]))
