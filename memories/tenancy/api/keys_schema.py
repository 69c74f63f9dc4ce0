"""How the endpoints of API keys stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas
from memories.tenancy.serializers.keys import ApiKeyInput, ApiKeyListInput, ApiKeyPageOutput, NewApiKeyOutput

_KEY = OpenApiExample(
    "An agent that looks after Alex",
    {"name": "planner", "scopes": ["read", "write"], "partition": "user=alex"},
    request_only=True,
)

keys_schema = extend_schema(
    operation_id="keys_list",
    tags=["keys"],
    parameters=[ApiKeyListInput],
    responses=response_schemas({200: ApiKeyPageOutput}),
)
key_create_schema = extend_schema(
    operation_id="keys_create",
    tags=["keys"],
    request=ApiKeyInput,
    examples=[_KEY],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: NewApiKeyOutput}, 409, 413),
)
key_delete_schema = extend_schema(
    operation_id="keys_revoke",
    tags=["keys"],
    responses=response_schemas({204: None}, 404),
)
