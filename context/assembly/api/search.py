"""The endpoint of search."""

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.schema import search_schema
from context.assembly.search import SearchRequest, search_scored_memories
from context.assembly.serializers.search import SearchInput
from memories.store.serializers.answers import MemoryOutput
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.permissions import readable_partition
from memories.tenancy.serializers.partitions import requested_segments


class MemorySearchEndpoint(Endpoint):
    """Find memories."""

    @search_schema
    def post(self, request: Request) -> Response:
        """The memories that match best, by the composite score of the profile. Nothing is counted."""
        values = self.body(SearchInput)
        wish = SearchRequest(
            query=values["query"],
            partition=readable_partition(self.key, values["partition"]),
            exact=values["exact"],
            segments=requested_segments(values),
            filters=values["filters"],
            top_k=values["top_k"],
            threshold=values["threshold"],
            mode=values["mode"],
            profile=values["profile"] or "",
        )
        found = search_scored_memories(wish, tenant_id=self.tenant_id, now=self.now, api_key_id=self.actor.id)
        describe = MemoryOutput().to_representation
        results = [{**describe(hit.memory), **hit.as_answer(explain=values["explain"])} for hit in found.hits]
        answer = {"results": results, "warnings": [notice.as_answer() for notice in found.warnings]}
        return Response({**answer, "plan": dict(found.plan)} if values["explain"] else answer)
