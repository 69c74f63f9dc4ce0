"""The endpoint of search."""

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.contexts import AssemblingEndpoint
from context.assembly.search import SearchRequest, search_scored_memories
from context.assembly.serializers.search import MemorySearchOutput, SearchInput
from memories.store.api.schema import operation
from memories.store.serializers.answers import MemoryOutput
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.permissions import readable_partition
from memories.tenancy.serializers.partitions import requested_segments

_EXAMPLE = {
    "Recent preferences": {
        "query": "when does Alex like to meet?",
        "user_id": "alex",
        "filters": {"kind": {"in": ["preference", "fact"]}, "confidence": {"gte": 0.5}, "metadata.source": "chat"},
        "top_k": 5,
    }
}


class MemorySearchEndpoint(AssemblingEndpoint):
    """Find memories."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("memories_search", {200: MemorySearchOutput}, request=SearchInput, examples=_EXAMPLE)
    def post(self, request: Request) -> Response:
        """The memories that match best, by the composite score of the profile. Nothing is counted.

        The audit log records the search, once per key, query, partition and hour.
        """
        values = self.body(SearchInput)
        requested = SearchRequest(
            partition=readable_partition(self.key, values["partition"]),
            segments=requested_segments(values),
            profile=values["profile"] or "",
            **{name: values[name] for name in ("query", "exact", "filters", "top_k", "threshold", "mode", "as_of")},
        )
        found = search_scored_memories(requested, self.caller)
        describe = MemoryOutput().to_representation
        results = [{**describe(hit.memory), **hit.as_answer(explain=values["explain"])} for hit in found.hits]
        answer = {"results": results, "warnings": [notice.as_answer() for notice in found.warnings]}
        return Response({**answer, "plan": found.plan} if values["explain"] else answer)
