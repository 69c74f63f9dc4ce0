"""Filter the list of sessions. Called inside a scope."""

from uuid import UUID

from compaction.models import Session
from compaction.pipeline.backlog import sessions_over_warning
from compaction.sessions.queries import SessionQuerySet


def filtered_sessions(tenant_id: UUID, *, partition: str, state: str, min_pressure: float) -> SessionQuerySet:
    """Return the matching sessions with their `fullness`, unordered. `state` is that of `SessionFilterForm`."""
    rows: SessionQuerySet = Session.objects.for_tenant(tenant_id).within(partition).with_pressure()
    rows = rows.at_least(min_pressure).with_current().with_titles()
    if state == "over":
        return rows.with_ids(session.pk for session in sessions_over_warning([tenant_id])[0].get(tenant_id, []))
    return {"": rows.open, "closed": rows.closed}.get(state, rows.all)()
