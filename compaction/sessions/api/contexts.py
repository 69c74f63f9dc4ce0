"""The endpoint of a session's context."""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.pipeline.orchestrator import compact_in_emergency
from compaction.sessions.context import build_session_context
from compaction.sessions.results import SessionContextRequest
from compaction.sessions.serializers.contexts import SessionContextInput, SessionContextOutput
from compaction.tasks import enqueue_compaction
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_scope

_WHOLE = OpenApiExample("What fits the session's window", {}, request_only=True)
SMALL = OpenApiExample(
    "In 2,000 tokens, searching for something else than the last message",
    {"max_tokens": 2000, "query": "When does Alex like to meet?", "preview": True},
    request_only=True,
)

session_context_schema = extend_schema(
    operation_id="sessions_context",
    tags=["sessions"],
    request=SessionContextInput,
    examples=[_WHOLE, SMALL],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: SessionContextOutput}, 404, 409, 413),
)


class SessionContextEndpoint(Endpoint):
    """The context of a session."""

    @session_context_schema
    @idempotent
    def post(self, request: Request, session_id: UUID) -> Response:
        """Directive, memories for the newest message, summary and the newest messages in one exact budget.

        A preview needs the scope read only.
        """
        values = self.body(SessionContextInput)
        if not values["preview"]:
            require_scope(self.key, "write")
        given: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        context = build_session_context(
            SessionContextRequest(session_id=session_id, **given),
            tenant_id=self.tenant_id,
            reach=self.key.partition_prefix,
            actor=self.actor,
            now=self.now,
            compact=partial(compact_in_emergency, enqueue=enqueue_compaction),
        )
        return Response(context.as_answer(explain=values["explain"]))
