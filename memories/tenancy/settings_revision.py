"""Counting changes of settings as a migration operation (ADR-0116)."""

from django.db import migrations
from django.db.migrations.operations.base import Operation

#: The function that the triggers call. It counts in the scope of the writer, which may write that tenant's rows.
COUNT_CHANGES = """
CREATE FUNCTION memories_settings_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memories_tenant SET settings_revision = settings_revision + 1
    WHERE id IN (SELECT tenant_id FROM changed);
    RETURN NULL;
END
$$
"""
DROP_COUNTING = "DROP FUNCTION memories_settings_changed()"
_TRIGGER = (
    "CREATE TRIGGER settings_changed_by_{event} AFTER {event} ON {table} REFERENCING {rows} TABLE AS changed"
    " FOR EACH STATEMENT EXECUTE FUNCTION memories_settings_changed()"
)
#: For each event, the rows that the trigger reads: as changed, or as deleted.
_EVENTS = {"insert": "NEW", "update": "NEW", "delete": "OLD"}


def count_settings_changes(table: str) -> Operation:
    """Count every statement that changes rows of a table in `settings_revision` of their tenants."""
    made = [_TRIGGER.format(event=event, table=table, rows=rows) for event, rows in _EVENTS.items()]
    dropped = [f"DROP TRIGGER settings_changed_by_{event} ON {table}" for event in _EVENTS]
    return migrations.RunSQL(sql=";\n".join(made), reverse_sql=";\n".join(dropped))
