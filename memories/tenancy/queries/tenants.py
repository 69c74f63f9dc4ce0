"""Tenants, members, users and idempotency records."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models.functions import Lower

from memories.services.tenancy.tenant_names import HIDDEN_PREFIX
from memories.tenancy.queries.methods import rows_among, rows_by, rows_where, rows_with
from memories.tenancy.queries.prepared import execute_prepared
from memories.tenancy.queries.rows import TenantRows

#: Maximum partitions that a form offers; others can be typed.
PATHS_OFFERED_MAX = 300


_CLAIM = """
INSERT INTO memories_idempotencyrecord (tenant_id, api_key_id, idempotency_key, request_hash, created_at)
VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING id
"""


class IdempotencyRecordQuerySet(TenantRows):
    created_before = rows_by("created_at__lt")
    unanswered = rows_where(answer__isnull=True)

    def claim(self, record: Any) -> bool:
        """Insert the record and set its id; return False if there is one with its key."""
        names = ("tenant_id", "api_key_id", "idempotency_key", "request_hash", "created_at")
        rows = execute_prepared(_CLAIM, [getattr(record, name) for name in names])
        if rows:
            ((record.pk,),), record._state.adding = rows, False
        return bool(rows)


class TenantQuerySet(models.QuerySet[Any]):
    of_member = rows_by("memberships__user_id")
    hidden = rows_where(name__startswith=HIDDEN_PREFIX)
    older_than = rows_by("created_at__lt")

    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def changing_language(self) -> Self:
        """Tenants with rows that may still be in a former language."""
        return self.exclude(former_text_search_configs=[])

    def with_language_older_than(self, moment: datetime) -> Self:
        """Tenants that changed their language before `moment`."""
        return self.changing_language().filter(text_search_changed_at__lt=moment)

    def of_tenants(self, tenant_ids: Iterable[UUID]) -> Self:
        """These tenants, as `TenantRows.of_tenants` selects their rows."""
        return self.filter(pk__in=list(tenant_ids))

    def visible(self) -> Self:
        return self.exclude(name__startswith=HIDDEN_PREFIX)

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin with `prefix`."""
        return list(self.filter(name__startswith=prefix).values_list("name", flat=True))


class MembershipQuerySet(TenantRows):
    of_username = rows_by("user__username")
    of_user = rows_by("user_id")
    with_tenant = rows_with("tenant")
    of_users = rows_among("user_id")

    def with_roles(self) -> Self:
        """By user name, with users and their groups prefetched."""
        return self.select_related("user").prefetch_related("user__groups").order_by("user__username")

    def locked(self) -> Self:
        """Locked until the transaction ends: removals of two admins see each other."""
        return self.select_for_update(of=("self",)).order_by("pk")

    def user_ids_outside(self, tenant_ids: Collection[UUID]) -> set[int]:
        """Return the users of these memberships who also belong to other tenants."""
        rows = self.exclude(tenant_id__in=list(tenant_ids)).order_by()
        return set(rows.values_list("user_id", flat=True).distinct())


class InvitationQuerySet(TenantRows):
    def open(self) -> Self:
        """Invitations that are neither accepted nor revoked, newest first; expired ones are included."""
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True).order_by("-created_at", "pk")

    def usable(self, secret_hash: str, now: datetime) -> Self:
        """The invitation with this hash, if it can still be accepted."""
        return self.open().filter(secret_hash=secret_hash, expires_at__gt=now)


class OwnRows(TenantRows):
    """Rows that belong to one operator in a tenant."""

    of_user = rows_by("user_id")


class SavedViewQuerySet(OwnRows):
    of_list = rows_by("list")
    kept = rows_where(deleted_at=None)
    deleted = rows_where(deleted_at__isnull=False)
    named = rows_by("name__iexact")

    def visible_to(self, user_id: int) -> Self:
        """One's own views and shared ones, by name."""
        return self.filter(models.Q(user_id=user_id) | models.Q(is_shared=True)).order_by(Lower("name"), "pk")


def users_by_username(username: str) -> models.QuerySet[Any]:
    """Return the user with that name."""
    return get_user_model()._default_manager.filter(username=username)


def users_by_id(user_id: int) -> models.QuerySet[Any]:
    """Return the user with that id."""
    return get_user_model()._default_manager.filter(pk=user_id)


def members_of(tenant_ids: Iterable[UUID]) -> models.QuerySet[Any]:
    """Return the members of any of these tenants by user name, inside a scope that reads the tenants."""
    users = get_user_model()._default_manager.filter(memberships__tenant_id__in=list(tenant_ids))
    return users.order_by("username").distinct()


def usernames_by_id(user_ids: Collection[str]) -> dict[str, str]:
    """Return a mapping of user id (as text) to user name. Ids of deleted users are omitted."""
    rows = get_user_model()._default_manager.filter(pk__in=[each for each in user_ids if each.isdecimal()])
    return {str(pk): name for pk, name in rows.values_list("pk", "username")}
