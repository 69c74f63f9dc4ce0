"""Tenants, who may reach them, and where in them rows stand."""

from collections.abc import Iterable
from typing import Any, Self
from uuid import UUID

from django.db import models
from rest_framework_api_key.models import BaseAPIKeyManager

from memories.querysets.conditions import path_condition
from memories.querysets.rows import TenantRows


class TenantQuerySet(models.QuerySet[Any]):
    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def of_member(self, user_id: int) -> Self:
        return self.filter(memberships__user_id=user_id)


class MembershipQuerySet(TenantRows):
    def of_user(self, user_id: int) -> Self:
        return self.filter(user_id=user_id)


class ApiKeyManager(BaseAPIKeyManager):
    """Keys by their visible prefix, as the package does it, and by tenant."""

    def get_usable_keys(self) -> models.QuerySet[Any]:
        """With their tenants, which can be read before one is known only in the scope of the look-up."""
        return super().get_usable_keys().select_related("tenant")

    def for_tenant(self, tenant_id: UUID) -> models.QuerySet[Any]:
        return self.get_queryset().filter(tenant_id=tenant_id)


class PartitionQuerySet(TenantRows):
    def at(self, paths: Iterable[str]) -> Self:
        return self.filter(path__in=list(paths))

    def within(self, path: str, *, exact: bool = False) -> Self:
        return self.filter(path_condition("path", path, exact=exact))

    def how_many(self) -> int:
        return self.count()

    def paths(self, limit: int) -> list[str]:
        """The first paths in order, without the root."""
        return list(self.exclude(path="").order_by("path").values_list("path", flat=True)[:limit])
