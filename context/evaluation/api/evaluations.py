"""Endpoints of evaluations. They concern the whole tenant: a key with a partition may not use them."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from context.evaluation.actions import evaluations as actions
from context.evaluation.queries import EvaluationRunQuerySet
from context.evaluation.report import run_differences
from context.evaluation.serializers import evaluations as schemas
from context.models import EvaluationAnswer, EvaluationRun
from memories.store.api.schema import list_operation, operation
from memories.tenancy.api.body_limits import LARGE_BODY_BYTES
from memories.tenancy.api.endpoint import ALL_METHODS, Endpoint
from memories.tenancy.api.etags import conditional
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.serializers import EmptyInput

_DRAFT = {"A draft and the profile in use": {"corpus": "golden", "profile": "support@2"}}
_UPLOAD = {
    "A corpus of your own": {
        "corpus": "upload",
        "corpus_name": "support",
        "memories": [{"id": "m1", "content": "ERR_4012: wet plug.", "created_at": "2026-05-04T09:30:00Z"}],
        "questions": [{"id": "q1", "text": "What does ERR_4012 mean?", "evidence": ["m1"]}],
        "budgets": [250, 1000],
    }
}


class EvaluationEndpointBase(Endpoint):
    """The base of the endpoints of evaluations."""

    scopes = {"POST": "admin", "DELETE": "admin"}
    whole_tenant = ALL_METHODS
    output = schemas.EvaluationOutput

    def rows(self) -> EvaluationRunQuerySet:
        rows: EvaluationRunQuerySet = EvaluationRun.objects.for_tenant(self.tenant_id)
        return rows

    def run(self, run_id: UUID, field: str = "") -> EvaluationRun:
        """Return one run; inside a scope. Raises `NotFound`."""
        return find_row(self.rows().without_details().with_id(run_id), EvaluationRun, "evaluation", field)

    edited_row = run

    def perform(self, action: Callable[..., EvaluationRun], run_id: UUID) -> Response:
        """Return the run after an action on it."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            run = action(run=self.run(run_id), by=self.actor, now=self.now)
            return Response(schemas.EvaluationOutput(run).data)


class EvaluationListEndpoint(EvaluationEndpointBase):
    """Start an evaluation; list evaluations."""

    body_bytes_max = LARGE_BODY_BYTES

    @list_operation("evaluations_list", schemas.EvaluationRowOutput, query=schemas.EvaluationListInput)
    def get(self, request: Request) -> Response:
        """Evaluations, newest first."""
        values = self.query(schemas.EvaluationListInput)
        rows = self.rows().without_results()
        rows = rows.in_state(values["state"]) if "state" in values else rows
        return self.listing(rows, values, schemas.EvaluationRowOutput)

    @operation(
        "evaluations_create",
        {202: schemas.StartedEvaluationOutput},
        request=schemas.EvaluationInput,
        examples=_DRAFT | _UPLOAD,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Start an evaluation in a worker; for a profile of the tenant, also one of the profile in use."""
        values = self.body(schemas.EvaluationInput)
        with_baseline = values.pop("with_baseline")
        same: dict[str, Any] = {"by": self.actor, "now": self.now}
        with tenant_scope(self.tenant_id):
            run = actions.request_evaluation(tenant_id=self.tenant_id, **values, **same)
            baseline = actions.request_baseline(run=run, **same) if with_baseline else None
        answer = {**schemas.EvaluationOutput(run).data, "baseline_id": baseline and baseline.pk}
        return Response(answer, status=status.HTTP_202_ACCEPTED)


class EvaluationEndpoint(EvaluationEndpointBase):
    """Read or delete an evaluation."""

    @operation("evaluations_read", {200: schemas.EvaluationOutput, 304: None}, 404)
    def get(self, request: Request, run_id: UUID) -> Response:
        """State, progress and, once it is done, the results by budget."""
        return self.answer_with_etag(lambda: self.shown(run_id))

    @operation("evaluations_delete", {204: None}, 404, 409)
    @conditional
    def delete(self, request: Request, run_id: UUID) -> Response:
        """Delete the evaluation with its answers; one that a scoring profile needs answers 409."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            actions.delete_evaluation(run=self.run(run_id), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class EvaluationAnswerListEndpoint(EvaluationEndpointBase):
    """List the questions of an evaluation with their measures."""

    @list_operation("evaluations_answers", schemas.EvaluationAnswerOutput, 404)
    def get(self, request: Request, run_id: UUID) -> Response:
        """The measures of each question answered so far, in the order of the corpus."""
        values = self.query(PageInput)
        with tenant_scope(self.tenant_id):
            run = self.run(run_id)
        rows = EvaluationAnswer.objects.for_tenant(self.tenant_id).of_run(run.pk)
        return self.listing(rows, values, schemas.EvaluationAnswerOutput, ordering="position")


class EvaluationComparisonEndpoint(EvaluationEndpointBase):
    """Compare two evaluations."""

    @operation(
        "evaluations_compare",
        {200: schemas.EvaluationComparisonOutput},
        404,
        409,
        parameters=[schemas.EvaluationComparisonInput],
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """The differences from another evaluation, question by question, at each budget of both."""
        other_id = self.query(schemas.EvaluationComparisonInput)["other"]
        with tenant_scope(self.tenant_id):
            run, other = self.run(run_id), self.run(other_id, "other")
            if EvaluationRun.State.DONE not in (run.state, other.state) or run.state != other.state:
                raise Conflict("not_finished", "Both evaluations must be done.")
            if run.corpus_sha256 != other.corpus_sha256:
                raise InvalidInput("not_comparable", "The two evaluations are of different corpora.", "other")
            found = run_differences(run, other, field="other")
        results = [{"budget": budget, **difference._asdict()} for budget, difference in found.items()]
        return Response(schemas.EvaluationComparisonOutput({"id": run.pk, "other": other.pk, "results": results}).data)


class EvaluationCancelEndpoint(EvaluationEndpointBase):
    """Cancel an evaluation."""

    @operation("evaluations_cancel", {200: schemas.EvaluationOutput}, 404)
    @idempotent
    @conditional
    def post(self, request: Request, run_id: UUID) -> Response:
        """Cancel an unfinished evaluation; its answers stay."""
        return self.perform(actions.cancel_evaluation, run_id)


class EvaluationRetryEndpoint(EvaluationEndpointBase):
    """Continue an evaluation."""

    @operation("evaluations_retry", {200: schemas.EvaluationOutput}, 404)
    @idempotent
    @conditional
    def post(self, request: Request, run_id: UUID) -> Response:
        """Continue a failed or cancelled evaluation with its unanswered questions."""
        return self.perform(actions.retry_evaluation, run_id)
