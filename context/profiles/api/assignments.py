"""What the endpoints of both kinds of assignments share. Changing either concerns the whole tenant."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from rest_framework import status
from rest_framework.response import Response

from context.models.assignments import ProfileAssignment
from context.profiles.api.profiles import ADMIN_FOR_WRITES
from context.profiles.serializers.budget_profiles import AssignmentListInput, AssignmentTargetInput
from memories.models import ApiKey
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope


class AssignmentEndpoint(Endpoint):
    """Whom profiles are for: `field` names a profile in bodies, `assign` and `unassign` are the verbs."""

    scopes = ADMIN_FOR_WRITES

    rows: type[ProfileAssignment]
    field: str
    answer: Callable[[Any], dict[str, Any]]
    assign: Callable[..., Any]
    unassign: Callable[..., Any]

    def listed(self) -> Response:
        """The assignments within the key's reach, newest first."""
        values = self.query(AssignmentListInput)
        rows = self.rows.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix)
        rows = rows if values["history"] else rows.current()
        return self.listing(
            rows.with_keys(), values, ordering="-recorded_from", kinds=(datetime, int), answer=self.answer
        )

    def assigned(self, serializer: type[AssignmentTargetInput]) -> Response:
        """A profile given to a key or a partition."""
        require_whole_tenant(self.key)
        values = self.body(serializer)
        with tenant_scope(self.tenant_id):
            row = self.assign(
                tenant_id=self.tenant_id,
                profile_name=values[self.field],
                **self._target(values),
                by=self.actor,
                now=self.now,
            )
            answer = self.answer(row)
        return Response(answer)

    def ended(self) -> Response:
        """What was given to a key or a partition, taken back."""
        require_whole_tenant(self.key)
        values = self.query(AssignmentTargetInput)
        with tenant_scope(self.tenant_id):
            self.unassign(tenant_id=self.tenant_id, **self._target(values), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _target(self, values: dict[str, Any]) -> dict[str, str]:
        """The target as the verb takes it: a key by its row, which outside is known by its visible part."""
        if values["key"] is None:
            return {"partition_path": values["partition"].path}
        key: ApiKey | None = ApiKey.objects.for_tenant(self.tenant_id).with_prefix(values["key"]).first()
        if key is None:
            raise NotFound("not_found", "There is no such key.", "key")
        return {"api_key_id": str(key.pk)}
