"""Endpoints of messages: append, list and search, pin, expand."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Message
from compaction.pipeline.session_rows import find_message
from compaction.services.sessions.drafts import NewMessage
from compaction.sessions.actions.messages import append_messages, expand_message, pin_message
from compaction.sessions.api.sessions import SessionEndpointBase
from compaction.sessions.api.sessions_schema import (
    append_schema,
    expand_schema,
    message_patch_schema,
    message_read_schema,
    messages_schema,
)
from compaction.sessions.serializers.messages import (
    MessageAppendInput,
    MessageChanges,
    MessageInput,
    MessageListInput,
    serialize_message,
    serialize_pressure,
)
from memories.services.store.drafts import FieldProblem
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import invalid
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput, flat_errors


class MessageListEndpoint(SessionEndpointBase):
    """Append to a session; list and search its messages."""

    @append_schema
    @idempotent
    def post(self, request: Request, session_id: UUID) -> Response:
        """Append 1 to 500 messages in their order, all of them or none.

        A message whose `source_id` the session knows is answered as it is there.
        """
        rows = self._new_messages(self.body(MessageAppendInput)["messages"])
        with tenant_scope(self.tenant_id):
            session = self.session(session_id)
            appended = append_messages(session_id=session.pk, rows=rows, by=self.actor, now=self.now)
            session = self.session(session_id)
        results = [
            {**serialize_message(row.message), "status": "created" if row.is_new else "existing"} for row in appended
        ]
        code = status.HTTP_201_CREATED if any(row.is_new for row in appended) else status.HTTP_200_OK
        return Response({"results": results, **serialize_pressure(session)}, status=code)

    @messages_schema
    def get(self, request: Request, session_id: UUID) -> Response:
        """The originals in their order with their state; `q` finds words of their text. Also of a closed session."""
        values = self.query(MessageListInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
        rows = Message.objects.for_tenant(self.tenant_id).of_session(session.pk).originals().without_vectors()
        rows = rows.mentioning(values["q"]) if "q" in values else rows
        rows = rows.in_state(values["state"]) if "state" in values else rows
        rows = rows.of_role(values["role"]) if "role" in values else rows
        rows = rows.from_sequence(values["after"] + 1) if "after" in values else rows
        return self.listing(rows, values, ordering="sequence", kinds=(int, UUID), answer=serialize_message)

    def _new_messages(self, rows: Sequence[Any]) -> list[NewMessage]:
        """Every row checked by itself, its faults named by its place."""
        # One serializer checks all rows: making it costs more than using it.
        checker = MessageInput(context={"now": self.now, "key": self.key})
        checked: list[NewMessage] = []
        problems: list[FieldProblem] = []
        for index, row in enumerate(rows):
            try:
                values = checker.run_validation(row)
            except ValidationError as error:
                for fault in flat_errors(error.detail):
                    name = f"messages[{index}].{fault['field']}".rstrip(".")
                    problems.append(FieldProblem(name, fault["code"], fault["detail"]))
            else:
                absent = {name: "" for name in ("content", "name", "tool_call_id") if values[name] is None}
                calls = values["tool_calls"]
                checked.append(NewMessage(**{**values, **absent, "tool_calls": [] if calls is None else calls}))
        if problems:
            raise invalid(problems)
        return checked


class MessageEndpointBase(SessionEndpointBase):
    """What the endpoints of one message share."""

    def message(self, message_id: UUID) -> Message:
        """The message within the key's reach."""
        return find_message(tenant_id=self.tenant_id, message_id=message_id, reach=self.key.partition_prefix)


class MessageEndpoint(MessageEndpointBase):
    """One message."""

    @message_read_schema
    def get(self, request: Request, message_id: UUID) -> Response:
        """The original, whatever became of it."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            return Response(serialize_message(self.message(message_id)))

    @message_patch_schema
    def patch(self, request: Request, message_id: UUID) -> Response:
        """Pin the message, so that it is never compacted and comes first in contexts, or let it go."""
        pinned = self.body(MessageChanges)["pinned"]
        with tenant_scope(self.tenant_id):
            message = pin_message(message=self.message(message_id), pinned=pinned, by=self.actor, now=self.now)
        return Response(serialize_message(message))


class MessageExpandEndpoint(MessageEndpointBase):
    """The original of a masked message."""

    @expand_schema
    @idempotent
    def post(self, request: Request, message_id: UUID) -> Response:
        """Put a masked message back into the context as it was said. Any other is answered as it is."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            message = expand_message(message=self.message(message_id), by=self.actor, now=self.now)
        return Response(serialize_message(message))
