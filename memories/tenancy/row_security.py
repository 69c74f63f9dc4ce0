"""Row-level security as migration operations: one function for every table of every app (ADR-0055)."""

from collections.abc import Mapping

from django.db import migrations
from django.db.migrations.operations.base import Operation

_SCOPE = "current_setting('app.scope', true)"
# NULL in other scopes, so that one comparison per row is enough.
_TENANT = f"(SELECT CASE {_SCOPE} WHEN 'tenant' THEN nullif(current_setting('app.tenant_id', true), '')::uuid END)"
# The outer cast tells Postgres that this is one array, not rows.
_READABLE = (
    f"(SELECT CASE {_SCOPE} WHEN 'operator_read' THEN"
    " nullif(current_setting('app.readable_tenants', true), '')::uuid[] END)::uuid[]"
)


def row_security_policies(
    *, column: str = "tenant_id", is_read_to_authenticate: bool = False
) -> Mapping[str, tuple[str, str]]:
    """Return (command, condition) by policy; Postgres evaluates sub-selects of settings once per query."""
    readers = "'maintenance', 'authentication'" if is_read_to_authenticate else "'maintenance'"
    return {
        "in_tenant": ("ALL", f"{column} = {_TENANT}"),
        "operator_read": ("SELECT", f"{column} = ANY ({_READABLE})"),
        "admin_write": ("ALL", f"(SELECT {_SCOPE} = 'admin_write')"),
        "named_read": ("SELECT", f"(SELECT {_SCOPE} IN ({readers}))"),
    }


def enable_row_security(table: str, *, column: str = "tenant_id", is_read_to_authenticate: bool = False) -> Operation:
    """Confine a table to the scopes of memories/tenancy/scopes.py; FORCE confines the owner too."""
    made = row_security_policies(column=column, is_read_to_authenticate=is_read_to_authenticate)
    forward = [f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY", f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"]
    forward += [
        f"CREATE POLICY {name} ON {table} FOR {command} USING ({rows})"
        + (f" WITH CHECK ({rows})" if command == "ALL" else "")
        for name, (command, rows) in made.items()
    ]
    backward = [f"DROP POLICY {name} ON {table}" for name in made]
    backward += [f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY", f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"]
    return migrations.RunSQL(sql=";\n".join(forward), reverse_sql=";\n".join(backward))
