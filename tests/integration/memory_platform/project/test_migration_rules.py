"""Migrations must not stop the requests of the previous version: rules for their statements."""

import re
from collections.abc import Iterable

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration

from memory_platform.postgres.base import APPS
from tests.integration.memory_platform.project.test_upgrade import FIRST_SCHEMA

#: Statements that delay requests on a large table or break those of the previous version, and the alternatives
#: (ADR-0201).
UNSAFE = {
    r"CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)": "AddIndexConcurrently, in a migration with `atomic = False`",
    r"ADD CONSTRAINT \S+ (CHECK|FOREIGN KEY)(?!.*NOT VALID)": "AddConstraintNotValid, then ValidateConstraint",
    r"ADD CONSTRAINT \S+ (UNIQUE|PRIMARY KEY|EXCLUDE)(?!.*USING INDEX)": "an index made concurrently, then USING INDEX",
    r"ALTER COLUMN \S+ TYPE": "a new column, filled in batches",
    r"ALTER COLUMN \S+ SET NOT NULL": "CHECK (... IS NOT NULL) NOT VALID, then ValidateConstraint",
    r"ADD COLUMN .* GENERATED": "a column that the application fills",
    r"ALTER COLUMN \S+ DROP DEFAULT": "db_default or null, so that the version before can still insert",
    r"DROP COLUMN|RENAME": "another release, once no version uses it",
    r"^(VACUUM FULL|CLUSTER|REINDEX (?!.*CONCURRENTLY)|LOCK)": "no migration",
    r"^(UPDATE|INSERT INTO|DELETE FROM)": "a task that changes rows in batches",
}
_TABLE = re.compile(r'(?:TABLE|ON|INTO|UPDATE|FROM)\s+(?:ONLY )?"?(\w+)"?')
_CREATED = re.compile(r'CREATE TABLE (?:IF NOT EXISTS )?"?([\w.]+)"?')

#: Migrations from before these rules; none was run on a table with many rows.
EXCEPTIONS = {
    (
        "context",
        "0003_queries_agents_and_golden_budgets",
    ): "rewrites receipts, which are deleted after a while",
    ("memories", "0003_vector_tail"): "an index on vectors, whose large index the migration drops anyway",
    ("memories", "0004_audit_of_verb"): "an index on audit entries",
    ("memories", "0008_deleted_views"): "an index on the saved views of operators",
    ("memories", "0010_more_saved_views"): "a constraint on the saved views of operators",
    ("memories", "0013_saved_views_of_all_lists"): "a constraint on the saved views of operators",
    ("memories", "0012_audit_indexes"): "removes the length from a type, which rewrites no row",
}


def unsafe_statements(statements: Iterable[str]) -> list[str]:
    """Return the statements on tables that the migration itself did not create, without comments."""
    found, created = list[str](), set[str]()
    for statement in statements:
        plain = " ".join(line for line in statement.splitlines() if not line.lstrip().startswith("--")).strip()
        created.update(_CREATED.findall(plain))
        table = _TABLE.search(plain)
        if "CREATE FUNCTION" in plain or "CREATE OR REPLACE FUNCTION" in plain or (table and table[1] in created):
            continue
        found += [plain for pattern in UNSAFE if re.search(pattern, plain)]
    return found


def statements_of(migration: Migration) -> list[str]:
    executor = MigrationExecutor(connection)
    statements: list[str] = executor.loader.collect_sql([(migration, False)])
    return [part for statement in statements for part in split(statement)]


def split(statement: str) -> list[str]:
    """Return the statements of a text; the body of a function is not split."""
    return [statement] if "$$" in statement else statement.split(";")


@pytest.mark.django_db(transaction=True)  # indexes are built concurrently outside of transactions
def test_migrations_since_the_first_schema_block_no_requests() -> None:
    graph = MigrationExecutor(connection).loader.graph
    first = {key for last in FIRST_SCHEMA for key in graph.forwards_plan(last)}
    later = [graph.nodes[key] for key in sorted(graph.nodes) if key[0] in APPS and key not in first]
    assert later
    found = {(one.app_label, one.name): unsafe for one in later if (unsafe := unsafe_statements(statements_of(one)))}
    assert set(found) == set(EXCEPTIONS), found


@pytest.mark.parametrize(
    ("statement", "is_unsafe"),
    [
        ('CREATE INDEX "a" ON "memories_memory" ("kind")', True),
        ('CREATE INDEX CONCURRENTLY "a" ON "memories_memory" ("kind")', False),
        ('ALTER TABLE "memories_memory" ADD CONSTRAINT "a" CHECK ("version" > 0)', True),
        ('ALTER TABLE "memories_memory" ADD CONSTRAINT "a" CHECK ("version" > 0) NOT VALID', False),
        ('ALTER TABLE "memories_memory" VALIDATE CONSTRAINT "a"', False),
        ('ALTER TABLE "memories_memory" ADD COLUMN "a" integer NULL', False),
        ('ALTER TABLE "memories_memory" ADD COLUMN "a" integer GENERATED ALWAYS AS (1) STORED', True),
        ('ALTER TABLE "memories_memory" ALTER COLUMN "kind" TYPE text', True),
        ('ALTER TABLE "memories_memory" ALTER COLUMN "a" DROP DEFAULT', True),
        ("UPDATE memories_memory SET kind = 'note'", True),
    ],
)
def test_rules_see_a_breach(statement: str, is_unsafe: bool) -> None:
    assert bool(unsafe_statements([statement])) is is_unsafe
    assert unsafe_statements(['CREATE TABLE "memories_memory" (id int)', statement]) == []
