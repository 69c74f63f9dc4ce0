"""API keys by prefix and by tenant; authentication looks a key up with `get_from_key`."""

from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models import OuterRef, Subquery
from rest_framework_api_key.models import BaseAPIKeyManager

from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.rows import TenantRows
from memories.tenancy.queries.tenants import AuditEntryQuerySet


class ApiKeyQuerySet(TenantRows):
    """API keys, identified by their prefix, because the primary key contains the hash."""

    def with_prefix(self, prefix: str) -> Self:
        return self.filter(prefix=prefix)

    def by_name(self) -> Self:
        return self.order_by("name", "prefix")

    def usable_first(self) -> Self:
        """Usable keys by name, then revoked ones."""
        return self.order_by("revoked", "name", "prefix")

    def with_last_change(self, entries: AuditEntryQuerySet) -> Self:
        """Adds `last_change`, the time of the key's newest of these audit entries, if any."""
        # A condition on the kind of actor is unnecessary and would keep Postgres from using the index.
        own = entries.filter(actor_id=OuterRef("pk")).order_by("-at")
        return self.annotate(last_change=Subquery(own.values("at")[:1]))

    def within(self, path: str) -> Self:
        """Keys confined to `path`."""
        return self.filter(path_condition("partition_prefix", path, exact=False))


class ApiKeyManager(BaseAPIKeyManager):
    """The package's key manager, also by tenant."""

    def get_usable_keys(self) -> models.QuerySet[Any]:
        """Usable keys with their tenants, readable in `authentication_scope`."""
        return super().get_usable_keys().select_related("tenant")

    def get_from_key(self, key: str) -> Any:
        """The usable key of this text. Raises `DoesNotExist`. Keys of two tenants may share a prefix (ADR-0093)."""
        model: Any = self.model
        for row in self.get_usable_keys().filter(prefix=key.partition(".")[0]):
            if row.is_valid(key):
                return row
        raise model.DoesNotExist("Key is not valid.")

    def get_queryset(self) -> ApiKeyQuerySet:
        return ApiKeyQuerySet(self.model, using=self._db)

    def for_tenant(self, tenant_id: UUID) -> ApiKeyQuerySet:
        return self.get_queryset().for_tenant(tenant_id)
