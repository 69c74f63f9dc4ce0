"""Second factors and notices of accounts."""

from collections.abc import Collection
from typing import Any, Self

from django.contrib.auth import get_user_model
from django.db import models


class SecondFactorQuerySet(models.QuerySet[Any]):
    def of_user(self, user_id: int) -> Self:
        return self.filter(pk=user_id)

    def locked(self) -> Self:
        """Locked until the transaction ends: of two sign-ins with one code the second is refused."""
        return self.select_for_update()

    def user_ids(self, among: Collection[int]) -> set[int]:
        """Return the ids of those of these users who have a second factor."""
        return set(self.filter(pk__in=list(among)).values_list("pk", flat=True))


class SignInNoticeQuerySet(models.QuerySet[Any]):
    def of_user(self, user_id: int) -> Self:
        return self.filter(pk=user_id)

    def locked_row(self, user_id: int, **created: Any) -> Any:
        """Return the row of a user, created if missing, locked until the transaction ends."""
        self.bulk_create([self.model(pk=user_id, **created)], ignore_conflicts=True)
        return self.of_user(user_id).select_for_update().get()

    def unreported(self) -> Self:
        """Lock-outs that are not in the audit log yet, oldest first."""
        return self.filter(locked_at__isnull=False, reported_at__isnull=True).order_by("locked_at", "pk")


def user_to_notify(user_id: int) -> Any:
    """Return a user with the columns that the role of maintenance may read."""
    return get_user_model()._default_manager.only("username", "email", "is_superuser").get(pk=user_id)
