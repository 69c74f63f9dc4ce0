"""Endpoints of golden questions. A key with a partition reads those of its subtree and changes none."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from context.evaluation.actions import golden_questions as actions
from context.evaluation.queries import GoldenQuestionQuerySet
from context.evaluation.serializers import golden_questions as schemas
from context.models import GoldenQuestion
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag
from memories.tenancy.api.body_limits import LARGE_BODY_BYTES, TEXT_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional, require_etags
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import SHORTHAND, requested_partition
from memory_platform.rest.serializers import ROW_PROBLEMS_MAX, EmptyInput, bounded_errors, flat_errors

_ONE = {200: schemas.GoldenQuestionOutput}
_QUESTION = {
    "text": "What does ERR_4012 mean?",
    "partition": "agent=service",
    "memory_ids": ["7d3f1c1e-58a4-4b8e-9d0c-1b5a0a7a3c11"],
    "answer": "The plug of the torque sensor is wet.",
}
_NEW = {"A question and its evidence": _QUESTION}
_IMPORT = {"An import": {"questions": [_QUESTION]}}
_CHANGE = {"Another answer": {"answer": "A wet plug."}}


class GoldenQuestionEndpointBase(Endpoint):
    """The base of the endpoints of golden questions."""

    scopes = dict.fromkeys(("POST", "PATCH", "PUT", "DELETE"), "admin")
    whole_tenant = scopes.keys()
    output = schemas.GoldenQuestionOutput

    def rows(self) -> GoldenQuestionQuerySet:
        """Return the questions within the key's reach."""
        rows: GoldenQuestionQuerySet = GoldenQuestion.objects.for_tenant(self.tenant_id)
        return rows.within(self.key.partition_prefix).with_evidence(self.now, self.key.partition_prefix)

    def question(self, question_id: UUID) -> GoldenQuestion:
        """Return one question; inside a scope. Raises `NotFound`."""
        return find_row(self.rows().with_id(question_id), GoldenQuestion, "golden question")

    def answer(self, question_id: UUID, code: int = status.HTTP_200_OK) -> Response:
        """Return the answer for a question; inside a scope."""
        answer = self.shown(question_id)
        return Response(answer, status=code, headers={"ETag": content_etag(answer)})

    def edited_row(self, question_id: UUID, memory_id: UUID | None = None) -> GoldenQuestion:
        """Return the question that `If-Match` is about."""
        return self.question(question_id)

    def perform(self, action: Callable[..., GoldenQuestion], question_id: UUID, **values: Any) -> Response:
        """Return the question after an action on it."""
        with tenant_scope(self.tenant_id):
            action(question=self.question(question_id), **values, by=self.actor, now=self.now)
            return self.answer(question_id)

    def collect(self, values: dict[str, Any], if_match: str | None, field: str) -> GoldenQuestion:
        """Store a validated question, or add its evidence to the same question; inside a scope.

        Raises `StaleVersion` for `field` unless the same question has the ETag `if_match`, if that is not None.
        """
        own = {name: value for name, value in values.items() if name not in SHORTHAND}
        own["partition"] = requested_partition(values)
        require_etags(if_match, partial(self._etags_of_same, own), field=field)
        return actions.collect_golden_question(tenant_id=self.tenant_id, **own, by=self.actor, now=self.now)

    def _etags_of_same(self, values: dict[str, Any]) -> list[str]:
        """Lock the same question and return its ETag, if there is one."""
        rows = GoldenQuestion.objects.for_tenant(self.tenant_id).not_removed()
        same = rows.with_question(values["text"].strip(), str(values["partition"] or ""), values["as_of"]).locked()
        return [content_etag(self.shown(question.pk)) for question in same]

    def is_new(self, question: GoldenQuestion, stored: Collection[UUID] = ()) -> bool:
        """Return whether this row of the request stored the question; `stored` are the questions of earlier rows."""
        return question.created_at == self.now and question.pk not in stored


class GoldenQuestionListEndpoint(GoldenQuestionEndpointBase):
    """Add a golden question; list golden questions."""

    body_bytes_max = TEXT_BODY_BYTES

    @list_operation("golden_questions_list", schemas.GoldenQuestionOutput, query=schemas.GoldenQuestionListInput)
    def get(self, request: Request) -> Response:
        """Golden questions within the key's reach, newest first."""
        values = self.query(schemas.GoldenQuestionListInput)
        rows = self.rows().removed() if values["removed"] else self.rows().not_removed()
        return self.listing(rows, values)

    @operation(
        "golden_questions_create",
        {201: schemas.GoldenQuestionOutput, **_ONE},
        404,
        request=schemas.GoldenQuestionInput,
        examples=_NEW,
        parameters=[IF_MATCH],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a question; the same question (text, partition and time) gets the evidence as well and answers 200."""
        values = self.body(schemas.GoldenQuestionInput)
        with tenant_scope(self.tenant_id):
            question = self.collect(values, request.headers.get("If-Match"), "If-Match")
            return self.answer(question.pk, status.HTTP_201_CREATED if self.is_new(question) else status.HTTP_200_OK)


class GoldenQuestionBulkEndpoint(GoldenQuestionEndpointBase):
    """Import golden questions."""

    body_bytes_max = LARGE_BODY_BYTES

    @operation(
        "golden_questions_bulk",
        {200: schemas.GoldenQuestionBulkOutput},
        request=schemas.GoldenQuestionBulkInputSchema,
        examples=_IMPORT,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Add up to 200 questions. Each is checked alone, and the valid ones are kept."""
        rows = self.body(schemas.GoldenQuestionBulkInput)["questions"]
        with tenant_scope(self.tenant_id):
            results: list[dict[str, Any]] = []
            for row in rows:
                results.append({"index": len(results), **self._result(row, {each["id"] for each in results})})
        return Response(schemas.GoldenQuestionBulkOutput({"results": results}).data)

    def _result(self, row: Any, stored: Collection[UUID]) -> dict[str, Any]:
        try:
            values = self.checked(schemas.ConditionalGoldenQuestionInput, row, {})
            question = self.collect(values, values.pop("if_match"), "if_match")
        except ValidationError as error:
            return {
                "status": "invalid",
                "id": None,
                "errors": bounded_errors(flat_errors(error.detail), ROW_PROBLEMS_MAX),
            }
        except PlatformError as error:
            return {"status": "invalid", "id": None, "errors": error.problems}
        is_new = self.is_new(question, stored)
        return {"status": "created" if is_new else "existing", "id": question.pk, "errors": []}


class GoldenQuestionEndpoint(GoldenQuestionEndpointBase):
    """Read, change or remove a golden question."""

    body_bytes_max = TEXT_BODY_BYTES

    @operation("golden_questions_read", {**_ONE, 304: None}, 404)
    def get(self, request: Request, question_id: UUID) -> Response:
        """The question with its evidence, also a removed one."""
        return self.answer_with_etag(lambda: self.shown(question_id))

    @operation("golden_questions_change", _ONE, 404, 409, request=schemas.GoldenQuestionChanges, examples=_CHANGE)
    @conditional
    def patch(self, request: Request, question_id: UUID) -> Response:
        """Change text, answer, category, time or budget; absent fields stay."""
        changes = self.body(schemas.GoldenQuestionChanges)
        with tenant_scope(self.tenant_id):
            question = self.question(question_id)
            same = {name: getattr(question, name) for name in GoldenQuestion.EDITED}
            actions.update_golden_question(question=question, **same | changes, by=self.actor, now=self.now)
            return self.answer(question_id)

    @operation("golden_questions_remove", {204: None}, 404)
    @conditional
    def delete(self, request: Request, question_id: UUID) -> Response:
        """Remove the question; it can be restored. Repeating this has no effect."""
        self.query(EmptyInput)
        self.perform(actions.remove_golden_question, question_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class GoldenQuestionRestoreEndpoint(GoldenQuestionEndpointBase):
    """Restore a golden question."""

    @operation("golden_questions_restore", _ONE, 404, 409)
    @conditional
    def post(self, request: Request, question_id: UUID) -> Response:
        """Restore a removed question."""
        self.body(EmptyInput)
        return self.perform(actions.restore_golden_question, question_id)


class GoldenMemoryEndpoint(GoldenQuestionEndpointBase):
    """Add a memory to the evidence of a golden question, or remove it."""

    @operation("golden_questions_add_memory", _ONE, 404, 409)
    @conditional
    def put(self, request: Request, question_id: UUID, memory_id: UUID) -> Response:
        """Add a live memory in the question's partition to the evidence."""
        self.body(EmptyInput)
        return self.perform(actions.add_golden_memory, question_id, memory_id=memory_id)

    @operation("golden_questions_remove_memory", _ONE, 404, 409)
    @conditional
    def delete(self, request: Request, question_id: UUID, memory_id: UUID) -> Response:
        """Remove a memory from the evidence; the last one stays."""
        self.query(EmptyInput)
        return self.perform(actions.remove_golden_memory, question_id, memory_id=memory_id)
