"""Endpoints that assemble a context again: replay, and comparison with another time or budget profile."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.contexts import AssemblingEndpoint, build_context_request
from context.assembly.diff import diff_budget_profiles, diff_contexts
from context.assembly.replay import replay_context
from context.assembly.serializers.receipts import ReceiptOutput
from context.assembly.serializers.replay import DiffInput, DiffOutput, ReplayInput
from memories.store.api.schema import operation
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES

_DIFF_EXAMPLES = {
    "Since an earlier context": {
        "query": "Where does Sam live?",
        "partition": "user=sam",
        "since": {"context_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20"},
    },
    "Since a snapshot": {"focus": {"partition": "user=sam"}, "since": {"snapshot": "before the import"}},
    "Two budget profiles on one query": {"query": "Where does Sam live?", "profiles": ["default", "chat"]},
}


class ReplayEndpoint(AssemblingEndpoint):
    """Replay a context."""

    @operation(
        "context_replay", {200: ReceiptOutput}, 404, request=ReplayInput, examples={"Original": {"mode": "recorded"}}
    )
    def post(self, request: Request, receipt_id: UUID) -> Response:
        """Return the original context, or run the same inputs on today's data. Only the audit log records it."""
        values = self.body(ReplayInput)
        replayed = replay_context(receipt_id, values["mode"], self.caller)
        self.record_read(receipt_id)
        return Response(replayed.as_answer(explain=values["explain"]))


class ContextDiffEndpoint(AssemblingEndpoint):
    """Compare a context with an earlier one, or under two budget profiles."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("context_diff", {200: DiffOutput}, 404, request=DiffInput, examples=_DIFF_EXAMPLES)
    def post(self, request: Request) -> Response:
        """Compare the context with a receipt, a snapshot or a time, or compare two budget profiles.

        Only the audit log records it, as a preview, and the context that it is compared with as read.
        """
        values = self.body(DiffInput)
        context_request = build_context_request(self.key, values)
        if values["since"] is not None:
            difference = diff_contexts(context_request, self.caller, **values["since"])
            if receipt_id := values["since"].get("context_id"):
                self.record_read(receipt_id)
        else:
            before, after = values["profiles"]
            difference = diff_budget_profiles(context_request, self.caller, before=before, after=after)
        return Response(difference.as_answer(explain=values["explain"]))
