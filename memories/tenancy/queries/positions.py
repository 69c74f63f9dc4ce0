"""Positions in the write-ahead log, as numbers."""

from memories.tenancy.queries.prepared import execute_prepared


def written_position() -> float:
    """Return until where the primary has written."""
    ((position,),) = execute_prepared("SELECT pg_current_wal_lsn() - '0/0'", [])
    return float(position)


def replayed_position() -> float:
    """Return until where the replica has replayed."""
    ((position,),) = execute_prepared("SELECT coalesce(pg_last_wal_replay_lsn() - '0/0', 0)", [])
    return float(position)
