"""Tenants, members, users, idempotency records and audit entries."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models.functions import Lower

from memories.services.tenancy.tenant_names import HIDDEN_PREFIX
from memories.tenancy.queries.rows import TenantRows

#: Partitions that a form offers; others can be typed.
PATHS_OFFERED_MAX = 300


class IdempotencyRecordQuerySet(TenantRows):
    def created_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)


class AuditEntryQuerySet(TenantRows):
    def newest_first(self) -> Self:
        return self.order_by("-at", "id")

    def of_kind(self, target_kind: str) -> Self:
        return self.filter(target_kind=target_kind)

    def of_verbs(self, verbs: Iterable[str]) -> Self:
        return self.filter(verb__in=list(verbs))

    def at_any(self, moments: Iterable[datetime]) -> Self:
        return self.filter(at__in=list(moments))

    def about(self, target_id: object) -> Self:
        return self.filter(target_ids__contains=[str(target_id)])

    def about_any(self, target_kind: str, target_ids: Iterable[object]) -> Self:
        return self.filter(target_kind=target_kind, target_ids__overlap=[str(target_id) for target_id in target_ids])

    def actor_ids(self, actor_kind: str) -> list[str]:
        """The ids of the actors of this kind, each once."""
        return list(self.filter(actor_kind=actor_kind).order_by().values_list("actor_id", flat=True).distinct())

    def narrowed(self, filters: Mapping[str, Any]) -> Self:
        """Entries with these texts in actor and action, about this kind and id, within these times; "" for any."""
        lookups = {"actor": "actor_label__icontains", "action": "verb__contains", "target_kind": "target_kind"}
        lookups |= {
            "actor_kind": "actor_kind",
            "target_id": "target_ids__contains",
            "after": "at__gte",
            "before": "at__lte",
        }
        values = {name: [value] if name == "target_id" else value for name, value in filters.items() if value}
        return self.filter(**{lookups[name]: value for name, value in values.items()})

    def names_in_newest(self, count: int) -> dict[str, list[str]]:
        """`actors`, `actions` and `kinds` of the newest `count` entries in alphabetical order."""
        found = list(self.newest_first().values_list("actor_label", "verb", "target_kind")[:count])
        columns = zip(("actors", "actions", "kinds"), zip(*found, strict=True) if found else [()] * 3, strict=True)
        return {name: sorted({text for text in texts if text}) for name, texts in columns}


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
    def with_tenant(self) -> Self:
        """The tenant in the same query."""
        return self.select_related("tenant")

    def of_username(self, username: str) -> Self:
        return self.filter(user__username=username)

    def with_roles(self) -> Self:
        """By user name, with users and their groups prefetched."""
        return self.select_related("user").prefetch_related("user__groups").order_by("user__username")

    def of_user(self, user_id: int) -> Self:
        return self.filter(user_id=user_id)

    def locked(self) -> Self:
        """Locked until the transaction ends: removals of two admins see each other."""
        return self.select_for_update(of=("self",)).order_by("pk")

    def user_ids_outside(self, tenant_ids: Collection[UUID]) -> set[int]:
        """The users of these memberships that belong to another tenant than these."""
        rows = self.exclude(tenant_id__in=list(tenant_ids)).order_by()
        return set(rows.values_list("user_id", flat=True).distinct())

    def of_users(self, user_ids: Collection[int]) -> Self:
        return self.filter(user_id__in=list(user_ids))


class InvitationQuerySet(TenantRows):
    def open(self) -> Self:
        """Neither accepted nor revoked, the newest first; expired ones too."""
        return self.filter(accepted_at__isnull=True, revoked_at__isnull=True).order_by("-created_at", "pk")

    def usable(self, secret_hash: str, now: datetime) -> Self:
        """The one with this hash, if it can still be accepted."""
        return self.open().filter(secret_hash=secret_hash, expires_at__gt=now)

    def locked(self) -> Self:
        """Locked until the transaction ends: of two people with one link the second is refused."""
        return self.select_for_update(of=("self",))


class OwnRows(TenantRows):
    """Rows that belong to one operator in a tenant."""

    def of_user(self, user_id: int) -> Self:
        return self.filter(user_id=user_id)


class SavedViewQuerySet(OwnRows):
    def of_list(self, name: str) -> Self:
        return self.filter(list=name)

    def visible_to(self, user_id: int) -> Self:
        """One's own views and shared ones, by name."""
        return self.filter(models.Q(user_id=user_id) | models.Q(is_shared=True)).order_by(Lower("name"), "pk")

    def named(self, name: str) -> Self:
        return self.filter(name__iexact=name)


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
