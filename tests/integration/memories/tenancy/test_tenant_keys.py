"""Every tenant table can be distributed by tenant: its keys contain `tenant_id` in the database (ADR-0093)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, connections, migrations, models, transaction
from django.db.migrations.state import ProjectState
from django.db.models import Count, ForeignKey

from memories.models import Memory, MemoryEmbedding, Partition, Tenant
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.postgres.base import has_tenant
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

TENANT_TABLES = """
SELECT c.oid, c.relname, a.attnum FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p') AND a.attname = 'tenant_id' AND NOT a.attisdropped
AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
"""
# The columns behind INCLUDE are not part of a key.
BREACHES = f"""
WITH tenant_table AS ({TENANT_TABLES})
SELECT 'primary key of ' || relname FROM tenant_table AS t
WHERE NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = t.oid AND i.indisprimary)
UNION ALL
SELECT 'unique index ' || i.indexrelid::regclass FROM pg_index AS i JOIN tenant_table AS t ON t.oid = i.indrelid
WHERE i.indisunique AND t.attnum <> ALL ((i.indkey::int2[])[0:i.indnkeyatts - 1])
UNION ALL
SELECT 'foreign key ' || k.conname FROM pg_constraint AS k
JOIN tenant_table AS own ON own.oid = k.conrelid JOIN tenant_table AS other ON other.oid = k.confrelid
WHERE k.contype = 'f' AND NOT EXISTS (
    SELECT FROM unnest(k.conkey, k.confkey) AS pair (own, other)
    WHERE pair.own = own.attnum AND pair.other = other.attnum
)
"""
# Two indexes of all rows with the same first columns in the same order: the longer one serves the same queries.
REDUNDANT_INDEXES = f"""
WITH keyed AS (
    SELECT i.*, c.relam,
        array_to_string((i.indkey::int2[])[0:i.indnkeyatts - 1], ' ') || ' ' AS columns,
        array_to_string((i.indoption::int2[])[0:i.indnkeyatts - 1], ' ') || ' ' AS orders,
        array_to_string((i.indclass::oid[])[0:i.indnkeyatts - 1], ' ') || ' ' AS classes
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN ({TENANT_TABLES}) AS t ON t.oid = i.indrelid
    WHERE i.indpred IS NULL AND i.indexprs IS NULL
)
SELECT short.indexrelid::regclass || ' beside ' || long.indexrelid::regclass
FROM keyed AS short JOIN keyed AS long USING (indrelid, relam)
WHERE short.indexrelid <> long.indexrelid AND NOT short.indisunique AND short.indnatts = short.indnkeyatts
AND starts_with(long.columns, short.columns) AND starts_with(long.orders, short.orders)
AND starts_with(long.classes, short.classes)
"""
FOREIGN_KEYS = f"""
SELECT own.relname, k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint AS k
JOIN ({TENANT_TABLES}) AS own ON own.oid = k.conrelid JOIN ({TENANT_TABLES}) AS other ON other.oid = k.confrelid
WHERE k.contype = 'f'
"""
# The indexes of a partition follow from those of the partitioned table.
KEPT_FOREIGN_KEYS = """
SELECT count(*) FROM pg_constraint AS k
JOIN pg_class AS own ON own.oid = k.conrelid JOIN pg_class AS other ON other.oid = k.confrelid
WHERE k.contype = 'f' AND k.conparentid = 0
AND own.relnamespace = 'spread'::regnamespace AND other.relnamespace = 'spread'::regnamespace
"""
PARENT = "CREATE TEMPORARY TABLE parent (id int, tenant_id uuid, CONSTRAINT parent_key PRIMARY KEY (id, tenant_id))"
OTHER = "CREATE TEMPORARY TABLE other (id int, tenant_id uuid, CONSTRAINT other_key PRIMARY KEY (id))"
CHILD = "CREATE TEMPORARY TABLE child (id int, tenant_id uuid, parent_id int, PRIMARY KEY (id, tenant_id)"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def rows(sql: str, using: str = "default") -> list[tuple[Any, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def run(*statements: str, using: str = "default") -> None:
    with connections[using].cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def breaches(using: str = "default") -> list[str]:
    return [breach for (breach,) in rows(BREACHES, using)]


@pytest.fixture
def as_owner(db: None) -> Iterator[None]:
    """Changes made as the owner, and rolled back."""
    with transaction.atomic(using="owner"):
        yield
        transaction.set_rollback(True, using="owner")


def test_database_has_every_constraint_and_index_of_the_models() -> None:
    """Altering a field can drop an index that another declaration needs, which no check for migrations notices."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname FROM pg_constraint UNION SELECT relname FROM pg_class WHERE relkind IN ('i', 'I')"
        )
        existing = {name for (name,) in cursor.fetchall()}
    tables = [model._meta for model in apps.get_models() if model._meta.managed]
    declared = {one.name for table in tables for one in (*table.constraints, *table.indexes)}
    assert len(declared) > 100
    assert declared - existing == set()


def test_keys_of_tenant_tables_contain_the_tenant() -> None:
    assert breaches() == []


def test_no_index_begins_another() -> None:
    assert rows(REDUNDANT_INDEXES) == []


def test_index_that_begins_another_is_found(as_owner: None) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("CREATE INDEX needless ON memories_memory (tenant_id)")
    found = [name for (name,) in rows(REDUNDANT_INDEXES, "owner")]
    assert "needless beside memory_by_id" in found


def test_every_model_with_a_tenant_is_looked_at() -> None:
    tables = {model._meta.db_table for model in apps.get_models() if has_tenant(model)}
    assert tables
    assert {name for _, name, _ in rows(TENANT_TABLES)} == tables


def test_every_foreign_key_between_tenant_tables_is_a_constraint() -> None:
    expected = {
        (model._meta.db_table, field.column)
        for model in apps.get_models()
        if has_tenant(model)
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey) and has_tenant(field.related_model)
    }
    definitions = [(table, definition) for table, _, definition in rows(FOREIGN_KEYS)]
    assert len(definitions) == len(expected)
    for table, column in expected:
        assert [d for t, d in definitions if t == table and d.startswith(f"FOREIGN KEY ({column}, tenant_id) REF")]


@pytest.mark.parametrize(
    ("statement", "breach"),
    [
        ("CREATE TEMPORARY TABLE broken (tenant_id uuid, id int)", "primary key of broken"),
        ("CREATE TEMPORARY TABLE broken (tenant_id uuid, id int PRIMARY KEY)", "unique index broken_pkey"),
        (
            "CREATE TEMPORARY TABLE broken (id int, tenant_id uuid, PRIMARY KEY (id, tenant_id), UNIQUE (id))",
            "unique index broken_id_key",
        ),
        ("CREATE UNIQUE INDEX part ON parent (id) WHERE id > 1", "unique index part"),
        ("CREATE UNIQUE INDEX beside ON parent (id) INCLUDE (tenant_id)", "unique index beside"),
        (f"{CHILD}, CONSTRAINT loose FOREIGN KEY (parent_id) REFERENCES other (id))", "foreign key loose"),
    ],
)
def test_key_without_the_tenant_is_found(statement: str, breach: str) -> None:
    run(PARENT, OTHER, statement)
    assert set(breaches()) == {"unique index other_key", breach}


def test_foreign_key_with_the_tenant_is_none() -> None:
    run(PARENT, f"{CHILD}, FOREIGN KEY (parent_id, tenant_id) REFERENCES parent (id, tenant_id))")
    assert breaches() == []


def test_every_tenant_table_can_be_partitioned_by_tenant(as_owner: None) -> None:
    """Including its indexes and constraints, and the foreign keys between partitioned tables."""
    tables = [name for _, name, _ in rows(TENANT_TABLES, "owner")]
    foreign_keys = rows(FOREIGN_KEYS, "owner")
    run(
        "CREATE SCHEMA spread",
        "SET LOCAL search_path = spread, public",
        *(f"CREATE TABLE spread.{t} (LIKE public.{t} INCLUDING ALL) PARTITION BY HASH (tenant_id)" for t in tables),
        *(f"ALTER TABLE spread.{t} ADD CONSTRAINT {name} {definition}" for t, name, definition in foreign_keys),
        *(
            f"CREATE TABLE spread.memory_{part} PARTITION OF spread.memories_memory"
            f" FOR VALUES WITH (MODULUS 2, REMAINDER {part})"
            for part in range(2)
        ),
        using="owner",
    )
    assert rows("SELECT count(*) FROM pg_partitioned_table", "owner") == [(len(tables),)]
    assert rows(KEPT_FOREIGN_KEYS, "owner") == [(len(foreign_keys),)]


def test_later_migrations_need_not_know_of_it(as_owner: None) -> None:
    state = ProjectState.from_apps(apps)
    key, code = models.BigAutoField(primary_key=True), models.CharField(max_length=8, unique=True)
    with connections["owner"].schema_editor() as editor:
        for operation in (
            migrations.CreateModel("Late", [("id", key), ("code", code)]),
            migrations.AddField("late", "tenant", models.ForeignKey("memories.Tenant", models.CASCADE)),
            migrations.AddField("late", "memory", models.ForeignKey("memories.Memory", models.CASCADE, null=True)),
            migrations.AddField("late", "number", models.IntegerField(null=True, unique=True)),
        ):
            before = state.clone()
            operation.state_forwards("memories", state)
            operation.database_forwards("memories", editor, before, state)
    assert breaches("owner") == []
    keys = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'memories_late'::regclass"
    assert {definition for (definition,) in rows(f"{keys} AND contype <> 'n'", "owner")} == {
        "PRIMARY KEY (id, tenant_id)",
        "UNIQUE (code, tenant_id)",
        "UNIQUE (number, tenant_id)",
        "FOREIGN KEY (tenant_id) REFERENCES memories_tenant(id) DEFERRABLE INITIALLY DEFERRED",
        "FOREIGN KEY (memory_id, tenant_id) REFERENCES memories_memory(id, tenant_id) DEFERRABLE INITIALLY DEFERRED",
    }


def test_two_tenants_may_have_a_row_of_the_same_id(tenant: Tenant, other_tenant: Tenant) -> None:
    """Triggers then change only rows of their own tenant, even in the scope that sees both."""
    memory = make_memory(tenant)
    make_memory(other_tenant)
    with admin_write_scope():
        Memory.objects.for_tenant(other_tenant.pk).update(id=memory.pk)
        vector = {"memory_id": memory.pk, "version": 1, "model": "m", "dimension": 2, "vector": [1, 0]}
        for each in (tenant, other_tenant):
            MemoryEmbedding.objects.create(tenant=each, **vector)
        Memory.objects.for_tenant(tenant.pk).update(archived_at=NOW)
        current = dict(MemoryEmbedding.objects.values_list("tenant_id", "is_current"))
        assert current == {tenant.pk: False, other_tenant.pk: True}
        connection.check_constraints()


def test_rows_are_grouped_by_all_their_columns(tenant: Tenant) -> None:
    """`GROUP BY id` alone is refused if the primary key has two columns."""
    memory = make_memory(tenant)
    with tenant_scope(tenant.pk):
        found = Partition.objects.for_tenant(tenant.pk).annotate(count=Count("memories")).get(pk=memory.partition_id)
    assert found.count == 1
