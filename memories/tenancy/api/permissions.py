"""Permissions of an API key: its scopes, and the partitions within its prefix."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories.models import ApiKey
from memories.services.partitions.paths import PartitionPath, is_within, parse_partition
from memories.tenancy.exceptions import Forbidden

#: The scope of each method that writes, for endpoints that read with `read`.
WRITE = {"POST": "write", "PATCH": "write", "DELETE": "write"}
#: Each scope includes the one before it.
_SCOPES = (ApiKey.Scope.READ, ApiKey.Scope.WRITE, ApiKey.Scope.ADMIN)


def require_scope(key: ApiKey, needed: str) -> None:
    """Raise `Forbidden` unless the key has `needed` or a scope that includes it."""
    if not set(_SCOPES[_SCOPES.index(ApiKey.Scope(needed)) :]) & set(key.scopes):
        raise Forbidden("scope_missing", f"This key does not have the scope {needed}.")


def readable_partition(key: ApiKey, requested: PartitionPath | None, field: str = "partition") -> PartitionPath:
    """Return the requested partition, or the key's own. Raises `Forbidden` with `field` if the key cannot reach it."""
    if requested is None:
        return parse_partition(key.partition_prefix)
    require_reach(key, requested.path, field)
    return requested


def writable_partition(key: ApiKey, requested: PartitionPath | None) -> PartitionPath:
    """Return the partition to write to, as `readable_partition` does."""
    return readable_partition(key, requested)


def require_reach(key: ApiKey, path: str, field: str = "partition") -> None:
    """Raise `Forbidden` unless `path` is within the key's partition."""
    if not is_within(path, key.partition_prefix):
        raise Forbidden("partition_forbidden", "This key has no access to that partition.", field=field)


def require_whole_tenant(key: ApiKey) -> None:
    """Raise `Forbidden` for a key that is limited to a partition."""
    if key.partition_prefix:
        detail = "A key with a partition cannot change tenant-wide data."
        raise Forbidden("partition_forbidden", detail)


class HasScope(BasePermission):
    """Checks the scope that the view's `scopes` require for the method."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return False without a key, which causes a 401. Raises `Forbidden` for a key without the scope."""
        if not isinstance(request.auth, ApiKey):
            return False
        require_scope(request.auth, view.scopes.get(request.method or "", ApiKey.Scope.READ))
        return True
