"""Assign profiles. Rows of past assignments are kept, so that the assignments of any recorded time can be read."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import transaction

from context.models import BudgetProfileAssignment, ScoringProfileAssignment
from context.models.profiles import ProfileAssignment
from context.profiles.budget_profiles import current_budget_profile
from context.profiles.scoring_profiles import lock_published_profile
from context.profiles.versions import audit_profile, insert_version
from memories.models import ApiKey
from memories.services.partitions.paths import PartitionError, parse_partition
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound

_Row = TypeVar("_Row", bound=ProfileAssignment)


@dataclass(frozen=True)
class Assignments(Generic[_Row]):
    """The assignments of one kind of profiles; `check` refuses a name that cannot be assigned."""

    kind: str
    model: type[_Row]
    check: Callable[[UUID, str], object]

    @transaction.atomic
    def assign(
        self,
        *,
        tenant_id: UUID,
        profile_name: str,
        replaces: str | None = None,
        shown: Collection[int] | None = None,
        by: Actor,
        now: datetime,
        **target: str,
    ) -> _Row:
        """Assign a profile to a `target`: `api_key_id`, or `partition_path` and all below it ("" is the tenant).

        The earlier assignment of the target ends now; the same profile again changes nothing. `replaces` is the profile
        that the caller saw there, "" for none, and `shown` the ids of all active assignments that the caller saw.
        Raises `InvalidInput` naming the field, `NotFound` for an absent key, `Conflict` if the target has another now.
        """
        column = _target(tenant_id, **target)
        self.check(tenant_id, profile_name)
        before = self._active(tenant_id, column)
        if replaces is not None and replaces != (before.profile_name if before else ""):
            raise _assigned_by_another()
        if before is not None and before.profile_name == profile_name:
            return before
        if shown is not None and not self._is_as_shown(shown, tenant_id, column, before):
            raise _assigned_by_another()
        if before is not None:
            _end(before, now)
        # an assignment never begins before the last one of its target ended
        last = self.model.objects.for_tenant(tenant_id).ended().filter(**column).newest_first().first()
        row = self.model(tenant_id=tenant_id, profile_name=profile_name, **column)
        begins = max(now, last.recorded_to) if last else now
        insert_version(row, refusal=_assigned_by_another(), by=by, now=begins)
        self._audit(row, "assign", by, now)
        return row

    @transaction.atomic
    def unassign(self, *, tenant_id: UUID, shown: int | None = None, by: Actor, now: datetime, **target: str) -> _Row:
        """End the assignment of a `target`; `shown` is the id of the one that the caller saw, None for any.

        Raises `NotFound` if there is none, otherwise as `assign` does.
        """
        row = self._active(tenant_id, _target(tenant_id, **target))
        if row is None:
            raise NotFound("not_assigned", f"No {self.kind} profile is assigned there.")
        if shown not in (None, row.pk):
            raise _assigned_by_another()
        _end(row, now)
        self._audit(row, "unassign", by, now)
        return row

    @transaction.atomic
    def undo(
        self, *, tenant_id: UUID, profile_name: str, has_ended: bool, by: Actor, now: datetime, **target: str
    ) -> _Row:
        """Undo an assignment of the profile to a `target`, or with `has_ended` the end of one.

        Raises `Conflict` if the target was assigned or ended since, otherwise as `assign` does.
        """
        same: dict[str, Any] = {"tenant_id": tenant_id, "by": by, "now": now, **target}
        if has_ended:
            return self.assign(profile_name=profile_name, replaces="", **same)
        column = _target(tenant_id, **target)
        row = self._active(tenant_id, column)
        if row is None or row.profile_name != profile_name:
            raise _assigned_by_another()
        ended = self.model.objects.for_tenant(tenant_id).ended().filter(recorded_to=row.recorded_from, **column)
        if (former := ended.newest_first().first()) is None:
            return self.unassign(**same)
        return self.assign(profile_name=former.profile_name, replaces=profile_name, **same)

    def active(self, *, tenant_id: UUID, **target: str) -> _Row | None:
        """Return the assignment of a `target`, locked; None without one. Raises as `assign` does."""
        return self._active(tenant_id, _target(tenant_id, **target))

    def _active(self, tenant_id: UUID, target: dict[str, str]) -> _Row | None:
        row: _Row | None = self.model.objects.for_tenant(tenant_id).current().locked().filter(**target).first()
        return row

    def _is_as_shown(self, shown: Collection[int], tenant_id: UUID, column: dict[str, str], now: _Row | None) -> bool:
        """Whether the only shown assignment of the target is the active one, or neither exists.

        Times cannot show it: an assignment has the time at which its request began, and clocks differ.
        """
        rows = self.model.objects.for_tenant(tenant_id).filter(pk__in=shown, **column)
        return set(rows.values_list("pk", flat=True)) == ({now.pk} if now else set())

    def _audit(self, row: _Row, verb: str, by: Actor, now: datetime) -> None:
        targets = [row.profile_name, row.api_key_id or row.partition_path or "tenant"]
        audit_profile(self.kind, row, verb, targets=targets, by=by, now=now)


BUDGET_ASSIGNMENTS = Assignments("budget", BudgetProfileAssignment, current_budget_profile)
SCORING_ASSIGNMENTS = Assignments("scoring", ScoringProfileAssignment, lock_published_profile)
assign_budget_profile = BUDGET_ASSIGNMENTS.assign


def _target(tenant_id: UUID, api_key_id: str | None = None, partition_path: str | None = None) -> dict[str, str]:
    """Return the column that identifies the target, with its value."""
    if (api_key_id is None) == (partition_path is None):
        raise InvalidInput("one_target", "Give either a key or a partition, not both.", field="partition")
    if partition_path is not None:
        try:
            return {"partition_path": parse_partition(partition_path).path}
        except PartitionError as error:
            raise InvalidInput(error.code, error.detail, "partition") from error
    if not ApiKey.objects.for_tenant(tenant_id).filter(pk=api_key_id).exists():
        raise NotFound("not_found", "There is no such key.", "api_key")
    return {"api_key_id": str(api_key_id)}


def _end(row: ProfileAssignment, now: datetime) -> None:
    row.recorded_to = max(now, row.recorded_from)
    row.save(update_fields=["recorded_to"])


def _assigned_by_another() -> Conflict:
    return Conflict("assignment_changed", "Someone else changed the assignment there. Check it before you change it.")
