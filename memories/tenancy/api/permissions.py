"""What a key may do: its scopes, and the partitions within its prefix."""

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
    """Raise unless the key has `needed` or a scope that includes it."""
    if not set(_SCOPES[_SCOPES.index(ApiKey.Scope(needed)) :]) & set(key.scopes):
        raise Forbidden("scope_missing", f"This key does not have the scope {needed}.")


def writable_partition(key: ApiKey, asked: PartitionPath | None) -> PartitionPath:
    """Where a row goes: where it was asked to, else the key's own partition."""
    if asked is None:
        return parse_partition(key.partition_prefix)
    if not is_within(asked.path, key.partition_prefix):
        raise _outside()
    return asked


def readable_partition(key: ApiKey, asked: PartitionPath | None, field: str = "partition") -> PartitionPath:
    """The subtree a reading covers; never more than the key's own. `field` is where it was asked for."""
    if asked is not None and not is_within(asked.path, key.partition_prefix):
        raise _outside(field)
    return writable_partition(key, asked)


def require_reach(key: ApiKey, path: str) -> None:
    """Raise unless `path` lies within the key's partition."""
    if not is_within(path, key.partition_prefix):
        raise _outside()


def require_whole_tenant(key: ApiKey) -> None:
    """Raise for a key with a partition, whatever its scopes: what concerns the whole tenant is not in its subtree."""
    if key.partition_prefix:
        detail = "A key with a partition cannot change what concerns the whole tenant."
        raise Forbidden("partition_forbidden", detail)


def _outside(field: str = "partition") -> Forbidden:
    return Forbidden("partition_forbidden", "This key does not reach that partition.", field=field)


class HasScope(BasePermission):
    """The view's `scopes` name what each method needs."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """False without a key (a 401 then); raises for a key without the scope."""
        if not isinstance(request.auth, ApiKey):
            return False
        require_scope(request.auth, view.scopes.get(request.method or "", ApiKey.Scope.READ))
        return True
