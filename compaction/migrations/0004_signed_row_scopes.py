"""Policies that check a signed token, on every table that has policies (ADR-0128)."""

from typing import Any

from django.db import migrations, transaction

from memories.tenancy.row_security import ROW_SCOPES, row_security_policies
from memory_platform.postgres.base import LIMIT_LOCKS

TABLES_WITH_POLICIES = "SELECT polrelid::regclass::text FROM pg_policy WHERE polname = 'in_tenant' ORDER BY 1"
READ_TO_AUTHENTICATE = ("memories_tenant", "memories_membership", "memories_apikey")


def replace_policies(_apps: object, schema_editor: Any) -> None:
    """Give each policy the condition that a new database gives it."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(TABLES_WITH_POLICIES)
        tables = [table for (table,) in cursor.fetchall()]
    for table in tables:
        column = "id" if table == "memories_tenant" else "tenant_id"
        policies = row_security_policies(column=column, is_read_to_authenticate=table in READ_TO_AUTHENTICATE)
        with transaction.atomic(using=schema_editor.connection.alias):
            schema_editor.execute(LIMIT_LOCKS)
            for name, (command, rows) in policies.items():
                check = f" WITH CHECK ({rows})" if command == "ALL" else ""
                schema_editor.execute(f"ALTER POLICY {name} ON {table} USING ({rows}){check}")


class Migration(migrations.Migration):
    # One transaction for each table: one for all would wait for a writer of one that waits for another (ADR-0201).
    atomic = False

    dependencies = [
        ("compaction", "0003_erasures"),
        ("context", "0002_row_security_and_triggers"),
        ("memories", "0002_row_security_and_triggers"),
    ]

    operations = [
        migrations.RunSQL(ROW_SCOPES, migrations.RunSQL.noop),
        migrations.RunPython(replace_policies, migrations.RunPython.noop),
    ]
