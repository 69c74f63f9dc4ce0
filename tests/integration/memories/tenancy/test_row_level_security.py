"""Row-level security as Postgres enforces it, on every tenant table, found by introspection."""

import re
import uuid
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, transaction

from compaction.models import (
    Alert,
    AlertDelivery,
    AlertDestination,
    AlertRule,
    CompactionMember,
    CompactionPrompt,
    Erasure,
    ProviderBreaker,
    RetentionPolicy,
    Run,
)
from context.models import (
    BudgetProfile,
    BudgetProfileAssignment,
    EvaluationAnswer,
    EvaluationRun,
    Feedback,
    GoldenMemory,
    GoldenQuestion,
    LongQuery,
    Receipt,
    ScoringProfileAssignment,
    ScoringProfileVersion,
)
from memories.models import (
    AuditCheck,
    CommonLexeme,
    EmbeddingModel,
    FirstSteps,
    IdempotencyRecord,
    Memory,
    MemoryEmbedding,
    MemoryFinding,
    MemoryLink,
    MemoryPair,
    MemoryVersion,
    MissingVector,
    Partition,
    PartitionCount,
    PartitionSummary,
    RecalledText,
    RetrievalTick,
    SavedView,
    Snapshot,
    StoredAct,
    Tenant,
    UncomparedMemory,
)
from memories.partitions.actions import link_memories, set_tenant_memo
from memories.services.search.lexemes import search_columns
from memories.store.actions.edit import update_memory
from memories.tenancy.actions.invitations import create_invitation
from memories.tenancy.audit_chain import seal_audit_entries_of
from memories.tenancy.scopes import (
    admin_write_scope,
    authentication_scope,
    maintenance_scope,
    operator_read_scope,
    tenant_scope,
)
from memory_platform.web.roles import Role
from tests.factories import FACTORY_NOW, TESTER, make_key, make_memory, make_tenant
from tests.sessions import new_compaction, new_message, new_session
from tests.users import new_operator

pytestmark = pytest.mark.django_db

#: Read before the tenant is known.
READ_TO_AUTHENTICATE = {"memories_tenant", "memories_membership", "memories_apikey"}


def tenant_tables() -> dict[str, str]:
    """Return by table the column that names the tenant, from the catalogue: foreign keys to tenants, and tenants."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT c.conrelid::regclass::text, a.attname FROM pg_constraint c"
            " JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)"
            " WHERE c.contype = 'f' AND c.confrelid = 'memories_tenant'::regclass"
        )
        tables = dict(cursor.fetchall())
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE column_name LIKE 'tenant%id' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        return tables | dict(cursor.fetchall()) | {"memories_tenant": "id"}


def unconfined(tables: dict[str, str]) -> list[str]:
    """Return the tables without enabled and forced policies, or without one for a tenant's own scope."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relrowsecurity AND c.relforcerowsecurity AND EXISTS"
            " (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'in_tenant')"
        )
        confined = {name for (name,) in cursor.fetchall()}
    return sorted(set(tables) - confined)


def count_rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return int(cursor.fetchone()[0])


@pytest.fixture
def full_tenant() -> Tenant:
    """A tenant with at least one row in every table."""
    tenant = make_tenant()
    key, _ = make_key(tenant)
    first, second = make_memory(tenant, is_embedded=True), make_memory(tenant)
    new_operator(f"member-{tenant.name}", "viewer", tenant)
    seal_audit_entries_of(tenant.pk, now=FACTORY_NOW)
    with tenant_scope(tenant.pk):
        update_memory(memory=second, changes={"pinned": True}, by=TESTER, now=FACTORY_NOW)
        link_memories(source=first, target=second, kind="supports", by=TESTER, now=FACTORY_NOW)
        set_tenant_memo(tenant=tenant, content="memo", by=TESTER, now=FACTORY_NOW)
        RecalledText.objects.create(tenant=tenant, memory=first, recalled_hash="h", recalled_at=FACTORY_NOW)
        IdempotencyRecord.objects.create(
            tenant=tenant, api_key=key, idempotency_key="k", request_hash="h", created_at=FACTORY_NOW
        )
        # The preceding writes left changes of counts.
        PartitionCount.objects.create(tenant=tenant, path="", own_rows=2, subtree_rows=2)
        _fill_later_tables(tenant, first)
    return tenant


def _fill_later_tables(tenant: Tenant, memory: Memory) -> None:
    PartitionSummary.objects.create(
        tenant=tenant, partition=memory.partition, version=1, content="text", origin="operator",
        tokens_o200k_base=1, tokens_cl100k_base=1, recorded_from=FACTORY_NOW,
    )  # fmt: skip
    model = EmbeddingModel.objects.for_tenant(tenant.pk).active().get()
    MissingVector.objects.create(tenant=tenant, model=model, memory=memory, version=1)
    other = make_memory(tenant)
    UncomparedMemory.objects.get_or_create(tenant=tenant, memory=memory, version=1)
    MemoryPair.objects.create(
        tenant=tenant,
        kind="near_duplicate",
        older=memory,
        newer=other,
        similarity=1,
        texts_hash="h",
        found_at=FACTORY_NOW,
    )
    MemoryFinding.objects.create(
        tenant=tenant, kind="never_retrieved", memory=memory, weight=1, at=FACTORY_NOW, found_at=FACTORY_NOW
    )
    AuditCheck.objects.create(tenant=tenant, checked_at=FACTORY_NOW, last_number=0)
    StoredAct.objects.create(tenant=tenant, act="archive", at=FACTORY_NOW)
    Erasure.objects.create(tenant=tenant, scope="tenant", created_at=FACTORY_NOW)
    RetentionPolicy.objects.create(tenant=tenant, days=1, age_from="created", created_at=FACTORY_NOW)
    create_invitation(tenant=tenant, role=Role.VIEWER, note="", days=1, by=TESTER, now=FACTORY_NOW)
    SavedView.objects.create(
        tenant=tenant,
        user=User.objects.get(username=f"member-{tenant.name}"),
        list="memories",
        name="pinned",
        filters={"pinned": "on"},
        created_at=FACTORY_NOW,
    )
    FirstSteps.objects.create(tenant=tenant, user=User.objects.get(username=f"member-{tenant.name}"))
    CommonLexeme.objects.create(tenant=tenant, lexeme="project", rows=1000)
    Snapshot.objects.create(tenant=tenant, name="before", recorded_at=FACTORY_NOW, created_at=FACTORY_NOW)
    RetrievalTick.objects.create(tenant=tenant, memory_ids=[memory.pk], recalled_hashes=[""], at=FACTORY_NOW)
    BudgetProfile.objects.create(tenant=tenant, version=1, recorded_from=FACTORY_NOW)
    BudgetProfileAssignment.objects.create(
        tenant=tenant, profile_name="default", partition_path="", recorded_from=FACTORY_NOW
    )
    receipt = Receipt.objects.create(
        tenant=tenant, created_at=FACTORY_NOW, request={}, profile={}, budget_profile={}, budget={}, tokens_used=0,
        blocks=[],
        omitted=[], candidates=[], plan={}, text_sha256="0" * 64,
    )  # fmt: skip
    LongQuery.objects.create(id=uuid.uuid4(), tenant=tenant, text="What happened?", created_at=FACTORY_NOW)
    Feedback.objects.create(
        tenant=tenant,
        memory=memory,
        receipt=receipt,
        kind="explicit",
        weight=1.0,
        at=FACTORY_NOW,
        on_day=FACTORY_NOW.date(),
    )
    run = EvaluationRun.objects.create(
        tenant=tenant, corpus_kind="golden", corpus_name="golden", corpus_sha256="0" * 64, profile_name="adr-0040",
        profile_version=1, profile_numbers={}, packer="greedy", ordering="top_down", budgets=[250],
        created_at=FACTORY_NOW,
    )  # fmt: skip
    ScoringProfileVersion.objects.create(tenant=tenant, name="own", version=1, numbers={}, recorded_from=FACTORY_NOW)
    ScoringProfileAssignment.objects.create(
        tenant=tenant, profile_name="own", partition_path="", recorded_from=FACTORY_NOW
    )
    EvaluationAnswer.objects.create(tenant=tenant, run=run, position=0, question_id="q", measures={})
    question = GoldenQuestion.objects.create(tenant=tenant, text="Who?", created_at=FACTORY_NOW)
    GoldenMemory.objects.create(tenant=tenant, question=question, memory=memory)
    session = new_session(tenant)
    compaction = new_compaction(session)
    CompactionMember.objects.create(
        tenant=tenant, compaction=compaction, message=new_message(session), act="masked", previous_state="live"
    )
    CompactionPrompt.objects.create(tenant=tenant, version=2, text="Summarise.", recorded_from=FACTORY_NOW)
    Run.objects.create(tenant=tenant, kind="compaction", session=session, compaction=compaction, created_at=FACTORY_NOW)
    ProviderBreaker.objects.create(tenant=tenant, provider="openai")
    rule = {"tenant": tenant, "kind": "contradictions", "threshold": 1}
    AlertRule.objects.create(**rule, is_enabled=True, changed_at=FACTORY_NOW)
    alert = Alert.objects.create(**rule, value=1, opened_at=FACTORY_NOW)
    destination = AlertDestination.objects.create(
        tenant=tenant, kind="email", address="a@example.com", created_at=FACTORY_NOW
    )
    AlertDelivery.objects.create(
        tenant=tenant, destination=destination, alert=alert, event="opened", due_at=FACTORY_NOW, created_at=FACTORY_NOW
    )


@pytest.fixture
def tables(full_tenant: Tenant) -> list[str]:
    """The tables of all apps, each with a row of `full_tenant`."""
    names = tenant_tables()
    with admin_write_scope():
        assert all(count_rows(name) for name in names), "a table has no row to be hidden"
    return names


def test_every_table_with_a_tenant_is_confined() -> None:
    assert len(tenant_tables()) >= 14
    assert unconfined(tenant_tables()) == []


def test_table_without_a_policy_is_noticed() -> None:
    """Two mistakes: a column without its policies, and policies that the owner bypasses."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE forgotten (tenant_id uuid)")
        cursor.execute("CREATE TEMPORARY TABLE unforced (tenant_id uuid)")
        cursor.execute("ALTER TABLE unforced ENABLE ROW LEVEL SECURITY")
        cursor.execute("CREATE POLICY in_tenant ON unforced USING (true)")
        found = tenant_tables()
        assert {"forgotten", "unforced"} <= set(found)
        assert unconfined(found) == ["forgotten", "unforced"]
        cursor.execute("DROP TABLE forgotten, unforced")


def test_row_is_compared_with_tenants_and_the_rest_is_worked_out_once_a_query() -> None:
    """A list parsed for each row took 80 ms for 100,000 rows, names of scopes compared for each row 7."""
    with connection.cursor() as cursor:
        for table, column in tenant_tables().items():
            cursor.execute(f"EXPLAIN SELECT FROM {table}")
            (rule,) = {line for (line,) in cursor.fetchall() if "InitPlan" in line and "Filter:" in line}
            parts = re.sub(r"\(InitPlan \d+\).col1", "it", rule.partition(": ")[2]).strip("()").split(" OR ")
            assert {part.strip("()") for part in parts} == {"it", f"{column} = ANY (it", f"{column} = it"}, table


def test_app_role_is_neither_superuser_nor_owner_nor_bypasses_policies() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False)
        cursor.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tableowner = current_user")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT has_table_privilege('memories_memory', 'TRUNCATE')")
        assert cursor.fetchone() == (False,)


def test_only_plpgsql_and_vector_are_installed() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname FROM pg_extension ORDER BY extname")
        assert cursor.fetchall() == [("plpgsql",), ("vector",)]


def scope_named(name: str, mine: Tenant, other: Tenant) -> AbstractContextManager[None]:
    scopes: dict[str, AbstractContextManager[None]] = {
        "no scope": nullcontext(),
        "own tenant": tenant_scope(mine.pk),
        "other tenant": tenant_scope(other.pk),
        "no such tenant": tenant_scope(uuid.uuid4()),
        "operator of it": operator_read_scope([other.pk, mine.pk]),
        "operator of others": operator_read_scope([other.pk]),
        "operator of none": operator_read_scope([]),
        "admin": admin_write_scope(),
        "maintenance": maintenance_scope(),
        "authentication": authentication_scope(),
    }
    return scopes[name]


SCOPES = [
    ("no scope", False),
    ("own tenant", True),
    ("other tenant", False),
    ("no such tenant", False),
    ("operator of it", True),
    ("operator of others", False),
    ("operator of none", False),
    ("admin", True),
    ("maintenance", True),
]


def test_scope_shows_exactly_its_rows(full_tenant: Tenant, tables: list[str]) -> None:
    other = make_tenant()
    columns = tenant_tables()
    for name, sees in SCOPES:
        for table in tables:
            with scope_named(name, full_tenant, other), connection.cursor() as cursor:
                cursor.execute(f"SELECT count(*) FROM {table} WHERE {columns[table]} = %s", [full_tenant.pk])
                assert (cursor.fetchone()[0] > 0) is sees, f"{table} in {name}"


def test_authentication_reads_keys_tenants_and_memberships_alone(full_tenant: Tenant) -> None:
    with authentication_scope():
        seen = {name for name in tenant_tables() if count_rows(name)}
    assert seen == READ_TO_AUTHENTICATE


def copy_rows(table: str, column: str, tenant: Tenant) -> str:
    """Copy the tenant's rows of a table; return the INSERT that would add them again.

    Policies are checked before constraints, so the INSERT fails because of the policies.
    """
    with admin_write_scope(), connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS copied")
        cursor.execute(f"CREATE TEMPORARY TABLE copied AS SELECT * FROM {table} WHERE {column} = %s", [tenant.pk])
        cursor.execute(
            "SELECT string_agg(column_name, ', ') FROM information_schema.columns"
            " WHERE table_name = %s AND is_generated = 'NEVER'",
            [table],
        )
        columns = cursor.fetchone()[0]
    return f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM copied"


def changed_rows(statement: str, tenant: Tenant) -> int:
    """Return the number of rows that a statement changes, or 0 if an append-only table refuses it."""
    with suppress(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, [tenant.pk])
        return int(cursor.rowcount)
    return 0


@pytest.mark.parametrize("name", ["no scope", "other tenant", "operator of it", "maintenance", "authentication"])
def test_scope_that_may_not_write_is_refused_in_every_table(full_tenant: Tenant, tables: list[str], name: str) -> None:
    other = make_tenant()
    columns = tenant_tables()
    for table in tables:
        insert = copy_rows(table, columns[table], full_tenant)
        with scope_named(name, full_tenant, other), connection.cursor() as cursor:
            with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
                cursor.execute(insert)
            for change in (f"UPDATE {table} SET id = id", f"DELETE FROM {table}"):
                assert changed_rows(f"{change} WHERE {columns[table]} = %s", full_tenant) == 0, f"{change} in {name}"


def test_query_without_a_scope_returns_nothing_and_an_insert_fails(full_tenant: Tenant) -> None:
    assert not Memory.objects.exists()
    assert not Tenant.objects.exists()
    with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        Partition.objects.create(tenant=full_tenant, path="user=x", depth=1, segments=["user=x"])


def test_tenant_cannot_move_a_row_to_another(full_tenant: Tenant) -> None:
    other = make_tenant()
    with (
        tenant_scope(full_tenant.pk),
        pytest.raises(DatabaseError, match="row-level security"),
        transaction.atomic(),
    ):
        MemoryVersion.objects.update(tenant_id=other.pk)


def test_admin_scope_writes_in_every_tenant(full_tenant: Tenant) -> None:
    other = make_memory(make_tenant())
    with admin_write_scope():
        assert Memory.objects.filter(tenant__in=[full_tenant, other.tenant_id]).update(pinned=True) == 4


def test_scope_ends_with_its_block_and_nests(full_tenant: Tenant) -> None:
    other = make_tenant()
    with tenant_scope(full_tenant.pk):
        assert Memory.objects.count() == 3
        with tenant_scope(other.pk):
            assert Memory.objects.count() == 0
        assert Memory.objects.count() == 3
        with pytest.raises(ZeroDivisionError), tenant_scope(other.pk):
            raise ZeroDivisionError
        assert Memory.objects.count() == 3
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.scope', true)")
        assert cursor.fetchone()[0] in ("", None)


# --- References across tenants, even for an admin ------------------------------------------------------------------


def foreign_rows(mine: Tenant, memory: Memory, foreign: Memory) -> dict[str, Any]:
    """Yield rows of `mine` that refer to a row of another tenant."""
    text = {
        "kind": "fact",
        "content": "x",
        "content_hash": "h",
        "created_at": FACTORY_NOW,
        "tokens_o200k_base": 1,
        "tokens_cl100k_base": 1,
        "valid_from": FACTORY_NOW,
        "recorded_from": FACTORY_NOW,
        **search_columns("x"),
    }
    return {
        "memory in a partition": Memory(tenant=mine, partition_id=foreign.partition_id, **text),
        "version of a memory": MemoryVersion(
            tenant=mine, memory_id=foreign.pk, version=9, valid_to=FACTORY_NOW, recorded_to=FACTORY_NOW, **text
        ),
        "vector of a memory": MemoryEmbedding(
            tenant=mine, memory_id=foreign.pk, version=9, model="m", dimension=2, vector=[1.0, 0.0]
        ),
        "link to a memory": MemoryLink(
            tenant=mine, source_id=memory.pk, target_id=foreign.pk, kind="a", recorded_from=FACTORY_NOW
        ),
        "recalled text of a memory": RecalledText(
            tenant=mine, memory_id=foreign.pk, recalled_hash="h", recalled_at=FACTORY_NOW
        ),
        "pair with an older memory": MemoryPair(
            tenant=mine,
            kind="contradiction",
            older_id=foreign.pk,
            newer_id=memory.pk,
            similarity=1,
            texts_hash="h",
            found_at=FACTORY_NOW,
        ),
        "pair with a newer memory": MemoryPair(
            tenant=mine,
            kind="contradiction",
            older_id=memory.pk,
            newer_id=foreign.pk,
            similarity=1,
            texts_hash="h",
            found_at=FACTORY_NOW,
        ),
        "finding about a memory": MemoryFinding(
            tenant=mine, kind="unhelpful", memory_id=foreign.pk, weight=1, at=FACTORY_NOW, found_at=FACTORY_NOW
        ),
        "memory to be compared": UncomparedMemory(tenant=mine, memory_id=foreign.pk, version=9),
        "link from a memory": MemoryLink(
            tenant=mine, source_id=foreign.pk, target_id=memory.pk, kind="a", recorded_from=FACTORY_NOW
        ),
    }


@pytest.mark.parametrize("reference", foreign_rows(Tenant(), Memory(), Memory()))
def test_reference_to_another_tenants_row_is_refused(tenant: Tenant, other_tenant: Tenant, reference: str) -> None:
    row = foreign_rows(tenant, make_memory(tenant), make_memory(other_tenant))[reference]
    with admin_write_scope(), connection.cursor() as cursor, transaction.atomic():
        row.save()
        with pytest.raises(IntegrityError, match="same_tenant"), transaction.atomic():
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        transaction.set_rollback(True)
