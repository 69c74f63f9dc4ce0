"""The hash chain of an audit log: what a seal covers, and whether seals and entries match (ADR-0142)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

HASH_CHARACTERS = 64
#: The value that stands for the preceding seal of a tenant's first seal.
FIRST_HASH = "0" * HASH_CHARACTERS


class AuditContent(Protocol):
    """The fields of an entry that a seal covers: all except the tenant, so that a copied tenant keeps its chain."""

    id: UUID
    at: datetime
    actor_kind: str
    actor_id: str
    actor_label: str
    verb: str
    target_kind: str
    target_ids: list[str]
    fields: list[str]
    reason: str
    details: dict[str, Any]


class Seal(Protocol):
    """One link of a chain."""

    number: int
    entry_id: UUID
    is_redaction: bool
    content_hash: str
    seal_hash: str
    sealed_at: datetime


class AuditProblem(StrEnum):
    """The kinds of problems that a check of an audit log finds."""

    SEAL_MISSING = "seal_missing"
    SEAL_CHANGED = "seal_changed"
    ENTRY_MISSING = "entry_missing"
    ENTRY_CHANGED = "entry_changed"
    ENTRY_NOT_SEALED = "entry_not_sealed"


@dataclass(frozen=True)
class BrokenEntry:
    """The first place at which an audit log does not fit its seals: the number of the seal, the entry, or both."""

    problem: AuditProblem
    entry_id: UUID | None = None
    number: int | None = None


@dataclass(frozen=True)
class KnownSeal:
    """A seal that was recorded earlier and that the chain must still contain."""

    number: int
    seal_hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.seal_hash}"


#: Where the check of a whole log starts.
BEFORE_ALL = KnownSeal(0, FIRST_HASH)


def content_hash(entry: AuditContent) -> str:
    """Return the SHA-256 of an entry in hexadecimal: of a JSON list of its values, without spaces, in UTF-8.

    Details are the last value, with sorted names; without any, the list ends before them, as before there were details.
    """
    values = [str(entry.id), _utc(entry.at), entry.actor_kind, entry.actor_id, entry.actor_label, entry.verb]
    listed: list[Any] = [*values, entry.target_kind, list(entry.target_ids), list(entry.fields), entry.reason]
    listed += [dict(sorted(entry.details.items()))] if entry.details else []
    return _sha256(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))


def seal_hash(previous: str, seal: Seal) -> str:
    """Return the hash that a seal after the one with the hash `previous` has."""
    kind = "redaction" if seal.is_redaction else "entry"
    return _sha256(f"{previous} {seal.number} {kind} {seal.entry_id} {seal.content_hash} {_utc(seal.sealed_at)}")


class ChainCheck:
    """Checks the seals of one tenant in order, in batches, after the seal `start`; `last` is the last correct one."""

    def __init__(self, known: KnownSeal | None = None, *, start: KnownSeal = BEFORE_ALL) -> None:
        self._known, self.last = known, start
        self.last_sealed_at: datetime | None = None

    def first_broken(
        self, seals: Sequence[Seal], entries: Mapping[UUID, AuditContent], redacted: Mapping[UUID, str]
    ) -> BrokenEntry | None:
        """Return the first broken place among the next seals, or None; `entries` are those that they name.

        `redacted` maps redacted entries to the hash that the last redaction recorded.
        """
        for seal in seals:
            problem = self._problem_of(seal, entries.get(seal.entry_id), redacted)
            if problem:
                return BrokenEntry(problem, seal.entry_id, seal.number)
            self.last, self.last_sealed_at = KnownSeal(seal.number, seal.seal_hash), seal.sealed_at
        return None

    def missing_end(self) -> BrokenEntry | None:
        """Return the first seal that is missing at the end, if the chain ends before the known seal."""
        if self._known is None or self.last.number >= self._known.number:
            return None
        return BrokenEntry(AuditProblem.SEAL_MISSING, number=self.last.number + 1)

    def _problem_of(self, seal: Seal, entry: AuditContent | None, redacted: Mapping[UUID, str]) -> AuditProblem | None:
        if seal.number != self.last.number + 1:
            return AuditProblem.SEAL_MISSING
        is_known = self._known is not None and seal.number == self._known.number
        expected = seal_hash(self.last.seal_hash, seal)
        if seal.seal_hash != expected or (is_known and expected != self._known.seal_hash):  # type: ignore[union-attr]
            return AuditProblem.SEAL_CHANGED
        if entry is None:
            return AuditProblem.ENTRY_MISSING
        if content_hash(entry) != redacted.get(seal.entry_id, seal.content_hash):
            return AuditProblem.ENTRY_CHANGED
        return None


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
