"""Second factors of accounts, notices for their owners, and counts of failed sign-ins."""

from collections.abc import Collection
from datetime import datetime
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


class SignInFailuresQuerySet(models.QuerySet[Any]):
    def with_keys(self, keys: Collection[str]) -> Self:
        return self.filter(pk__in=list(keys))

    def last_before(self, moment: datetime) -> Self:
        return self.filter(last_at__lt=moment)

    def locked_rows(self, keys: Collection[str], now: datetime) -> dict[str, Any]:
        """Return the rows of these keys, created where missing, locked in one order to avoid deadlocks."""
        ordered = sorted(keys)
        self.bulk_create([self.model(key=key, failures=0, last_at=now) for key in ordered], ignore_conflicts=True)
        return {row.pk: row for row in self.with_keys(ordered).order_by("pk").select_for_update()}

    def subtract(self, key: str, failures: int) -> None:
        self.filter(pk=key).update(failures=models.functions.Greatest(models.F("failures") - failures, 0))


def user_to_notify(user_id: int) -> Any:
    """Return a user with the columns that the role of maintenance may read."""
    return get_user_model()._default_manager.only("username", "email", "is_superuser").get(pk=user_id)
