"""Endpoints of erasures and retention policies. They need a key of the whole tenant with the scope admin."""

from uuid import UUID

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.erasure import actions
from compaction.erasure import serializers as schemas
from compaction.erasure.selection import Selection, state_hash
from compaction.models import Erasure, RetentionPolicy
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag
from memories.tenancy.api.endpoint import ALL_METHODS, Endpoint
from memories.tenancy.api.etags import conditional, has_condition, require_etag
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.serializers import EmptyInput

_PERSON = {"Count what a person has": {"partition": "user=alex", "dry_run": True}}
_MEMORY = {"Erase a memory": {"memory_id": "5d7f0a52-1d0f-4d0e-9f0a-3a4f2a1b7c11"}}
_YEAR = {"Keep a year": {"partition": "user=alex", "days": 365, "age_from": "created"}}


class ErasureEndpointBase(Endpoint):
    """The base of these endpoints."""

    scopes = dict.fromkeys(("GET", "POST", "DELETE"), "admin")
    whole_tenant = ALL_METHODS


class ErasureListEndpoint(ErasureEndpointBase):
    """Request and list erasures."""

    @list_operation("erasures_list", schemas.ErasureOutput)
    def get(self, request: Request) -> Response:
        """Erasures and dry runs, newest first, with their receipts. Dry runs are deleted after a day."""
        values = self.query(PageInput)
        rows = Erasure.objects.for_tenant(self.tenant_id)
        return self.listing(rows, values, schemas.ErasureOutput)

    @operation(
        "erasures_create",
        {202: schemas.ErasureOutput},
        404,
        request=schemas.ErasureInput,
        examples=_PERSON | _MEMORY,
        parameters=[IF_MATCH],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Erase a memory, a partition or the tenant in the background, or count the rows.

        An erasure cannot be undone. Archiving (`DELETE` of a memory) can. A dry run returns the `ETag` of the memories
        and sessions to erase. With it as `If-Match`, the same request without `dry_run` gets 412 if a memory was added,
        changed or removed since, or a session was added, continued, closed or removed.
        """
        values = self.body(schemas.ErasureInput)
        with tenant_scope(self.tenant_id):
            erasure = actions.request_erasure(**values, **self.action_arguments)
            headers = {"Location": request.build_absolute_uri(f"{request.path_info}/{erasure.pk}")}
            if erasure.is_dry_run or has_condition(request):
                etag = f'"{state_hash(Selection(erasure).state())}"'
                require_etag(request, lambda: etag)
                headers |= {"ETag": etag} if erasure.is_dry_run else {}
        answer = schemas.ErasureOutput(erasure).data
        return Response(answer, status=status.HTTP_202_ACCEPTED, headers=headers)


class ErasureEndpoint(ErasureEndpointBase):
    """Read an erasure."""

    @operation("erasures_read", {200: schemas.ErasureOutput}, 404)
    def get(self, request: Request, erasure_id: UUID) -> Response:
        """State and counts; once it is done, the signed receipt and whether it is valid."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            rows = Erasure.objects.for_tenant(self.tenant_id).with_id(erasure_id)
            return Response(schemas.ErasureOutput(find_row(rows, Erasure)).data)


class RetentionPolicyListEndpoint(ErasureEndpointBase):
    """Set and list retention policies."""

    @operation("retention_policies_list", {200: schemas.RetentionPoliciesOutput})
    def get(self, request: Request) -> Response:
        """All policies by partition. A policy of a partition also applies below it; the earliest one erases."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            policies = list(RetentionPolicy.objects.for_tenant(self.tenant_id).by_partition())
            return Response(schemas.RetentionPoliciesOutput({"policies": policies}).data)

    @operation(
        "retention_policies_set",
        {200: schemas.RetentionPolicyOutput},
        request=schemas.RetentionPolicyInput,
        examples=_YEAR,
        parameters=[IF_MATCH],
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Set how long a partition keeps its rows; replaces the policy with the same partition and `age_from`."""
        values = self.body(schemas.RetentionPolicyInput)
        path = values["partition"].path if values["partition"] else ""
        with tenant_scope(self.tenant_id):
            replaced = RetentionPolicy.objects.for_tenant(self.tenant_id).of(path, values["age_from"])
            require_etag(request, lambda: _etag_of(replaced.select_for_update().first()))
            policy = actions.set_retention_policy(**{**values, "partition": path}, **self.action_arguments)
            answer = schemas.RetentionPolicyOutput(policy).data
        return Response(answer, headers={"ETag": content_etag(answer)})


def _etag_of(policy: RetentionPolicy | None) -> str:
    return "" if policy is None else content_etag(schemas.RetentionPolicyOutput(policy).data)


class RetentionPolicyEndpoint(ErasureEndpointBase):
    """One retention policy."""

    output = schemas.RetentionPolicyOutput

    def edited_row(self, policy_id: int) -> RetentionPolicy:
        """Return the policy that `If-Match` is about."""
        rows = RetentionPolicy.objects.for_tenant(self.tenant_id).with_id(policy_id)
        return find_row(rows, RetentionPolicy, "retention policy")

    @operation("retention_policies_remove", {204: None}, 404)
    @conditional
    def delete(self, request: Request, policy_id: int) -> Response:
        """End a policy; what it has erased is not restored."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            policy = self.edited_row(policy_id)
            actions.remove_retention_policy(policy=policy, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
