"""How the endpoints of edges stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from memories.partitions.serializers.links import LinkListInput, LinkOutput, LinkPageOutput, NewLinkInput
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

LINK = OpenApiExample(
    "What a decision rests on",
    {
        "source_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11",
        "target_id": "0c9e9f52-35c1-4a86-8a55-3f1f3f0f6a20",
        "kind": "because",
    },
    request_only=True,
)

links_schema = extend_schema(
    operation_id="links_list",
    tags=["links"],
    parameters=[LinkListInput],
    responses=response_schemas({200: LinkPageOutput}),
)
link_create_schema = extend_schema(
    operation_id="links_create",
    tags=["links"],
    request=NewLinkInput,
    examples=[LINK],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: LinkOutput, 200: LinkOutput}, 404, 409, 413),
)
link_delete_schema = extend_schema(
    operation_id="links_end",
    tags=["links"],
    responses=response_schemas({204: None}, 404),
)
