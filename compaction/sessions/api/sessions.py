"""Endpoints of sessions."""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Session
from compaction.pipeline.session_rows import find_session
from compaction.sessions.actions.sessions import close_session, create_session, restore_session, update_session
from compaction.sessions.serializers.sessions import (
    CLOSED_SESSION_STATE,
    OPEN,
    SESSION_LIST_ORDERINGS,
    SessionChanges,
    SessionInput,
    SessionListInput,
    SessionOutput,
    SessionPageOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import WRITE, readable_partition, writable_partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition, requested_segments
from memory_platform.rest.pages import CursorPosition, build_page, position_to_row
from memory_platform.rest.serializers import EmptyInput

_document = partial(extend_schema, tags=["sessions"])
_NEW_SESSION = OpenApiExample(
    "A support agent's session",
    {
        "model": "gpt-4o",
        "max_context_tokens": 32000,
        "directive": "You help Alex plan meetings.",
        "user_id": "alex",
        "metadata": {"channel": "chat"},
    },
    request_only=True,
)


class SessionEndpointBase(Endpoint):
    """Shared by the endpoints of one session."""

    scopes = WRITE

    def session(self, session_id: UUID, *, is_open: bool = True) -> Session:
        """The session within the key's reach; a closed one only unless `is_open`."""
        return find_session(
            tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix, is_open=is_open
        )

    def answer(self, session_id: UUID, status_code: int = 200) -> Response:
        """The session as it is now."""
        with tenant_scope(self.tenant_id):
            return Response(SessionOutput(self.session(session_id)).data, status=status_code)


class SessionListEndpoint(SessionEndpointBase):
    """Open a session; list sessions."""

    @_document(
        operation_id="sessions_create",
        request=SessionInput,
        examples=[_NEW_SESSION],
        parameters=[IDEMPOTENCY_KEY],
        responses=response_schemas({201: SessionOutput}, 409, 413),
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Open a session without messages. Its window is the model's by default."""
        values = self.body(SessionInput)
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

    @_document(
        operation_id="sessions_list",
        parameters=[SessionListInput],
        responses=response_schemas({200: SessionPageOutput}),
    )
    def get(self, request: Request) -> Response:
        """Sessions that meet the query parameters: open ones by default."""
        values = self.query(SessionListInput)
        partition = readable_partition(self.key, values["partition"])
        ordering = values["ordering"]
        column, kind = SESSION_LIST_ORDERINGS[ordering.removeprefix("-")]

        def rows_from(place: CursorPosition | None, count: int) -> list[Session]:
            rows = Session.objects.for_tenant(self.tenant_id).within(partition.path, exact=values["exact"])
            rows = rows.with_segments(requested_segments(values)).with_pressure().with_current()
            rows = rows.open() if values["state"] == OPEN else rows
            rows = rows.closed() if values["state"] == CLOSED_SESSION_STATE else rows
            rows = rows.at_least(values["min_pressure"]) if "min_pressure" in values else rows
            by = ordering.replace("pressure", column)
            return list(rows.page(by, **position_to_row(place), count=count))

        with tenant_scope(self.tenant_id):
            page = build_page(
                request,
                values,
                ordering=ordering,
                kinds=(kind, UUID),
                rows_from=rows_from,
                place_of=lambda session: (getattr(session, column), session.pk),
                answer=SessionOutput().to_representation,
            )
        return Response(page)


class SessionEndpoint(SessionEndpointBase):
    """One session."""

    @_document(operation_id="sessions_read", responses=response_schemas({200: SessionOutput}, 404))
    def get(self, request: Request, session_id: UUID) -> Response:
        """The session as it is now, with its pressure."""
        self.query(EmptyInput)
        return self.answer(session_id)

    @_document(
        operation_id="sessions_change",
        request=SessionChanges,
        examples=[OpenApiExample("A smaller window", {"max_context_tokens": 16000}, request_only=True)],
        responses=response_schemas({200: SessionOutput}, 404, 409, 413),
    )
    def patch(self, request: Request, session_id: UUID) -> Response:
        """Change directive, model, window or metadata; with another model every message is counted again."""
        changes: dict[str, Any] = self.body(SessionChanges)
        with tenant_scope(self.tenant_id):
            update_session(session=self.session(session_id), changes=changes, by=self.actor, now=self.now)
        return self.answer(session_id)

    @_document(operation_id="sessions_close", responses=response_schemas({204: None}, 404))
    def delete(self, request: Request, session_id: UUID) -> Response:
        """Close the session; it can be restored. Closing twice is no error."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
            close_session(session=session, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionRestoreEndpoint(SessionEndpointBase):
    """Restore a closed session."""

    @_document(operation_id="sessions_restore", request=None, responses=response_schemas({200: SessionOutput}, 404))
    def post(self, request: Request, session_id: UUID) -> Response:
        """Open a closed session again; an open one stays as it is."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
            restore_session(session=session, by=self.actor, now=self.now)
        return self.answer(session_id)
