"""Endpoints of compactions and of events, which are their jobs."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import Compaction, Run
from compaction.pipeline import orchestrator
from compaction.pipeline.actions import request_compaction, retry_compaction_run
from compaction.pipeline.plans import plan_session
from compaction.pipeline.policies import session_policy
from compaction.pipeline.queries import CompactionQuerySet
from compaction.pipeline.serializers import compactions as schemas
from compaction.review import actions
from compaction.review.queries import allowed_review_actions
from compaction.services.pipeline import states
from compaction.sessions.api.sessions import SessionEndpointBase
from compaction.tasks import enqueue_compaction
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional
from memories.tenancy.api.idempotency import idempotent, idempotent_in_steps
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import last_write_scope, tenant_scope
from memory_platform.rest.serializers import EmptyInput

_EXAMPLES: dict[str, dict[str, Any]] = {
    "Approve": {"action": "approve", "reason": "Nothing is missing."},
    "Edit": {"action": "edit", "text": "Alex moved to Lisbon on 3 May 2026.", "edit_version": 0},
    "Replace a statement by a candidate": {"action": "swap", "remove": 4, "add": 1, "edit_version": 0},
    "Strike a fact of the journal": {"action": "strike", "entry": 2},
    "Append what is missing": {"action": "append_missing"},
    "Mark as reviewed": {"action": "mark_reviewed"},
    "Roll back": {"action": "rollback", "reason": "The dates are wrong."},
}
_COMPACT_ANSWER = PolymorphicProxySerializer(
    component_name="CompactAnswer",
    serializers=[schemas.DryRunOutput, schemas.FinishedCompactionOutput],
    resource_type_field_name=None,
)
_ACTIONS: dict[str, Callable[..., Compaction]] = {
    states.APPROVE: actions.approve_compaction,
    states.REJECT: actions.reject_compaction,
    states.EDIT: actions.edit_compaction_summary,
    states.SWAP: actions.swap_summary_statement,
    states.STRIKE: actions.strike_journal_entry,
    states.APPEND_MISSING: actions.append_missing_facts,
    states.ROLL_BACK: actions.roll_back_compaction,
    states.REOPEN: actions.reopen_compaction,
    states.MARK_REVIEWED: actions.mark_compaction_reviewed,
}


class CompactionEndpointBase(SessionEndpointBase):
    """The base of the endpoints of compactions: rows within reach, answers and pages."""

    def rows(self) -> CompactionQuerySet:
        """Return the compactions of sessions within the key's reach."""
        rows: CompactionQuerySet = Compaction.objects.for_tenant(self.tenant_id)
        return rows.within(self.key.partition_prefix).with_sessions()

    def compaction(self, compaction_id: UUID) -> Compaction:
        """Return one compaction; inside a scope. Raises `NotFound`."""
        return find_row(self.rows().with_id(compaction_id), Compaction)

    edited_row = compaction  # type: ignore[assignment]

    def shown(self, compaction_id: UUID) -> dict[str, Any]:
        """Return the answer for a compaction with the review actions that are allowed now."""
        with tenant_scope(self.tenant_id):
            row = self.compaction(compaction_id)
            run = Run.objects.for_tenant(self.tenant_id).of_compaction(row.pk).newest_first().first()
            context = {"event_id": run.pk if run else None, "allowed_actions": allowed_review_actions(row)}
            return schemas.CompactionOutput(row, context=context).data

    def started(self, run: Run) -> Response:
        """Return the answer for a run that a worker executes."""
        return Response(schemas.StartedRunOutput(run).data, status=status.HTTP_202_ACCEPTED)

    def page(self, rows: CompactionQuerySet, values: dict[str, Any]) -> Response:
        """Return a page of compactions, newest first."""
        rows = rows.in_state(values["state"]) if "state" in values else rows
        rows = rows.to_review() if values["to_review"] else rows
        return self.listing(rows, values, schemas.CompactionRowOutput)


class SessionCompactEndpoint(CompactionEndpointBase):
    """Compact a session."""

    @operation(
        "sessions_compact",
        {200: _COMPACT_ANSWER, 202: schemas.StartedRunOutput},
        404,
        tag="compaction",
        request=schemas.CompactSessionInput,
        examples={"Dry run": {"dry_run": True}, "Compact and wait": {"wait": True}},
        parameters=[IF_MATCH],
    )
    @idempotent_in_steps
    def post(self, request: Request, session_id: UUID) -> Response:
        """Compact the session, in a worker or while you wait, or report what would be done."""
        values = self.body(schemas.CompactSessionInput)
        if values["wait"]:
            self.begin_slow_request()
        with (tenant_scope if values["wait"] else last_write_scope)(self.tenant_id):
            session = self.session(session_id)
            self.require_state(session_id)
            if values["dry_run"]:
                plan = plan_session(session, session_policy(session), is_forced=True)
                return Response(schemas.DryRunOutput(plan, context={"pressure": session.pressure}).data)
            run = request_compaction(session=session, is_enqueued=not values["wait"], by=self.actor, now=self.now)
            if values["wait"]:
                self.note_partial_write()
        return self._run_and_respond(run) if values["wait"] else self.started(run)

    def _run_and_respond(self, run: Run) -> Response:
        orchestrator.run_compaction(
            self.tenant_id,
            run.pk,
            now=self.now,
            time_limit=orchestrator.WAITING_TIME_LIMIT,
            can_wait=False,
            enqueue=enqueue_compaction,
        )
        answer = self.shown(UUID(str(run.compaction_id)))
        if answer["state"] == Compaction.State.PENDING:
            return self.started(run)
        return Response({**schemas.StartedRunOutput(run).data, "state": answer["state"], "compaction": answer})


class SessionCompactionListEndpoint(CompactionEndpointBase):
    """The compactions of a session."""

    @list_operation(
        "sessions_compactions_list",
        schemas.CompactionRowOutput,
        404,
        query=schemas.CompactionListInput,
        tag="compaction",
    )
    def get(self, request: Request, session_id: UUID) -> Response:
        """All compactions of the session in any state, newest first."""
        values = self.query(schemas.CompactionListInput)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
        return self.page(self.rows().of_session(session.pk), values)


class CompactionListEndpoint(CompactionEndpointBase):
    """All compactions within reach."""

    @list_operation("compactions_list", schemas.CompactionRowOutput, query=schemas.CompactionListInput)
    def get(self, request: Request) -> Response:
        """Compactions of all sessions within reach, newest first; `to_review=true` returns the review queue."""
        return self.page(self.rows(), self.query(schemas.CompactionListInput))


class CompactionEndpoint(CompactionEndpointBase):
    """Read a compaction."""

    @operation("compactions_read", {200: schemas.CompactionOutput, 304: None}, 404)
    def get(self, request: Request, compaction_id: UUID) -> Response:
        """The summary with the messages behind each statement, the journal, and what is kept and missing."""
        return self.answer_with_etag(lambda: self.shown(compaction_id))


class CompactionReviewEndpoint(CompactionEndpointBase):
    """Decide on a compaction."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = {"POST": "admin"}

    @operation(
        "compactions_review",
        {200: schemas.CompactionOutput, 202: schemas.StartedRunOutput},
        404,
        request=schemas.ReviewInput,
        examples=_EXAMPLES,
    )
    @idempotent
    @conditional
    def post(self, request: Request, compaction_id: UUID) -> Response:
        """Approve, reject, edit, swap statements, strike or append facts, regenerate, roll back or mark as reviewed.

        A second decision answers 409.
        """
        values = self.body(schemas.ReviewInput)
        action = values.pop("action")
        with tenant_scope(self.tenant_id):
            compaction = self.compaction(compaction_id)
            if action == states.REGENERATE:
                return self.started(
                    actions.regenerate_compaction(compaction=compaction, by=self.actor, now=self.now, **values)
                )
            _ACTIONS[action](compaction=compaction, by=self.actor, now=self.now, **values)
        return Response(self.shown(compaction_id))


class EventEndpointBase(Endpoint):
    """The base of the endpoints of events."""

    scopes = {"POST": "write"}
    output = schemas.EventOutput

    def run(self, event_id: UUID) -> Run:
        """Return a run within the key's reach; inside a scope. Raises `NotFound`."""
        rows = Run.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).with_targets()
        return find_row(rows.with_id(event_id), Run, "event")

    edited_row = run


class EventEndpoint(EventEndpointBase):
    """Read an event."""

    @operation("events_read", {200: schemas.EventOutput, 304: None}, 404)
    def get(self, request: Request, event_id: UUID) -> Response:
        """The progress of a job, and why it failed if it did."""
        return self.answer_with_etag(lambda: self.shown(event_id))


class EventRetryEndpoint(EventEndpointBase):
    """Retry an event."""

    @operation("events_retry", {202: schemas.EventOutput}, 404)
    @idempotent
    @conditional
    def post(self, request: Request, event_id: UUID) -> Response:
        """Retry a failed job."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            retry_compaction_run(run=self.run(event_id), by=self.actor, now=self.now)
            answer = self.shown(event_id)
        return Response(answer, status=status.HTTP_202_ACCEPTED)
