"""Endpoints of contexts again: replayed, and compared with another moment or under another budget profile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from context.assembly.api.contexts import build_context_request
from context.assembly.api.replay_schema import diff_schema, replay_schema
from context.assembly.difference import ContextDiff, ContextDiffBaseline, diff_budget_profiles, diff_contexts
from context.assembly.replay import replay_context
from context.assembly.serializers.replay import DiffInput, ReplayInput
from context.receipts.results import ContextRequest
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.exceptions import InvalidInput

PROFILE_FIELDS = {"before": "profiles.0", "after": "profiles.1"}


class ReplayEndpoint(Endpoint):
    """A context again."""

    @replay_schema
    def post(self, request: Request, receipt_id: UUID) -> Response:
        """As it was given, or from the same inputs with the data of today. Nothing is stored or counted."""
        values = self.body(ReplayInput)
        replayed = replay_context(
            tenant_id=self.tenant_id,
            receipt_id=receipt_id,
            mode=values["mode"],
            reach=self.key.partition_prefix,
            actor=self.actor,
            now=self.now,
        )
        return Response(replayed.as_answer(explain=values["explain"]))


class ContextDiffEndpoint(Endpoint):
    """What a context would hold now that it did not hold before."""

    @diff_schema
    def post(self, request: Request) -> Response:
        """Against a context, a snapshot or a time, or one budget profile against another. Nothing is stored."""
        values = self.body(DiffInput)
        wanted = build_context_request(self.key, values)
        difference = self._difference(wanted, values)
        answer = difference.as_answer()
        if values["explain"]:
            answer["explain"] = difference.now.as_answer(explain=True)["explain"]
        return Response(answer)

    def _difference(self, wanted: ContextRequest, values: dict[str, Any]) -> ContextDiff:
        who: dict[str, Any] = {
            "tenant_id": self.tenant_id,
            "reach": self.key.partition_prefix,
            "actor": self.actor,
            "now": self.now,
        }
        if values["since"] is not None:
            return diff_contexts(wanted, ContextDiffBaseline(**values["since"]), **who)
        before, after = values["profiles"]
        with _named_as_sent():
            return diff_budget_profiles(wanted, before=before, after=after, **who)


@contextmanager
def _named_as_sent() -> Iterator[None]:
    """Blame the place in the list of profiles that the caller sent."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(error.code, error.detail, PROFILE_FIELDS.get(error.field, error.field)) from error
