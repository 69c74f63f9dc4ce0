"""Endpoints of API keys, for admins."""

from datetime import datetime

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import ApiKey
from memories.tenancy.actions.tenants import create_api_key, revoke_api_key
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.keys_schema import key_create_schema, key_delete_schema, keys_schema
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.keys import ApiKeyInput, ApiKeyListInput, serialize_api_key
from memory_platform.rest.serializers import EmptyInput

_ADMIN = {"GET": "admin", "POST": "admin", "DELETE": "admin"}


class ApiKeyListEndpoint(Endpoint):
    """Make a key; list keys."""

    scopes = _ADMIN
    unrepeated = ("key",)

    @keys_schema
    def get(self, request: Request) -> Response:
        """The keys that reach nothing outside of this key's own reach, newest first, revoked ones too."""
        values = self.query(ApiKeyListInput)
        rows = ApiKey.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix)
        return self.listing(
            rows, values, ordering="-created", kinds=(datetime, str), answer=serialize_api_key, tie="prefix"
        )

    @key_create_schema
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a key. Its text is in this answer and nowhere else."""
        require_whole_tenant(self.key)
        values = self.body(ApiKeyInput)
        with tenant_scope(self.tenant_id):
            key, plain = create_api_key(
                tenant=self.key.tenant,
                name=values["name"],
                scopes=values["scopes"],
                partition=values["partition"],
                refuses_recalled_text=values["refuses_recalled_text"],
                by=self.actor,
                now=self.now,
            )
        return Response({**serialize_api_key(key), "key": plain}, status=status.HTTP_201_CREATED)


class ApiKeyEndpoint(Endpoint):
    """One key."""

    scopes = _ADMIN

    @key_delete_schema
    def delete(self, request: Request, key_id: str) -> Response:
        """Revoke the key for good; it holds at once. Twice is no error."""
        require_whole_tenant(self.key)
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            key: ApiKey | None = ApiKey.objects.for_tenant(self.tenant_id).with_prefix(key_id).first()
            if key is None:
                raise NotFound("not_found", "There is no such key.")
            revoke_api_key(key=key, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
