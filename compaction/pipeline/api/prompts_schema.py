"""How the endpoints of prompts and simulations stand in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, extend_schema

from compaction.pipeline.serializers.prompts import (
    PromptBackInput,
    PromptInput,
    PromptShape,
    PromptsShape,
    PromptTrialInput,
    PromptTrialShape,
    SimulationInput,
    SimulationShape,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, answers

TAGS = ["compaction"]
TEXT = "Keep names, dates, decisions and open tasks. Write at most {budget_tokens} tokens."
SAVE = OpenApiExample("A shorter prompt", {"text": TEXT, "edited_from": 1}, request_only=True)
BACK = OpenApiExample("The prompt of the code", {"version": 1}, request_only=True)
TRY = OpenApiExample(
    "On a recorded session", {"session_id": "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11", "text": TEXT}, request_only=True
)
WHAT_IF = OpenApiExample(
    "Later, and keeping more", {"sleep_threshold": 0.8, "preserve_messages": 40}, request_only=True
)

prompts_schema = extend_schema(operation_id="prompts_read", tags=TAGS, responses=answers({200: PromptsShape}))
prompt_save_schema = extend_schema(
    operation_id="prompts_save",
    tags=TAGS,
    request=PromptInput,
    examples=[SAVE],
    responses=answers({200: PromptShape}, 409, 413),
)
prompt_back_schema = extend_schema(
    operation_id="prompts_roll_back",
    tags=TAGS,
    request=PromptBackInput,
    examples=[BACK],
    parameters=[IDEMPOTENCY_KEY],
    responses=answers({200: PromptShape}, 409, 413),
)
prompt_try_schema = extend_schema(
    operation_id="prompts_try",
    tags=TAGS,
    request=PromptTrialInput,
    examples=[TRY],
    responses=answers({200: PromptTrialShape}, 404, 409, 413),
)
simulate_schema = extend_schema(
    operation_id="sessions_simulate",
    tags=TAGS,
    request=SimulationInput,
    examples=[WHAT_IF],
    responses=answers({200: SimulationShape}, 404, 413),
)
