"""The audit log: one row for each action, with names of fields and never their text; some have a reason."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import orjson
from celery import current_app
from django.core.cache import cache
from django.db import Error as DatabaseFailure
from django.db import connection, transaction
from django.utils.crypto import salted_hmac
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from memories.models import ApiKey, AuditEntry, StoredAct
from memories.services.tenancy.act_labels import AGENT_TRAFFIC
from memories.tenancy.queries.insertions import insert_rows
from memories.tenancy.scopes import last_write_scope, tenant_scope

ACTOR_LABEL_CHARACTERS_MAX = 150
logger = logging.getLogger(__name__)

#: Characters of the hash of a query.
_QUERY_HASH_CHARACTERS = 16
_UNLESS_RECORDED = "ON CONFLICT DO NOTHING"
#: Ids of the latest reads whose entries this process has committed and need not send again.
_recorded: set[UUID] = set()
_RECORDED_MAX = 10_000
#: The searches of a page that changes while a person types are recorded if no others follow within this time.
SETTLED_SECONDS = 3
_PLACE_SECONDS = 60
_SETTLED = "memories.tasks.record_settled_searches_task"
#: The searches so far of a request that others may follow; None in any other request.
_live: ContextVar[list[dict[str, Any]] | None] = ContextVar("searches of a live request", default=None)


@dataclass(frozen=True)
class Actor:
    """An operator, an API key or the system. `label` is the displayed name: a user name or a key's name."""

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
        """The label, cut to `ACTOR_LABEL_CHARACTERS_MAX`."""
        return self.label[:ACTOR_LABEL_CHARACTERS_MAX]


@dataclass(frozen=True)
class ChangedValue:
    """A field of a target before and after an act, for its undo; never a secret."""

    target: object
    field: str
    before: Any
    after: Any

    def as_record(self) -> dict[str, Any]:
        """Return the row of a stored act."""
        return {"id": str(self.target), "field": self.field, "before": self.before, "after": self.after}


def record_audit(
    verb: str,
    target_kind: str,
    target_ids: Iterable[object],
    *,
    tenant_id: UUID,
    fields: Iterable[str] = (),
    reason: str = "",
    details: Mapping[str, Any] | None = None,
    act_id: UUID | None = None,
    changes: Sequence[ChangedValue] = (),
    by: Actor,
    now: datetime,
) -> AuditEntry:
    """Write the audit row of one action, in the transaction of its change.

    `reason` is the actor's, and `details` are numbers, hashes and choices: neither contains memory text. The row of a
    bulk or hygiene action has the id of its act, `act_id`, so that it can be undone (ADR-0137). `changes` are stored as
    an act with the id of the row, outside of the log, so that an erasure can delete them (ADR-0282).
    """
    entry = AuditEntry(tenant_id=tenant_id, at=now, verb=verb, target_kind=target_kind, fields=sorted(fields))
    entry.id = act_id or entry.id
    entry.reason, entry.details = reason, dict(details or {})
    entry.actor_kind, entry.actor_id, entry.actor_label = by.kind, by.id, by.stored_label
    entry.target_ids = [str(target) for target in target_ids]
    insert_rows([entry])
    if changes and not (by.kind == AuditEntry.ActorKind.KEY and verb in AGENT_TRAFFIC):
        rows = as_stored_value([change.as_record() for change in changes])
        StoredAct.objects.create(id=entry.pk, tenant_id=tenant_id, act=StoredAct.Act.CHANGE, at=now, changed=rows)
    return entry


def as_stored_value(value: Any) -> Any:
    """Return a value in the form of a stored act: times and ids as text, times to the microsecond."""
    return orjson.loads(orjson.dumps(value))


def record_shown(verb: str, target_kind: str, target_id: object, *, tenant_id: UUID, **read: Any) -> None:
    """Record that an actor read a row, or searched it, at most once for each hour of the clock (UTC).

    The other arguments are those of `_read_entry`. Opens its own scope. A database that accepts no changes refuses the
    entry, which the log of the process says, but not the response.
    """
    entry = _read_entry(verb, target_kind, target_id, tenant_id=tenant_id, **read)
    if entry.pk in _recorded:
        return
    try:
        with last_write_scope(tenant_id, is_pipelined=True):
            insert_rows([entry], _UNLESS_RECORDED)
    except DatabaseFailure as error:
        name = type(error).__name__
        logger.error("No audit entry of %s by %s %s: %s", verb, entry.actor_kind, entry.actor_id[:8], name)
        return
    if not connection.in_atomic_block:
        if len(_recorded) >= _RECORDED_MAX:
            _recorded.clear()
        _recorded.add(entry.pk)


def _read_entry(
    verb: str,
    target_kind: str,
    target_id: object,
    *,
    tenant_id: UUID,
    about: str = "",
    details: Mapping[str, Any] | None = None,
    by: Actor,
    now: datetime,
) -> AuditEntry:
    """Return the entry of a read in this hour; `about` (a page, or the hash of a query) tells reads of a row apart."""
    entry = AuditEntry(tenant_id=tenant_id, at=now, verb=verb, target_kind=target_kind, target_ids=[str(target_id)])
    entry.actor_kind, entry.actor_id, entry.actor_label = by.kind, by.id, by.stored_label
    entry.details = dict(details or {})
    hour = f"{now.astimezone(UTC):%Y-%m-%dT%H}"
    # keyed, because an erasure redacts the path of a partition, but not the id
    entry.id = UUID(_keyed_hash("id", tenant_id, verb, target_kind, target_id, by.kind, by.id, hour, about)[:32])
    return entry


def record_search(
    verb: str, query: str, partition: str, *, results: int, tenant_id: UUID, by: Actor, now: datetime
) -> None:
    """Record that an actor searched a partition, "" for the tenant (ADR-0274). Opens its own scope.

    The query is stored as a keyed hash: equal queries have the same, and only with `SECRET_KEY` can one be guessed.
    Inside `live_searches`, it is only collected.
    """
    query_hash = _keyed_hash("query", tenant_id, query)[:_QUERY_HASH_CHARACTERS]
    target = ("partition", partition) if partition else ("tenant", str(tenant_id))
    details = {"query_hash": query_hash, "results": results}
    searches = _live.get()
    if searches is None:
        record_shown(verb, *target, tenant_id=tenant_id, about=query_hash, details=details, by=by, now=now)
        return
    search = {"verb": verb, "target": target, "tenant_id": str(tenant_id), "details": details}
    searches.append({**search, "actor": (by.kind, by.id, by.stored_label), "now": now.isoformat()})


@contextmanager
def live_searches() -> Iterator[list[dict[str, Any]]]:
    """Collect the searches in the block for `record_once_settled`."""
    searches: list[dict[str, Any]] = []
    token = _live.set(searches)
    try:
        yield searches
    finally:
        _live.reset(token)


def record_once_settled(page: str, searches: Sequence[Mapping[str, Any]]) -> None:
    """Let the worker record a request's searches, unless other ones of this page and actor follow soon (ADR-0303).

    Without a broker or a cache, they are recorded at once. Call with no scope open; otherwise, an error of the broker
    would be raised at the commit.
    """
    place = ".".join(("search", searches[0]["tenant_id"], *searches[0]["actor"][:2], page))
    try:
        cache.set(place, [_hash_of(search) for search in searches], _PLACE_SECONDS)
        transaction.on_commit(partial(current_app.send_task, _SETTLED, (place, searches), countdown=SETTLED_SECONDS))
    except (RedisError, BrokerError, OSError) as error:
        logger.warning("Searches are recorded at once: %s", type(error).__name__)
        for search in searches:
            record_shown(**_read_of(search))


def record_settled_searches(place: str, searches: Sequence[Mapping[str, Any]]) -> None:
    """Record those searches of a request that the actor's latest one has, too; without a cache, all of them.

    Raises `DatabaseError`, so that the task is tried again.
    """
    sent = [_hash_of(search) for search in searches]
    try:
        latest = cache.get(place, sent)
    except (RedisError, OSError):
        latest = sent
    if entries := [_read_entry(**_read_of(search)) for search in searches if _hash_of(search) in latest]:
        with tenant_scope(entries[0].tenant_id):
            insert_rows(entries, _UNLESS_RECORDED)


def _hash_of(search: Mapping[str, Any]) -> str:
    return str(search["details"]["query_hash"])


def _read_of(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `_read_entry` for a search."""
    target_kind, target_id = search["target"]
    read = {"verb": search["verb"], "target_kind": target_kind, "target_id": target_id, "about": _hash_of(search)}
    read |= {"tenant_id": UUID(search["tenant_id"]), "details": search["details"]}
    return {**read, "by": Actor(*search["actor"]), "now": datetime.fromisoformat(search["now"])}


def _keyed_hash(*values: object) -> str:
    return salted_hmac("audit log", "\0".join(map(str, values)), algorithm="sha256").hexdigest()


def record_export(target_kind: str, filters: Iterable[str], *, tenant_id: UUID, by: Actor, now: datetime) -> AuditEntry:
    """Record that an actor downloads rows of a kind; `filters` are the names of those that were set."""
    return record_audit("export", target_kind, [], tenant_id=tenant_id, fields=filters, by=by, now=now)


class AuditedRow(Protocol):
    """A row of a tenant."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def pk(self) -> object: ...


def audit_rows(
    verb: str,
    rows: Sequence[AuditedRow],
    *,
    fields: Iterable[str] = (),
    act_id: UUID | None = None,
    changes: Sequence[ChangedValue] = (),
    by: Actor,
    now: datetime,
) -> AuditEntry:
    """Write the audit row of an action on rows (at least one) of one model and tenant, named by primary key."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(rows[0]).__name__).lower()
    ids = [row.pk for row in rows]
    tenant_id = rows[0].tenant_id
    who: dict[str, Any] = {"tenant_id": tenant_id, "by": by, "now": now}
    return record_audit(verb, kind, ids, fields=fields, act_id=act_id, changes=changes, **who)
