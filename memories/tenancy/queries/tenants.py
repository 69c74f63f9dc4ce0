"""Tenants, members, users and idempotency records."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import models

from memories.services.tenancy.tenant_names import HIDDEN_PREFIX
from memories.tenancy.queries.rows import TenantRows

#: Partitions that a form offers; others can be typed.
PATHS_OFFERED_MAX = 300


class IdempotencyRecordQuerySet(TenantRows):
    def created_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)


class TenantQuerySet(models.QuerySet[Any]):
    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def leaving_a_language(self) -> Self:
        """Tenants with rows that may still be in a former language."""
        return self.exclude(former_text_search_configs=[])

    def with_language_older_than(self, moment: datetime) -> Self:
        """Tenants that changed their language before `moment`."""
        return self.leaving_a_language().filter(text_search_changed_at__lt=moment)

    def of_tenants(self, tenant_ids: Iterable[UUID]) -> Self:
        """These tenants, as `TenantRows.of_tenants` selects their rows."""
        return self.filter(pk__in=list(tenant_ids))

    def of_member(self, user_id: int) -> Self:
        return self.filter(memberships__user_id=user_id)

    def visible(self) -> Self:
        return self.exclude(name__startswith=HIDDEN_PREFIX)

    def hidden(self) -> Self:
        return self.filter(name__startswith=HIDDEN_PREFIX)

    def older_than(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)

    def names(self, prefix: str) -> list[str]:
        """The names that begin with `prefix`."""
        return list(self.filter(name__startswith=prefix).values_list("name", flat=True))


class MembershipQuerySet(TenantRows):
    def of_username(self, username: str) -> Self:
        return self.filter(user__username=username)

    def with_roles(self) -> Self:
        """By user name, with users and their groups prefetched."""
        return self.select_related("user").prefetch_related("user__groups").order_by("user__username")


def users_by_username(username: str) -> models.QuerySet[Any]:
    """Return the user with that name."""
    return get_user_model()._default_manager.filter(username=username)


def members_of(tenant_ids: Iterable[UUID]) -> models.QuerySet[Any]:
    """Return the members of any of these tenants by user name, inside a scope that reads the tenants."""
    users = get_user_model()._default_manager.filter(memberships__tenant_id__in=list(tenant_ids))
    return users.order_by("username").distinct()


def usernames_by_id(user_ids: Collection[str]) -> dict[str, str]:
    """Return a mapping of user id (as text) to user name. Ids of deleted users are omitted."""
    rows = get_user_model()._default_manager.filter(pk__in=[each for each in user_ids if each.isdecimal()])
    return {str(pk): name for pk, name in rows.values_list("pk", "username")}
