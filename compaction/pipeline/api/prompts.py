"""Endpoints of the prompt for summaries, and of simulations. The prompt concerns the whole tenant."""

from dataclasses import replace
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from compaction.pipeline.actions.prompts import roll_back_prompt, save_prompt
from compaction.pipeline.api.prompts_schema import (
    prompt_back_schema,
    prompt_save_schema,
    prompt_try_schema,
    prompts_schema,
    simulate_schema,
)
from compaction.pipeline.opening import stored_prompt_versions
from compaction.pipeline.plans import session_policy
from compaction.pipeline.prompt_trial import try_prompt
from compaction.pipeline.serializers.prompts import (
    PromptInput,
    PromptRollBackInput,
    PromptTrialInput,
    SimulationInput,
    serialize_prompt,
    serialize_prompt_trial,
    serialize_simulation,
)
from compaction.pipeline.session_rows import find_session
from compaction.services.simulation.simulator import simulate_session
from compaction.simulation.recorded import read_all_turns
from context.services.profiles.compaction_policy import problems_of_policy
from memories.services.store.drafts import FieldProblem
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import invalid
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput


class PromptEndpoint(Endpoint):
    """The tenant's prompt."""

    scopes = {"PUT": "admin"}

    @prompts_schema
    def get(self, request: Request) -> Response:
        """The prompt in force and all its versions, newest first; version 1 is the code's."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            versions = stored_prompt_versions(self.tenant_id)
        current = next((row for row in versions if row.pk and row.recorded_to is None), versions[-1])
        return Response({"current": serialize_prompt(current), "versions": [serialize_prompt(row) for row in versions]})

    @prompt_save_schema
    def put(self, request: Request) -> Response:
        """Put a text into force as the next version."""
        require_whole_tenant(self.key)
        values = self.body(PromptInput)
        with tenant_scope(self.tenant_id):
            prompt = save_prompt(tenant_id=self.tenant_id, by=self.actor, now=self.now, **values)
        return Response(serialize_prompt(prompt))


class PromptRollBackEndpoint(Endpoint):
    """Back to an earlier version."""

    scopes = {"POST": "admin"}

    @prompt_back_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Put the text of an older version into force again, as a new version."""
        require_whole_tenant(self.key)
        version = self.body(PromptRollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            prompt = roll_back_prompt(tenant_id=self.tenant_id, version=version, by=self.actor, now=self.now)
        return Response(serialize_prompt(prompt))


class PromptTrialEndpoint(Endpoint):
    """A prompt before it is saved."""

    scopes = {"POST": "admin"}

    @prompt_try_schema
    def post(self, request: Request) -> Response:
        """Summarise a recorded session with a prompt; nothing is kept."""
        values = self.body(PromptTrialInput)
        with tenant_scope(self.tenant_id):
            find_session(tenant_id=self.tenant_id, session_id=values["session_id"], reach=self.key.partition_prefix)
        trial = try_prompt(tenant_id=self.tenant_id, session_id=values["session_id"], text=values["text"], now=self.now)
        return Response(serialize_prompt_trial(trial))


class SessionSimulateEndpoint(Endpoint):
    """What if."""

    @simulate_schema
    def post(self, request: Request, session_id: UUID) -> Response:
        """Play the session through under other numbers; nothing is written. What is not named is its policy's."""
        values = self.body(SimulationInput)
        price, window = values.pop("price_per_million"), values.pop("max_context_tokens", None)
        with tenant_scope(self.tenant_id):
            session = find_session(
                tenant_id=self.tenant_id, session_id=session_id, reach=self.key.partition_prefix, is_open=False
            )
            policy = replace(session_policy(session), **values)
            turns = read_all_turns(session)
        problems = problems_of_policy(policy.as_record())
        if problems:
            raise invalid([FieldProblem(one.field, one.code, one.detail) for one in problems])
        window = window or session.max_context_tokens
        told = simulate_session(
            turns, policy, window, directive_tokens=session.directive_tokens, price_per_million=price
        )
        return Response(serialize_simulation(told, policy=policy.as_record(), window=window))
