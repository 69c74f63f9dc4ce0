"""What saving versions of budget profiles and of scoring profiles have in common."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import IntegrityError, transaction

from context.profiles.queries import ProfileVersionRows
from context.profiles.versions import ProfileVersion
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, PlatformError

_NAME_CHARACTERS_MAX = 64
PROFILE_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]*")
#: What follows `profiles/` and `budget-profiles/` in the addresses of the API beside names.
_RESERVED_NAMES = ("assignments",)


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
    return Conflict("duplicate", f"A {kind} profile named {name} exists already.", "name")


def insert_version(draft: ProfileVersion, *, refusal: PlatformError, by: Actor, now: datetime) -> None:
    """Save a new version; raise `refusal` where another request saved one of this name and number first."""
    draft.recorded_from, draft.created_by = now, by.stored_label
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
    except IntegrityError as error:
        raise refusal from error


def audit_profile(
    kind: str, row: ProfileVersion, verb: str, fields: Iterable[str], *, targets: list[str], by: Actor, now: datetime
) -> None:
    """Record who did what to a version of a profile; the kind completes the verb."""
    record_audit(
        tenant_id=row.tenant_id,
        by=by,
        now=now,
        verb=f"{verb}_{kind}_profile",
        target_kind=f"{kind}_profile",
        target_ids=targets,
        fields=list(fields),
    )
