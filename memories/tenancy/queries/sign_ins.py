"""Counts of failed sign-ins."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Self

from django.db import models


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
