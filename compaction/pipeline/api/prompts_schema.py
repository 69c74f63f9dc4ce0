"""How the endpoints of prompts and simulations stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from compaction.pipeline.serializers.prompts import (
    PromptInput,
    PromptOutput,
    PromptRollBackInput,
    PromptsOutput,
    PromptTrialInput,
    PromptTrialOutput,
    SimulationInput,
    SimulationOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, response_schemas

_TAGS = ["compaction"]
TEXT = "Keep names, dates, decisions and open tasks. Write at most {budget_tokens} tokens."
SAVE = OpenApiExample("A shorter prompt", {"text": TEXT, "edited_from": 1}, request_only=True)
_BACK = OpenApiExample("The prompt of the code", {"version": 1}, request_only=True)
TRY = OpenApiExample(
    "On a recorded session", {"session_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11", "text": TEXT}, request_only=True
)
WHAT_IF = OpenApiExample(
    "Later, and keeping more", {"sleep_threshold": 0.8, "preserve_messages": 40}, request_only=True
)

prompts_schema = extend_schema(
    operation_id="prompts_read", tags=_TAGS, responses=response_schemas({200: PromptsOutput})
)
prompt_save_schema = extend_schema(
    operation_id="prompts_save",
    tags=_TAGS,
    request=PromptInput,
    examples=[SAVE],
    responses=response_schemas({200: PromptOutput}, 409, 413),
)
prompt_back_schema = extend_schema(
    operation_id="prompts_roll_back",
    tags=_TAGS,
    request=PromptRollBackInput,
    examples=[_BACK],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({200: PromptOutput}, 409, 413),
)
prompt_try_schema = extend_schema(
    operation_id="prompts_try",
    tags=_TAGS,
    request=PromptTrialInput,
    examples=[TRY],
    responses=response_schemas({200: PromptTrialOutput}, 404, 409, 413),
)
simulate_schema = extend_schema(
    operation_id="sessions_simulate",
    tags=_TAGS,
    request=SimulationInput,
    examples=[WHAT_IF],
    responses=response_schemas({200: SimulationOutput}, 404, 413),
)
