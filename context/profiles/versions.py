"""How two versions of profiles compare, and what their numbers are called; the same for both kinds of profiles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from context.models import BudgetProfile, ScoringProfileVersion
from context.profiles.policy_fields import policy_value_text
from context.services.profiles.compaction_policy import POLICY_FIELDS, CompactionPolicy
from context.services.profiles.fields import BUDGET_FIELDS, ProfileField
from context.services.profiles.scoring_profiles import PART_NAMES, SCORING_FIELDS

ProfileVersion = BudgetProfile | ScoringProfileVersion
#: The descriptions of the numbers of both kinds.
PROFILE_FIELDS: dict[str, ProfileField] = {**SCORING_FIELDS, **BUDGET_FIELDS}
_PLACES = {name: place for place, name in enumerate(("weights", *PROFILE_FIELDS))}


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
    """Return every number of two versions in the order of their descriptions; those of a group by `group.name`."""
    lefts, rights = left.tuned_numbers, right.tuned_numbers
    fields = sorted({*lefts, *rights}, key=_place)
    return [ProfileFieldComparison(field, lefts.get(field), rights.get(field)) for field in fields]


def changed_numbers(before: ProfileVersion | None, after: ProfileVersion) -> list[ProfileFieldComparison]:
    """Return the numbers that differ; none where there is nothing before."""
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
    """Return a number in words: `weights.relevance` is the weight of relevance."""
    group, _, part = field.partition(".")
    if group == "weights":
        return f"weight of {part}"
    if group == "coefficients" and part:
        return f"coefficient of {part}"
    if part:
        return f"half-life of {part}"
    described = PROFILE_FIELDS.get(field, ProfileField(None))
    return described.title or described.label.lower() or field.replace("_", " ")
