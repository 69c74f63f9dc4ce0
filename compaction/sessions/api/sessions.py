"""Endpoints of sessions: translate, call the verb inside the key's scope, answer."""

from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Session
from compaction.pipeline.session_rows import find_session
from compaction.sessions.actions.sessions import close_session, create_session, restore_session, update_session
from compaction.sessions.api.sessions_schema import (
    session_close_schema,
    session_create_schema,
    session_patch_schema,
    session_read_schema,
    session_restore_schema,
    sessions_schema,
)
from compaction.sessions.serializers.sessions import (
    CLOSED_SESSION_STATE,
    OPEN,
    SESSION_LIST_ORDERINGS,
    SessionChanges,
    SessionInput,
    SessionListInput,
    serialize_session,
)
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import WRITE, readable_partition, writable_partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_partition, requested_segments
from memory_platform.rest.pages import CursorPosition, build_page, position_to_row
from memory_platform.rest.serializers import EmptyInput


class SessionEndpointBase(Endpoint):
    """What the endpoints of one session share."""

    scopes = WRITE

    def session(self, session_id: UUID, *, is_open: bool = True) -> Session:
        """The session within the key's reach; a closed one only where it is asked for."""
        return find_session(
            tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix, is_open=is_open
        )

    def answer(self, session_id: UUID, status_code: int = 200) -> Response:
        """The session as it is now."""
        with tenant_scope(self.tenant_id):
            return Response(serialize_session(self.session(session_id)), status=status_code)


class SessionListEndpoint(SessionEndpointBase):
    """Open a session; list sessions."""

    @session_create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Open a session without messages. Its window is the model's unless one is given."""
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

    @sessions_schema
    def get(self, request: Request) -> Response:
        """Sessions that meet the query parameters: open ones, unless others are asked for."""
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
                answer=serialize_session,
            )
        return Response(page)


class SessionEndpoint(SessionEndpointBase):
    """One session."""

    @session_read_schema
    def get(self, request: Request, session_id: UUID) -> Response:
        """The session as it is now, with its pressure."""
        self.query(EmptyInput)
        return self.answer(session_id)

    @session_patch_schema
    def patch(self, request: Request, session_id: UUID) -> Response:
        """Change directive, model, window or metadata; another model counts every message anew."""
        changes: dict[str, Any] = self.body(SessionChanges)
        with tenant_scope(self.tenant_id):
            update_session(session=self.session(session_id), changes=changes, by=self.actor, now=self.now)
        return self.answer(session_id)

    @session_close_schema
    def delete(self, request: Request, session_id: UUID) -> Response:
        """Close the session; it can be restored. Closing twice is no error."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
            close_session(session=session, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionRestoreEndpoint(SessionEndpointBase):
    """Bring a closed session back."""

    @session_restore_schema
    def post(self, request: Request, session_id: UUID) -> Response:
        """Open a closed session again; an open one stays as it is."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
            restore_session(session=session, by=self.actor, now=self.now)
        return self.answer(session_id)
