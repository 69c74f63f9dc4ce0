"""The endpoint that explains why a context includes or excludes a memory."""

from time import perf_counter

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.contexts import AssemblingEndpoint, build_context_request
from context.workbench.explanation import explain_memory
from context.workbench.serializers import ExplanationInput, ExplanationOutput
from memories.store.api.schema import operation
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES

_EXAMPLE = {
    "One memory and one question": {
        "memory_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11",
        "query": "When did Sam move to Lisbon?",
        "partition": "conversation=7",
        "max_tokens": 1000,
    }
}


class ContextExplainEndpoint(AssemblingEndpoint):
    """Explain why a context includes or excludes a memory."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("context_explain", {200: ExplanationOutput}, 404, request=ExplanationInput, examples=_EXAMPLE)
    def post(self, request: Request) -> Response:
        """Explain a memory: the reason, the rank in each retriever, the score, and the budget that includes it.

        Nothing is stored.
        """
        values = self.body(ExplanationInput)
        context_request = build_context_request(self.key, values)
        explanation = explain_memory(context_request, values["memory_id"], self.caller, clock=perf_counter)
        return Response(explanation.as_answer())
