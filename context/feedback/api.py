"""Endpoints of feedback: votes on memories and contexts, their history, and what became of a context."""

from datetime import datetime
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.feedback.actions import record_feedback, withdraw_feedback
from context.feedback.api_schema import feedback_list_schema, feedback_schema, outcome_schema, withdraw_schema
from context.feedback.outcomes import record_answer_usage
from context.feedback.serializers import (
    FeedbackInput,
    FeedbackListInput,
    OutcomeInput,
    serialize_answer_usage,
    serialize_feedback,
    serialize_recorded_votes,
)
from context.models import Feedback
from memories.models import Memory
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput

_WRITE = {"POST": "write", "DELETE": "write"}


class FeedbackEndpoint(Endpoint):
    """Judge a memory or a context."""

    scopes = _WRITE

    @feedback_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """A vote on one memory, or on every memory of a context; 200 where all of it stood already."""
        values = self.body(FeedbackInput)
        with tenant_scope(self.tenant_id):
            given = record_feedback(
                tenant_id=self.tenant_id,
                memory_id=values["memory_id"],
                receipt_id=values["context_id"],
                feedback=values["feedback"],
                reason=values["reason"],
                reach=self.key.partition_prefix,
                by=self.actor,
                now=self.now,
            )
        return Response(
            serialize_recorded_votes(given), status=status.HTTP_201_CREATED if given.votes else status.HTTP_200_OK
        )


class FeedbackWithdrawalEndpoint(Endpoint):
    """One vote."""

    scopes = _WRITE

    @withdraw_schema
    def delete(self, request: Request, feedback_id: UUID) -> Response:
        """Take the vote back; it stays in the history and counts no more. Twice is no error."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            withdraw_feedback(
                tenant_id=self.tenant_id,
                feedback_id=feedback_id,
                reach=self.key.partition_prefix,
                by=self.actor,
                now=self.now,
            )
        return Response(status=status.HTTP_204_NO_CONTENT)


class MemoryFeedbackListEndpoint(Endpoint):
    """The votes on one memory."""

    @feedback_list_schema
    def get(self, request: Request, memory_id: UUID) -> Response:
        """Every vote, newest first; also those that were taken back, and of an archived memory.

        A key that did not always reach the memory sees the votes since it does.
        """
        values = self.query(FeedbackListInput)
        with tenant_scope(self.tenant_id):
            if not Memory.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix).with_id(memory_id):
                raise NotFound("not_found", "There is no such memory.")
        rows = Feedback.objects.for_tenant(self.tenant_id).given_within(memory_id, self.key.partition_prefix)
        return self.listing(rows, values, ordering="-at", kinds=(datetime, UUID), answer=serialize_feedback)


class OutcomeEndpoint(Endpoint):
    """What became of a context."""

    scopes = _WRITE

    @outcome_schema
    @idempotent
    def post(self, request: Request, receipt_id: UUID) -> Response:
        """Which memories the model's answer made use of; each gains a little usefulness, at most once a day."""
        answer = self.body(OutcomeInput)["answer"]
        outcome = record_answer_usage(
            tenant_id=self.tenant_id,
            receipt_id=receipt_id,
            answer=answer,
            reach=self.key.partition_prefix,
            by=self.actor,
            now=self.now,
        )
        return Response(serialize_answer_usage(outcome))
