"""Row-level security compares the tenant of a row and nothing else: less for each row, and better estimates of rows."""

from typing import Any

from django.db import migrations

from memories.tenancy.row_security import row_security_policies

READ_TO_AUTHENTICATE = {"memories_tenant", "memories_membership", "memories_apikey"}
CONFINED = "SELECT tablename FROM pg_policies WHERE policyname = 'in_tenant' AND schemaname = current_schema()"


def restate(_apps: Any, schema_editor: Any) -> None:
    """Write every policy as `confine` does; tables that come later have it so from the start."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(CONFINED)
        tables = [table for (table,) in cursor.fetchall()]
    for table in tables:
        column = "id" if table == "memories_tenant" else "tenant_id"
        made = row_security_policies(column=column, is_read_to_authenticate=table in READ_TO_AUTHENTICATE)
        for name, (command, rows) in made.items():
            check = f" WITH CHECK ({rows})" if command == "ALL" else ""
            schema_editor.execute(f"ALTER POLICY {name} ON {table} USING ({rows}){check}")


class Migration(migrations.Migration):
    dependencies = [("memories", "0016_audit_by_kind")]

    operations = [migrations.RunPython(restate, migrations.RunPython.noop)]
