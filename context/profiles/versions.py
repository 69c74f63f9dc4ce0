"""Versions of budget profiles and of scoring profiles: compare two, name their settings, save one."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from context.models import BudgetProfile, ScoringProfileVersion
from context.models.profiles import ProfileAssignment
from context.profiles.policy_fields import policy_value_text
from context.profiles.queries import ProfileVersionRows
from context.services.profiles.compaction_policy import POLICY_FIELDS, CompactionPolicy
from context.services.profiles.fields import BUDGET_FIELDS, ProfileField
from context.services.profiles.scoring_profiles import PART_NAMES, SCORING_FIELDS, component_label
from memories.tenancy.audit import Actor, ChangedValue, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, PlatformError

ProfileVersion = BudgetProfile | ScoringProfileVersion
ProfileRow = ProfileVersion | ProfileAssignment
#: The descriptions of the numbers of both kinds.
ALL_PROFILE_FIELDS: dict[str, ProfileField] = {**SCORING_FIELDS, **BUDGET_FIELDS}
_PLACES = {name: place for place, name in enumerate(("weights", *ALL_PROFILE_FIELDS))}
_NAME_CHARACTERS_MAX = 64
PROFILE_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]*")
#: Path segments other than names that follow `profiles/` and `budget-profiles/` in URLs of the API.
_RESERVED_NAMES = ("assignments",)


@dataclass(frozen=True)
class ProfileFieldComparison:
    """One number of two versions of profiles."""

    field: str
    left: Any
    right: Any

    @property
    def differs(self) -> bool:
        return bool(self.left != self.right)


def compare_versions(left: ProfileVersion, right: ProfileVersion) -> list[ProfileFieldComparison]:
    """Return every setting of two versions in the order of their descriptions; those of a group by `group.name`."""
    lefts, rights = left.tuned_numbers, right.tuned_numbers
    fields = sorted({*lefts, *rights}, key=_place)
    return [ProfileFieldComparison(field, lefts.get(field), rights.get(field)) for field in fields]


def changed_numbers(before: ProfileVersion | None, after: ProfileVersion) -> list[ProfileFieldComparison]:
    """Return the numbers that differ; none without a former version."""
    return [number for number in compare_versions(before, after) if number.differs] if before else []


def _place(field: str) -> tuple[int, int, str]:
    """Return the place of a number on a page: by its group, then the components of a score in their order."""
    group, _, part = field.partition(".")
    place = PART_NAMES.index(part) if part in PART_NAMES else len(PART_NAMES)
    return _PLACES.get(group, len(_PLACES)), place, part


def labelled_numbers(numbers: Sequence[ProfileFieldComparison]) -> list[tuple[str, ProfileFieldComparison]]:
    """Return numbers with their titles; a compaction policy becomes a row for each of its numbers, in words."""
    return [row for number in numbers for row in _labelled(number)]


def labelled_changes(before: ProfileVersion | None, after: ProfileVersion) -> list[tuple[str, ProfileFieldComparison]]:
    """Return the numbers that differ with their titles."""
    return [row for row in labelled_numbers(changed_numbers(before, after)) if row[1].differs]


def _labelled(number: ProfileFieldComparison) -> Iterable[tuple[str, ProfileFieldComparison]]:
    if number.field != "compaction":
        yield field_title(number.field), number
        return
    left, right = (CompactionPolicy.of(side).as_record() for side in (number.left, number.right))
    for name, described in POLICY_FIELDS.items():
        sides = (policy_value_text(name, side[name]) for side in (left, right))
        yield described.label, ProfileFieldComparison(name, *sides)


def field_title(field: str) -> str:
    """Return the title of a setting: `weights.relevance` is the weight of relevance."""
    group, _, part = field.partition(".")
    if group == "weights":
        return f"weight of {component_label(part)}"
    if group == "conversation_weights" and part:
        return f"weight of {component_label(part)} in conversations"
    if group == "coefficients" and part:
        return f"coefficient of {component_label(part)}"
    if part:
        return f"half-life of {part}"
    described = ALL_PROFILE_FIELDS.get(field, ProfileField(None))
    return described.title or described.label.lower() or field.replace("_", " ")


def check_new_name(kind: str, name: str, rows: ProfileVersionRows, built_in: Collection[str]) -> None:
    """Raise `InvalidInput` for a name that no profile can have, `Conflict` for one that `rows` or the code have."""
    if not PROFILE_NAME_PATTERN.fullmatch(name) or len(name) > _NAME_CHARACTERS_MAX:
        detail = f"A name is a lower-case word of letters, digits, _ and -, at most {_NAME_CHARACTERS_MAX} characters."
        raise InvalidInput("bad_name", detail, field="name")
    if name in _RESERVED_NAMES:
        raise InvalidInput("reserved_name", "This name is reserved for another address.", field="name")
    if name in built_in or rows.named(name).exists():
        raise name_is_taken(kind, name)


def name_is_taken(kind: str, name: str) -> Conflict:
    """Return the refusal of a name that a profile of this kind has."""
    return Conflict("duplicate", f"A {kind} profile named {name} already exists.", "name")


def insert_version(draft: ProfileRow, *, refusal: PlatformError, by: Actor, now: datetime) -> None:
    """Save a new version or assignment; raise `refusal` where another request saved the same one first."""
    draft.recorded_from, draft.created_by = now, by.stored_label
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
    except IntegrityError as error:
        raise refusal from error


def audit_profile(
    kind: str,
    row: ProfileRow,
    verb: str,
    fields: Iterable[str] = (),
    *,
    targets: list[str],
    changed: Iterable[tuple[str, ProfileFieldComparison]] = (),
    reason: str = "",
    by: Actor,
    now: datetime,
) -> None:
    """Record who did what to a version or an assignment of a profile; the kind completes the verb.

    `changed` are `labelled_changes` from the version that was in use or edited before.
    """
    target_kind = f"{kind}_profile"
    who: dict[str, Any] = {"tenant_id": row.tenant_id, "by": by, "now": now}
    changes = [ChangedValue(targets[-1], label, number.left, number.right) for label, number in changed]
    record_audit(f"{verb}_{target_kind}", target_kind, targets, fields=fields, changes=changes, reason=reason, **who)
