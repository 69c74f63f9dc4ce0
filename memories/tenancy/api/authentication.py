"""API keys in `Authorization: Bearer` or `X-API-Key`. Each request looks its key up, so revoking is immediate."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from memories.models import ApiKey
from memories.tenancy.scopes import authentication_scope

KEY_CHARACTERS_MAX = 200


class KeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the key with its tenant; there is no user."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        """Return the request's key, None without one. Raises `AuthenticationFailed` for an unusable key."""
        plain = _presented(request)
        if plain is None:
            return None
        if not plain.isascii() or not plain.isprintable() or len(plain) > KEY_CHARACTERS_MAX:
            raise AuthenticationFailed
        with authentication_scope():
            try:
                key: ApiKey = ApiKey.objects.get_from_key(plain)
            except ApiKey.DoesNotExist:
                raise AuthenticationFailed from None
        if key.has_expired:
            raise AuthenticationFailed
        return None, key

    def authenticate_header(self, request: Request) -> str:
        """The `WWW-Authenticate` header of a 401."""
        return 'Bearer realm="api"'


def _presented(request: Request) -> str | None:
    own = request.headers.get("X-API-Key")
    authorization = request.headers.get("Authorization")
    if authorization is None:
        return own
    scheme, _, bearer = authorization.partition(" ")
    if scheme.lower() != "bearer" or (own is not None and own.strip() != bearer.strip()):
        raise AuthenticationFailed
    return bearer.strip()


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The two headers in the OpenAPI schema."""

    target_class = KeyAuthentication
    name = ["bearerKey", "headerKey"]

    def get_security_requirement(self, auto_schema: Any) -> Any:
        """Either of the two."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> Any:
        """Two ways to send the same key."""
        return [
            {"type": "http", "scheme": "bearer", "description": "Authorization: Bearer <key>"},
            {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        ]
