"""Endpoints of compactions: translate, call the verb inside the key's reach, answer."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Compaction, Run
from compaction.pipeline import orchestrator
from compaction.pipeline.actions.compactions import request_compaction
from compaction.pipeline.api.compactions_schema import (
    compact_schema,
    compaction_schema,
    compactions_schema,
    review_schema,
    session_compactions_schema,
)
from compaction.pipeline.plans import plan_session, session_policy
from compaction.pipeline.queries.compactions import CompactionQuerySet
from compaction.pipeline.serializers.compactions import (
    APPEND_MISSING,
    APPROVE,
    EDIT,
    REGENERATE,
    REJECT,
    REOPEN,
    ROLL_BACK,
    CompactionListInput,
    CompactSessionInput,
    ReviewInput,
    serialize_compaction,
    serialize_compaction_row,
    serialize_dry_run,
)
from compaction.pipeline.session_rows import find_session
from compaction.review.actions import (
    append_missing_facts,
    approve_compaction,
    edit_compaction_summary,
    regenerate_compaction,
    reject_compaction,
    reopen_compaction,
    roll_back_compaction,
)
from compaction.review.permitted import allowed_review_actions
from compaction.tasks import enqueue_compaction
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput

_VERBS: dict[str, Callable[..., Compaction]] = {
    APPROVE: approve_compaction,
    REJECT: reject_compaction,
    EDIT: edit_compaction_summary,
    APPEND_MISSING: append_missing_facts,
    ROLL_BACK: roll_back_compaction,
    REOPEN: reopen_compaction,
}


class CompactionEndpointBase(Endpoint):
    """What the endpoints of compactions share."""

    def rows(self) -> CompactionQuerySet:
        """Those of sessions within the key's reach."""
        rows: CompactionQuerySet = Compaction.objects.for_tenant(self.tenant_id)
        return rows.within(self.key.partition_prefix).with_sessions()

    def compaction(self, compaction_id: UUID) -> Compaction:
        """One of them; inside a scope."""
        found: Compaction | None = self.rows().with_id(compaction_id).first()
        if found is None:
            raise NotFound("not_found", "There is no such compaction.")
        return found

    def answer(self, compaction_id: UUID) -> dict[str, Any]:
        """The compaction as it is now, with what may be decided about it."""
        with tenant_scope(self.tenant_id):
            row = self.compaction(compaction_id)
            runs = Run.objects.for_tenant(self.tenant_id).of_compaction(row.pk).newest_first()
            run = runs.first()
            return serialize_compaction(row, event_id=run.pk if run else None, allowed=allowed_review_actions(row))

    def started(self, run: Run) -> dict[str, Any]:
        """What a worker does now."""
        return {"event_id": str(run.pk), "compaction_id": str(run.compaction_id)}

    def page(self, rows: CompactionQuerySet, values: dict[str, Any]) -> Response:
        """A page of them, newest first."""
        rows = rows.in_state(values["state"]) if "state" in values else rows
        return self.listing(
            rows, values, ordering="-created_at", kinds=(datetime, UUID), answer=serialize_compaction_row
        )


class SessionCompactEndpoint(CompactionEndpointBase):
    """Compact a session."""

    scopes = {"POST": "write"}

    @compact_schema
    @idempotent
    def post(self, request: Request, session_id: UUID) -> Response:
        """Have the session compacted, by a worker or while you wait; or be told what would be done."""
        values = self.body(CompactSessionInput)
        if values["dry_run"]:
            return self._told(session_id)
        with tenant_scope(self.tenant_id):
            session = find_session(tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix)
            run = request_compaction(session=session, is_sent=not values["wait"], by=self.actor, now=self.now)
        if not values["wait"]:
            return Response(self.started(run), status=status.HTTP_202_ACCEPTED)
        return self._waited(run)

    def _told(self, session_id: UUID) -> Response:
        with tenant_scope(self.tenant_id):
            session = find_session(tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix)
            plan = plan_session(session, session_policy(session), is_forced=True)
            return Response(serialize_dry_run(session, plan))

    def _waited(self, run: Run) -> Response:
        """Its end, or as a worker's where somebody else has it or the model is to be waited for."""
        orchestrator.run_compaction(
            self.tenant_id,
            run.pk,
            now=self.now,
            time_limit=orchestrator.WAITING_TIME_LIMIT,
            may_wait=False,
            hand_over=enqueue_compaction,
        )
        answer = self.answer(UUID(str(run.compaction_id)))
        if answer["state"] == Compaction.State.PENDING:
            return Response(self.started(run), status=status.HTTP_202_ACCEPTED)
        return Response({**self.started(run), "state": answer["state"], "compaction": answer})


class SessionCompactionListEndpoint(CompactionEndpointBase):
    """The compactions of a session."""

    @session_compactions_schema
    def get(self, request: Request, session_id: UUID) -> Response:
        """All of them, whatever came of them, newest first."""
        values = self.query(CompactionListInput)
        with tenant_scope(self.tenant_id):
            session = find_session(
                tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix, is_open=False
            )
        return self.page(self.rows().of_session(session.pk), values)


class CompactionListEndpoint(CompactionEndpointBase):
    """The queue."""

    @compactions_schema
    def get(self, request: Request) -> Response:
        """Compactions of all sessions within reach, newest first; `state=proposed` are those that wait for review."""
        return self.page(self.rows(), self.query(CompactionListInput))


class CompactionEndpoint(CompactionEndpointBase):
    """One compaction."""

    @compaction_schema
    def get(self, request: Request, compaction_id: UUID) -> Response:
        """The summary with the messages behind each statement, the journal, and what is kept and missing."""
        self.query(EmptyInput)
        return Response(self.answer(compaction_id))


class CompactionReviewEndpoint(CompactionEndpointBase):
    """Decisions about a compaction."""

    scopes = {"POST": "admin"}

    @review_schema
    @idempotent
    def post(self, request: Request, compaction_id: UUID) -> Response:
        """Approve, reject, edit, append what is missing, have made anew, or roll back. A second decision is a 409."""
        values = self.body(ReviewInput)
        action = values.pop("action")
        with tenant_scope(self.tenant_id):
            compaction = self.compaction(compaction_id)
            if action == REGENERATE:
                run = regenerate_compaction(compaction=compaction, by=self.actor, now=self.now, **values)
                return Response(self.started(run), status=status.HTTP_202_ACCEPTED)
            _VERBS[action](compaction=compaction, by=self.actor, now=self.now, **values)
        return Response(self.answer(compaction_id))
