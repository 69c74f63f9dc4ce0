"""Fill a tenant with many rows: the database copies its existing rows, each copy with its own id and time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from django.db import connection
from django.db.models import AutoField, GeneratedField, Model

from compaction.models import Compaction, CompactionMember, Message, Run, Session
from context.models import EvaluationRun, Feedback, GoldenQuestion, Receipt
from memories.models import (
    ApiKey,
    AuditEntry,
    Memory,
    MemoryEmbedding,
    MemoryFinding,
    MemoryLink,
    MemoryPair,
    PartitionSummary,
    Snapshot,
    Tenant,
)
from memories.partitions.maintenance import fold_partition_counts
from memories.services.partitions.paths import parse_partition
from memories.services.search.lexemes import MARK_DIGITS
from memories.store.live_rows import ensure_partitions
from memories.tenancy.scopes import admin_write_scope

_PLACE = "agent=crowd/user=u"
#: The id of the API key with a number.
KEY_ID = "left(md5({number}::text), 8) || '.' || {number}"


@dataclass(frozen=True)
class BulkRowCounts:
    """The approximate number of rows of each kind afterwards."""

    memories: int
    receipts: int
    sessions: int
    audit: int
    votes: int
    partitions: int
    others: int

    @classmethod
    def of(cls, memories: int) -> "BulkRowCounts":
        """Return the counts of a tenant with this many memories."""
        return cls(memories, memories // 5, memories // 50, memories, memories // 5, memories // 20, memories // 100)


@dataclass(frozen=True)
class BulkCopies:
    """Copies of the rows that a tenant has in a table, in rounds: `base` is such a row, `n` the number of the round."""

    model: type[Model]
    values: Mapping[str, str] = field(default_factory=dict)
    where: str = "true"
    joins: str = ""

    def insert(self, tenant: Tenant, wanted: int = 0, *, rounds: int = 0) -> int:
        """Insert `rounds` rounds, or as many as lead to `wanted` rows; return their number."""
        table, columns = self.model._meta.db_table, _columns(self.model)
        rows = f"FROM {table} base WHERE tenant_id = %s AND {self.where}"
        chosen = ({"id": copied("id")} | dict(self.values)).get
        values = ", ".join(chosen(column) or f"base.{column}" for column in columns)
        _discard_plans()
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) {rows}", [tenant.pk])
            rounds = rounds or -(-wanted // max(cursor.fetchone()[0], 1))
            cursor.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM generate_series(1, {rounds}) n "
                f"CROSS JOIN (SELECT * {rows}) base {self.joins}",
                [tenant.pk],
            )
        return rounds


def _columns(model: type[Model]) -> list[str]:
    """Return the columns of an insert: all that the database neither generates nor numbers."""
    fields = model._meta.concrete_fields
    return [str(each.column) for each in fields if not isinstance(each, GeneratedField | AutoField)]


def _discard_plans() -> None:
    """Discard cached plans: triggers and foreign keys would read a whole table for each row, as in a small tenant."""
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")


def copied(column: str, number: str = "n") -> str:
    """Return the id of the copy, made in round `number`, of the row that a column names."""
    return f"md5(base.{column}::text || ':' || {number})::uuid"


def shift_round_back(*columns: str, by: str) -> dict[str, str]:
    """Return columns whose times are earlier by this interval in each round."""
    return {column: f"base.{column} - n * interval '{by}'" for column in columns}


def fill_with_bulk_rows(tenant: Tenant, size: BulkRowCounts) -> None:
    """Fill a tenant that already has rows of the demo."""
    with admin_write_scope():
        paths = [parse_partition(f"{_PLACE}{number}") for number in range(size.partitions)]
        ensure_partitions(tenant.pk, paths)
        rounds = _copy_memories(tenant, size)
        _copy_sessions(tenant, size)
        _copy_records(tenant, size, rounds)
        _discard_plans()
    fold_partition_counts()


def _copy_memories(tenant: Tenant, size: BulkRowCounts) -> int:
    elsewhere = "CASE WHEN mod(n, 2) = 0 THEN place.{} ELSE base.{} END"
    text = "base.content || ' (note ' || n || ')'"
    memories = BulkCopies(
        Memory,
        {
            "content": text,
            "search_of": f"left(md5({text}), {MARK_DIGITS})",
            "content_hash": f"encode(sha256(convert_to({text} || base.id, 'UTF8')), 'hex')",
            "partition_id": elsewhere.format("id", "partition_id"),
            "partition_path": elsewhere.format("path", "partition_path"),
        }
        | shift_round_back("created_at", "valid_from", "recorded_from", by="3 hours"),
        where="archived_at IS NULL",
        joins="JOIN memories_partition place ON place.tenant_id = base.tenant_id "
        # not on the round alone, or all copies of a round would be in one partition
        f"AND place.path = '{_PLACE}' || mod(abs(hashtext(base.id::text || n)::bigint), {size.partitions})",
    )
    rounds = memories.insert(tenant, size.memories)
    is_live = "memory_id IN (SELECT id FROM memories_memory WHERE archived_at IS NULL)"
    near = "(SELECT array_agg(x + 0.1 * (random() - 0.5)) FROM unnest(base.vector::vector::real[]) x)::halfvec"
    of_memory = {"memory_id": copied("memory_id")}
    searched = f"{is_live} AND model IN (SELECT name FROM memories_embeddingmodel WHERE state = 'active')"
    BulkCopies(MemoryEmbedding, of_memory | {"vector": near}, where=searched).insert(tenant, rounds=rounds)
    BulkCopies(MemoryFinding, of_memory, where=is_live).insert(tenant, rounds=rounds)
    both = " AND ".join(f"{end} IN (SELECT id FROM memories_memory WHERE archived_at IS NULL)" for end in ("{}", "{}"))
    ends = {"source_id": copied("source_id"), "target_id": copied("target_id")}
    BulkCopies(MemoryLink, ends, where=both.format(*ends)).insert(tenant, rounds=rounds)
    ends = {"older_id": copied("older_id"), "newer_id": copied("newer_id")}
    BulkCopies(MemoryPair, ends, where=both.format(*ends)).insert(tenant, rounds=rounds)
    return rounds


def _copy_sessions(tenant: Tenant, size: BulkRowCounts) -> None:
    """Foreign keys are checked at the end, so that a session may name the compaction that names it."""
    before = partial(shift_round_back, by="20 minutes")
    times = before("created_at", "last_message_at")
    rounds = BulkCopies(Session, {"current_id": copied("current_id")} | times).insert(tenant, size.sessions)
    ids = {name: copied(name) for name in ("session_id", "compaction_id", "message_id", "previous_id")}
    BulkCopies(Compaction, {**ids, "replaces_id": "NULL"} | before("created_at", "finished_at", "compacted_at")).insert(
        tenant, rounds=rounds
    )
    BulkCopies(Message, ids | before("created_at", "recorded_at")).insert(tenant, rounds=rounds)
    BulkCopies(CompactionMember, ids).insert(tenant, rounds=rounds)
    BulkCopies(
        Run, {**ids} | before("created_at", "started_at", "finished_at"), where="state IN ('done', 'failed')"
    ).insert(tenant, rounds=rounds)


def _copy_records(tenant: Tenant, size: BulkRowCounts, rounds: int) -> None:
    BulkCopies(Receipt, shift_round_back("created_at", by="30 minutes")).insert(tenant, size.receipts)
    on_copies = {"memory_id": copied("memory_id", f"(mod(n, {rounds}) + 1)"), "receipt_id": "NULL"}
    on_copies |= {"actor_kind": "'key'", "actor_id": KEY_ID.format(number="n")}
    is_live = "memory_id IN (SELECT id FROM memories_memory WHERE archived_at IS NULL)"
    BulkCopies(
        Feedback, on_copies | shift_round_back("at", by="1 hour"), where=f"kind = 'explicit' AND {is_live}"
    ).insert(tenant, size.votes)
    keys = max(size.others // 20, 1)
    key = KEY_ID.format(number=f"(mod(n, {keys}) + 1)")
    by_key = {
        "actor_kind": "CASE WHEN mod(n, 2) = 0 THEN 'key' ELSE base.actor_kind END",
        "actor_id": f"CASE WHEN mod(n, 2) = 0 THEN {key} ELSE base.actor_id END",
    }
    BulkCopies(AuditEntry, by_key | shift_round_back("at", by="10 minutes")).insert(tenant, size.audit)
    BulkCopies(
        Snapshot, {"name": "base.name || ' ' || n"} | shift_round_back("recorded_at", "created_at", by="1 minute")
    ).insert(tenant, size.others // 10)
    BulkCopies(GoldenQuestion, {"text": "base.text || ' ' || n"}).insert(tenant, size.others // 2)
    BulkCopies(
        EvaluationRun, shift_round_back("created_at", "started_at", "finished_at", by="1 hour"), where="state = 'done'"
    ).insert(tenant, size.others // 10)
    BulkCopies(ApiKey, {"id": KEY_ID.format(number="n"), "prefix": "left(md5(n::text), 8)"}).insert(tenant, keys)
    place = f"JOIN memories_partition place ON place.tenant_id = base.tenant_id AND place.path = '{_PLACE}' || (n - 1)"
    values = {"partition_id": "place.id", "summary_id": "gen_random_uuid()", "version": "1"}
    newest = "id = (SELECT max(id) FROM memories_partitionsummary WHERE recorded_to IS NULL)"
    BulkCopies(PartitionSummary, values, where=newest, joins=place).insert(tenant, size.partitions)
