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
from compaction.sessions.actions import append_messages, expand_message, pin_message
from compaction.sessions.api.sessions import SessionEndpointBase
from compaction.sessions.serializers import messages as schemas
from memories.services.store.drafts import FieldProblem
from memories.store.api.schema import list_operation, operation
from memories.tenancy.api.body_limits import LARGE_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import WRITE
from memories.tenancy.exceptions import invalid
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput, cached_serializer, flat_errors, validate_input

_FUNCTION = {"name": "calendar", "arguments": '{"day": "2026-05-09"}'}
_CALLS = [{"id": "call_1", "type": "function", "function": _FUNCTION}]
_TURNS = [
    {"role": "user", "content": "What is on for tomorrow?", "source_id": "turn-1"},
    {"role": "assistant", "content": None, "tool_calls": _CALLS},
    {"role": "tool", "tool_call_id": "call_1", "name": "calendar", "content": "10:00 dentist"},
]


class MessageListEndpoint(SessionEndpointBase):
    """Append messages to a session; list and search them."""

    body_bytes_max = LARGE_BODY_BYTES

    @operation(
        "messages_append",
        {201: schemas.MessageAppendOutput, 200: schemas.MessageAppendOutput},
        404,
        request=schemas.MessageAppendInput,
        examples={"A question, a tool call and its result": {"messages": _TURNS}},
    )
    @idempotent
    @conditional
    def post(self, request: Request, session_id: UUID) -> Response:
        """Append 1 to 500 messages in their order, all of them or none.

        A message whose `source_id` is already in the session is returned as it is stored.
        """
        rows = self._new_messages(self.body(schemas.MessageAppendInput)["messages"])
        with tenant_scope(self.tenant_id):
            appended = append_messages(
                tenant_id=self.tenant_id,
                session_id=session_id,
                rows=rows,
                reach=self.key.partition_prefix,
                by=self.actor,
                now=self.now,
            )
            # the locked row of the new messages has the counts
            new = next((row.message for row in appended if row.is_new), None)
            session = self.session(session_id) if new is None else new.session
        serialize = cached_serializer(schemas.MessageOutput).to_representation
        results = [{**serialize(row.message), "status": "created" if row.is_new else "existing"} for row in appended]
        code = status.HTTP_201_CREATED if any(row.is_new for row in appended) else status.HTTP_200_OK
        pressure = {name: getattr(session, name) for name in ("message_count", "context_tokens", "pressure")}
        return Response({"results": results, **pressure}, status=code)

    @list_operation("messages_list", schemas.MessageOutput, 404, query=schemas.MessageListInput)
    def get(self, request: Request, session_id: UUID) -> Response:
        """Messages in order, with original content and state; `q` searches their text. Closed sessions are readable."""
        values = self.query(schemas.MessageListInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
        rows = Message.objects.for_tenant(self.tenant_id).of_session(session.pk).originals().without_vectors()
        rows = rows.containing_text(values["q"]) if "q" in values else rows
        rows = rows.in_state(values["state"]) if "state" in values else rows
        rows = rows.of_role(values["role"]) if "role" in values else rows
        rows = rows.from_sequence(values["after"] + 1) if "after" in values else rows
        return self.listing(rows, values, schemas.MessageOutput, ordering="sequence")

    def _new_messages(self, rows: Sequence[Any]) -> list[NewMessage]:
        context = {"now": self.now, "key": self.key}
        checked: list[NewMessage] = []
        problems: list[FieldProblem] = []
        for index, row in enumerate(rows):
            try:
                values = validate_input(schemas.MessageInput, row, context)
            except ValidationError as error:
                for fault in flat_errors(error.detail):
                    name = f"messages.{index}.{fault['field']}".rstrip(".")
                    problems.append(FieldProblem(name, fault["code"], fault["detail"]))
            else:
                nullable = {"content": "", "name": "", "tool_call_id": "", "tool_calls": ()}
                absent = {name: empty for name, empty in nullable.items() if values[name] is None}
                checked.append(NewMessage(**{**values, **absent}))
        if problems:
            raise invalid(problems)
        return checked


class MessageEndpointBase(Endpoint):
    """The base of the endpoints of one message."""

    scopes = WRITE
    output = schemas.MessageOutput

    def message(self, message_id: UUID) -> Message:
        """Return the message within the key's reach."""
        return find_message(tenant_id=self.tenant_id, message_id=message_id, reach=self.key.partition_prefix)

    edited_row = message


class MessageEndpoint(MessageEndpointBase):
    """Read or pin a message."""

    @operation("messages_read", {200: schemas.MessageOutput, 304: None}, 404)
    def get(self, request: Request, message_id: UUID) -> Response:
        """The original, also of a masked or compacted message."""
        return self.answer_with_etag(lambda: self.shown(message_id))

    @operation(
        "messages_change",
        {200: schemas.MessageOutput},
        404,
        409,
        request=schemas.MessageChanges,
        examples={"Pin": {"pinned": True}},
    )
    @conditional
    def patch(self, request: Request, message_id: UUID) -> Response:
        """Pin the message, so that it is never compacted and comes first in contexts, or unpin it."""
        pinned = self.body(schemas.MessageChanges)["pinned"]
        with tenant_scope(self.tenant_id):
            message = pin_message(message=self.message(message_id), pinned=pinned, by=self.actor, now=self.now)
        return Response(schemas.MessageOutput(message).data)


class MessageExpandEndpoint(MessageEndpointBase):
    """Expand a masked message."""

    @operation("messages_expand", {200: schemas.MessageOutput}, 404)
    @idempotent
    @conditional
    def post(self, request: Request, message_id: UUID) -> Response:
        """Show a masked message in full again; a live one stays as it is, a compacted one answers 409 (`compacted`)."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            message = expand_message(message=self.message(message_id), by=self.actor, now=self.now)
        return Response(schemas.MessageOutput(message).data)
