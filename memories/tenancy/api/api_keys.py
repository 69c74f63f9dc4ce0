"""Endpoints of API keys, for admins."""

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import ApiKey
from memories.store.api.schema import list_operation, operation
from memories.tenancy.actions.api_keys import create_api_key, revoke_api_key
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.etags import conditional
from memories.tenancy.api.idempotency import idempotent
from memories.tenancy.api.permissions import require_whole_tenant
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.api_keys import ApiKeyInput, ApiKeyOutput, NewApiKeyOutput
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.serializers import EmptyInput

_KEY = {"An agent of Alex": {"name": "planner", "scopes": ["read", "write"], "partition": "user=alex"}}
_ADMIN = {"GET": "admin", "POST": "admin", "DELETE": "admin"}


class ApiKeyListEndpoint(Endpoint):
    """Create a key; list keys."""

    scopes = _ADMIN
    unrepeated = ("key",)

    @list_operation("keys_list", ApiKeyOutput)
    def get(self, request: Request) -> Response:
        """Keys whose partition is within this key's partition, newest first, including revoked ones."""
        values = self.query(PageInput)
        rows = ApiKey.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix)
        return self.listing(rows, values, ApiKeyOutput, ordering="-created", tie="prefix")

    @operation("keys_create", {201: NewApiKeyOutput}, request=ApiKeyInput, examples=_KEY)
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a key. Only this response contains its text."""
        require_whole_tenant(self.key)
        values = self.body(ApiKeyInput)
        with tenant_scope(self.tenant_id):
            key, plain = create_api_key(**values, **self.action_arguments)
        return Response({**ApiKeyOutput(key).data, "key": plain}, status=status.HTTP_201_CREATED)


class ApiKeyEndpoint(Endpoint):
    """Read or revoke a key."""

    scopes = _ADMIN
    output = ApiKeyOutput

    def edited_row(self, key_id: str) -> ApiKey:
        """Return the key, also a revoked one, whose partition is within this key's; inside a scope."""
        rows = ApiKey.objects.for_tenant(self.tenant_id).within(self.key.partition_prefix)
        return find_row(rows.with_prefix(key_id), ApiKey, "key")

    @operation("keys_read", {200: ApiKeyOutput, 304: None}, 404)
    def get(self, request: Request, key_id: str) -> Response:
        """The key without its text, also a revoked one."""
        return self.answer_with_etag(lambda: self.shown(key_id))

    @operation("keys_revoke", {204: None}, 404)
    @conditional
    def delete(self, request: Request, key_id: str) -> Response:
        """Revoke the key permanently and immediately. Revoking it again has no effect."""
        require_whole_tenant(self.key)
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            revoke_api_key(key=self.edited_row(key_id), by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)
