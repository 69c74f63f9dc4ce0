"""Create and revoke API keys."""

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from django.db import transaction

from memories.models import ApiKey, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import InvalidInput

MAX_KEY_NAME_CHARACTERS = 50


@transaction.atomic
def create_api_key(
    *,
    tenant: Tenant,
    name: str,
    scopes: Iterable[str],
    partition: PartitionPath | None = None,
    refuses_recalled_text: bool = True,
    by: Actor,
    now: datetime,
) -> tuple[ApiKey, str]:
    """Create a key; return it and its plain text, which is not stored. Raises `InvalidInput`."""
    distinct_scopes = list(dict.fromkeys(scopes))
    unknown = [scope for scope in distinct_scopes if scope not in ApiKey.Scope.values]
    if unknown or not distinct_scopes:
        raise InvalidInput("bad_scope", f"Scopes must be one or more of {', '.join(ApiKey.Scope.values)}.", "scopes")
    name = name.strip()
    if not name or len(name) > MAX_KEY_NAME_CHARACTERS or "\x00" in name:
        raise InvalidInput("bad_name", f"A key's name must have 1 to {MAX_KEY_NAME_CHARACTERS} characters.", "name")
    created, plain_key = ApiKey.objects.create_key(
        name=name,
        tenant=tenant,
        scopes=distinct_scopes,
        partition_prefix=partition.path if partition else "",
        refuses_recalled_text=refuses_recalled_text,
    )
    key = cast(ApiKey, created)
    audit_rows("create_api_key", [key], fields=["name", "scopes", "partition_prefix"], by=by, now=now)
    return key, plain_key


@transaction.atomic
def revoke_api_key(*, key: ApiKey, by: Actor, now: datetime) -> ApiKey:
    """Revoke a key permanently; has no effect on a revoked key."""
    if not key.revoked:
        key.revoked = True
        key.save(update_fields=["revoked"])
        audit_rows("revoke_api_key", [key], fields=["revoked"], by=by, now=now)
    return key
