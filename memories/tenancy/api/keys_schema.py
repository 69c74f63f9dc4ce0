"""How the endpoints of API keys stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from memories.store.api.schema import IDEMPOTENCY_KEY, answers
from memories.tenancy.serializers.keys import KeyInput, KeyPageShape, KeysInput, NewKeyShape

KEY = OpenApiExample(
    "An agent that looks after Alex",
    {"name": "planner", "scopes": ["read", "write"], "partition": "user=alex"},
    request_only=True,
)

keys_schema = extend_schema(
    operation_id="keys_list",
    tags=["keys"],
    parameters=[KeysInput],
    responses=answers({200: KeyPageShape}),
)
key_create_schema = extend_schema(
    operation_id="keys_create",
    tags=["keys"],
    request=KeyInput,
    examples=[KEY],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({201: NewKeyShape}, 409, 413),
)
key_delete_schema = extend_schema(
    operation_id="keys_revoke",
    tags=["keys"],
    responses=answers({204: None}, 404),
)
