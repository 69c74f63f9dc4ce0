"""Who did what: one row for every verb, with names of fields and never their text."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.models import ApiKey, AuditEntry

LABEL_CHARACTERS_MAX = 150


@dataclass(frozen=True)
class Actor:
    """Who asked: an operator, a key or the system itself. `label` is for people: a user name, a key's name."""

    kind: str
    id: str = ""
    label: str = ""

    @classmethod
    def operator(cls, user_id: object, username: str) -> "Actor":
        return cls(AuditEntry.ActorKind.OPERATOR, str(user_id), username)

    @classmethod
    def key(cls, key: ApiKey) -> "Actor":
        return cls(AuditEntry.ActorKind.KEY, str(key.pk), str(key))

    @classmethod
    def system(cls, label: str) -> "Actor":
        """A command, a task, a migration; `label` names it."""
        return cls(AuditEntry.ActorKind.SYSTEM, "", label)

    @property
    def stored_label(self) -> str:
        """The label as rows keep it, cut to `LABEL_CHARACTERS_MAX`."""
        return self.label[:LABEL_CHARACTERS_MAX]


def record_audit(
    *,
    tenant_id: UUID,
    by: Actor,
    verb: str,
    target_kind: str,
    target_ids: Iterable[object],
    fields: Iterable[str] = (),
    now: datetime,
) -> AuditEntry:
    """Write the audit row of one verb, in the transaction of what it records."""
    return AuditEntry.objects.create(
        tenant_id=tenant_id,
        at=now,
        actor_kind=by.kind,
        actor_id=by.id,
        actor_label=by.stored_label,
        verb=verb,
        target_kind=target_kind,
        target_ids=[str(target) for target in target_ids],
        fields=sorted(fields),
    )
