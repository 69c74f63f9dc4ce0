"""Row-level security as migration operations: one function for every table of every app (ADR-0055)."""

from django.db import migrations
from django.db.migrations.operations.base import Operation

TENANT = "(SELECT nullif(current_setting('app.tenant_id', true), '')::uuid)"
SCOPE = "(SELECT current_setting('app.scope', true))"
# The cast inside counts; that outside only tells Postgres that one array is meant, not rows.
READABLE = "(SELECT nullif(current_setting('app.readable_tenants', true), '')::uuid[])::uuid[]"


def confine(table: str, *, column: str = "tenant_id", is_read_to_authenticate: bool = False) -> Operation:
    """Confine a table to the scopes of memories/scopes.py.

    The sub-selects make Postgres read and cast each setting once a query, not once a row. FORCE binds the owner too, so
    that a deployment which by mistake runs the app as the owner is still confined.
    """
    readers = "'maintenance', 'authentication'" if is_read_to_authenticate else "'maintenance'"
    policies = {
        "in_tenant": f"FOR ALL USING ({SCOPE} = 'tenant' AND {column} = {TENANT})"
        f" WITH CHECK ({SCOPE} = 'tenant' AND {column} = {TENANT})",
        "operator_read": f"FOR SELECT USING ({SCOPE} = 'operator_read' AND {column} = ANY ({READABLE}))",
        "admin_write": f"FOR ALL USING ({SCOPE} = 'admin_write') WITH CHECK ({SCOPE} = 'admin_write')",
        "named_read": f"FOR SELECT USING ({SCOPE} IN ({readers}))",
    }
    forward = [f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY", f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"]
    forward += [f"CREATE POLICY {name} ON {table} {rule}" for name, rule in policies.items()]
    backward = [f"DROP POLICY {name} ON {table}" for name in policies]
    backward += [f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY", f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"]
    return migrations.RunSQL(sql=";\n".join(forward), reverse_sql=";\n".join(backward))


def same_tenant(table: str, column: str, referred: str) -> Operation:
    """Let a foreign key reach only a row of the same tenant: a pair (tenant, id) that must exist in `referred`."""
    name = f"{table}_{column}_same_tenant"
    return migrations.RunSQL(
        sql=f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (tenant_id, {column})"
        f" REFERENCES {referred} (tenant_id, id) DEFERRABLE INITIALLY DEFERRED",
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )
