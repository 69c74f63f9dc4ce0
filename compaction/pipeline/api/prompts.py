"""Endpoints of the summary prompt, which belongs to the whole tenant, and of simulations."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from compaction.models import CompactionPrompt
from compaction.pipeline.actions import roll_back_prompt, save_prompt
from compaction.pipeline.policies import session_policy
from compaction.pipeline.prompt_trial import try_prompt
from compaction.pipeline.prompt_versions import stored_prompt_versions
from compaction.pipeline.serializers import prompts as schemas
from compaction.pipeline.session_rows import read_all_turns
from compaction.services.sessions.pressure import planning_reserve
from compaction.services.simulation.simulator import simulate_session
from compaction.sessions.api.sessions import SessionEndpointBase
from context.services.profiles.compaction_policy import problems_of_policy
from memories.store.api.schema import IF_MATCH, operation
from memories.tenancy.api.body_limits import TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import if_match_version
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import invalid
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.serializers import EmptyInput

_SESSION_ID = "7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11"
_TEXT = "Keep names, dates, decisions and open tasks. Write at most {budget_tokens} tokens."


class PromptEndpointBase(Endpoint):
    """The base of the endpoints that read or save the prompt."""

    whole_tenant = ("PUT", "POST")

    def read_version(self) -> int | None:
        """Return the active version if `If-Match` names it, None where it allows any; inside a scope."""
        return if_match_version(self.request, _current(stored_prompt_versions(self.tenant_id)).version)

    def saved(self, prompt: CompactionPrompt) -> Response:
        """Return the answer for a new version."""
        return Response(schemas.PromptOutput(prompt).data, headers={"ETag": f'"{prompt.version}"'})


def _current(versions: Sequence[CompactionPrompt]) -> CompactionPrompt:
    """Return the active one of the versions, newest first; the last one is built in."""
    return next((row for row in versions if row.pk and row.recorded_to is None), versions[-1])


class PromptEndpoint(PromptEndpointBase):
    """The tenant's prompt."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = {"PUT": "admin"}

    @operation("prompts_read", {200: schemas.PromptsOutput})
    def get(self, request: Request) -> Response:
        """The active prompt and all its versions, newest first; version 1 is built in."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            versions = stored_prompt_versions(self.tenant_id)
        current = _current(versions)
        answer = schemas.PromptsOutput({"current": current, "versions": versions}).data
        return Response(answer, headers={"ETag": f'"{current.version}"'})

    @operation(
        "prompts_save",
        {200: schemas.PromptOutput},
        409,
        request=schemas.PromptInput,
        examples={"A shorter prompt": {"text": _TEXT, "edited_from": 1}},
        parameters=[IF_MATCH],
    )
    def put(self, request: Request) -> Response:
        """Activate a text as the next version."""
        values = self.body(schemas.PromptInput)
        with tenant_scope(self.tenant_id):
            if version := self.read_version():
                values.setdefault("edited_from", version)
            prompt = save_prompt(tenant_id=self.tenant_id, by=self.actor, now=self.now, **values)
        return self.saved(prompt)


class PromptRollBackEndpoint(PromptEndpointBase):
    """Roll back to an earlier version."""

    scopes = {"POST": "admin"}

    @operation(
        "prompts_roll_back",
        {200: schemas.PromptOutput},
        request=schemas.PromptRollBackInput,
        examples={"The built-in prompt": {"version": 1}},
        parameters=[IF_MATCH],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Activate the text of an older version again, as a new version."""
        version = self.body(schemas.PromptRollBackInput)["version"]
        with tenant_scope(self.tenant_id):
            self.read_version()
            prompt = roll_back_prompt(tenant_id=self.tenant_id, version=version, by=self.actor, now=self.now)
        return self.saved(prompt)


class PromptTrialEndpoint(SessionEndpointBase):
    """Try a prompt before it is saved."""

    body_bytes_max = TEXT_BODY_BYTES
    scopes = {"POST": "admin"}

    @operation(
        "prompts_trial",
        {200: schemas.PromptTrialOutput},
        404,
        409,
        request=schemas.PromptTrialInput,
        examples={"On a recorded session": {"session_id": _SESSION_ID, "text": _TEXT}},
    )
    def post(self, request: Request) -> Response:
        """Summarise a recorded session with a prompt; nothing is stored."""
        values = self.body(schemas.PromptTrialInput)
        with tenant_scope(self.tenant_id):
            self.session(values["session_id"])
        return Response(schemas.PromptTrialOutput(try_prompt(tenant_id=self.tenant_id, now=self.now, **values)).data)


class SessionSimulateEndpoint(SessionEndpointBase):
    """Simulate another policy."""

    scopes = {}

    @operation(
        "sessions_simulate",
        {200: schemas.SimulationOutput},
        404,
        tag="compaction",
        request=schemas.SimulationInput,
        examples={"Later, and keeping more": {"sleep_threshold": 0.8, "preserve_messages": 40}},
    )
    def post(self, request: Request, session_id: UUID) -> Response:
        """Simulate the session under other settings; nothing is written. Omitted fields are those of its policy."""
        values = self.body(schemas.SimulationInput)
        price, window = values.pop("price_per_million"), values.pop("max_context_tokens", None)
        with tenant_scope(self.tenant_id):
            session = self.session(session_id, is_open=False)
            policy = replace(session_policy(session), **values)
            turns = read_all_turns(session)
        if problems := problems_of_policy(policy.as_record()):
            raise invalid(problems)
        window = window or session.max_context_tokens
        simulation = simulate_session(
            turns,
            policy,
            window,
            directive_tokens=session.directive_tokens,
            reserved_tokens=planning_reserve(window),
            price_per_million=price,
        )
        answer = {**vars(simulation), "policy": policy.as_record(), "max_context_tokens": window}
        return Response(schemas.SimulationOutput(answer).data)
