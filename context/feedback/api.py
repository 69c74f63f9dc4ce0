"""Endpoints of feedback: votes on memories and contexts, their history, and the outcome of a context."""

from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.feedback.actions import record_feedback, withdraw_feedback
from context.feedback.outcomes import record_answer_usage
from context.feedback.serializers import (
    AnswerUsageOutput,
    FeedbackInput,
    FeedbackOutput,
    OutcomeInput,
    RecordedVotesOutput,
)
from context.models import Feedback
from context.receipts.storing import read_receipt
from memories.models import Memory
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional, require_etag, require_etags
from memories.tenancy.api.idempotency import idempotent, idempotent_in_steps
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.serializers import EmptyInput

_WRITE = {"POST": "write", "DELETE": "write"}
_EXAMPLES = {
    "On one memory": {
        "memory_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11",
        "feedback": "NEGATIVE",
        "reason": "Alex moved away from Lisbon.",
    },
    "On all memories of a context": {"context_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20", "feedback": "POSITIVE"},
}
_ANSWER = {"answer": "Sam moved to Lisbon in May and lives in a small flat."}


class FeedbackEndpoint(Endpoint):
    """Vote on a memory or a context."""

    scopes = _WRITE

    @operation(
        "feedback_create",
        {201: RecordedVotesOutput, 200: RecordedVotesOutput},
        404,
        request=FeedbackInput,
        examples=_EXAMPLES,
        parameters=[IF_MATCH],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Vote on one memory, or on every memory of a context.

        A key has one vote on each memory and day (UTC); a later one replaces it. 200 if no vote is new. `If-Match`
        names the votes of this day, which must all be as they were.
        """
        values = self.body(FeedbackInput)
        with tenant_scope(self.tenant_id):
            given = record_feedback(
                tenant_id=self.tenant_id,
                receipt_id=values.pop("context_id"),
                **values,
                reach=self.key.partition_prefix,
                by=self.actor,
                now=self.now,
            )
            # the memories, whose votes these are, were locked before
            require_etags(
                request.headers.get("If-Match"),
                lambda: [content_etag(FeedbackOutput(vote).data) for vote in (*given.replaced, *given.repeated)],
            )
        return Response(RecordedVotesOutput(given).data, status=201 if given.has_new else 200)


class FeedbackWithdrawalEndpoint(Endpoint):
    """Read or withdraw a vote."""

    scopes = _WRITE
    output = FeedbackOutput

    def edited_row(self, feedback_id: UUID) -> Feedback:
        """Return the vote, also a withdrawn one, if the list of its memory's votes has it; inside a scope."""
        rows, reach = Feedback.objects.for_tenant(self.tenant_id), self.key.partition_prefix
        vote = find_row(rows.for_reach(reach).with_id(feedback_id), Feedback, "vote")
        return find_row(rows.given_within(vote.memory_id, reach).with_id(feedback_id), Feedback, "vote")

    @operation("feedback_read", {200: FeedbackOutput, 304: None}, 404)
    def get(self, request: Request, feedback_id: UUID) -> Response:
        """The vote, also a withdrawn one."""
        return self.answer_with_etag(lambda: self.shown(feedback_id))

    @operation("feedback_withdraw", {204: None}, 404)
    @conditional
    def delete(self, request: Request, feedback_id: UUID) -> Response:
        """Withdraw the vote; it stays in the history and does not count. Repeating this has no effect."""
        self.query(EmptyInput)
        reach = self.key.partition_prefix
        with tenant_scope(self.tenant_id):
            withdraw_feedback(
                tenant_id=self.tenant_id, feedback_id=feedback_id, reach=reach, by=self.actor, now=self.now
            )
        return Response(status=status.HTTP_204_NO_CONTENT)


class MemoryFeedbackListEndpoint(Endpoint):
    """List the votes on a memory."""

    @list_operation("feedback_of_memory", FeedbackOutput, 404)
    def get(self, request: Request, memory_id: UUID) -> Response:
        """Every vote, newest first, including withdrawn votes and those on an archived memory.

        A key sees only the votes since the memory last came within its reach.
        """
        values, reach = self.query(PageInput), self.key.partition_prefix
        with tenant_scope(self.tenant_id):
            find_row(Memory.objects.for_tenant(self.tenant_id).within(reach).with_id(memory_id), Memory)
        rows = Feedback.objects.for_tenant(self.tenant_id).given_within(memory_id, reach)
        return self.listing(rows, values, FeedbackOutput, ordering="-at")


class OutcomeEndpoint(Endpoint):
    """Report the outcome of a context."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = _WRITE

    @operation(
        "context_outcome",
        {200: AnswerUsageOutput},
        404,
        tag="feedback",
        request=OutcomeInput,
        examples={"What the model said": _ANSWER},
        parameters=[IF_MATCH],
    )
    @idempotent_in_steps
    def post(self, request: Request, receipt_id: UUID) -> Response:
        """Count the memories that the model's answer used; each gains a little usefulness, at most once a day."""
        answer = self.body(OutcomeInput)["answer"]
        require_etag(request, lambda: self._receipt_etag(receipt_id))
        usage = record_answer_usage(
            tenant_id=self.tenant_id,
            receipt_id=receipt_id,
            answer=answer,
            reach=self.key.partition_prefix,
            by=self.actor,
            now=self.now,
        )
        return Response(AnswerUsageOutput(usage).data)

    def _receipt_etag(self, receipt_id: UUID) -> str:
        """Return the ETag of `GET context/{id}` without `explain`."""
        with tenant_scope(self.tenant_id):
            stored = read_receipt(tenant_id=self.tenant_id, receipt_id=receipt_id, reach=self.key.partition_prefix)
        return content_etag(stored.as_answer())
