"""All SQL of what is stored, as named chainable methods."""

from typing import Any, Self
from uuid import UUID

from django.db import models
from rest_framework_api_key.models import BaseAPIKeyManager


class TenantRows(models.QuerySet[Any]):
    """Rows that belong to a tenant; every reading starts from there."""

    def for_tenant(self, tenant_id: UUID) -> Self:
        return self.filter(tenant_id=tenant_id)


class TenantQuerySet(models.QuerySet[Any]):
    pass


class MembershipQuerySet(TenantRows):
    pass


class ApiKeyManager(BaseAPIKeyManager):
    pass


class PartitionQuerySet(TenantRows):
    pass


class MemoryQuerySet(TenantRows):
    pass


class MemoryVersionQuerySet(TenantRows):
    pass


class MemoryEmbeddingQuerySet(TenantRows):
    pass


class MemoryLinkQuerySet(TenantRows):
    pass


class TenantMemoQuerySet(TenantRows):
    pass


class RecalledTextQuerySet(TenantRows):
    pass


class IdempotencyRecordQuerySet(TenantRows):
    pass


class AuditEntryQuerySet(TenantRows):
    pass
