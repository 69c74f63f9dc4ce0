"""Positions in the write-ahead log, as numbers."""

from memories.tenancy.queries.prepared import execute_prepared


def written_position() -> float:
    """Return the position after the last record of the primary, which may not be on disk yet (`synchronous_commit`)."""
    ((position,),) = execute_prepared("SELECT pg_current_wal_insert_lsn() - '0/0'", [])
    return float(position)


def replayed_position() -> float:
    """Return the position up to which the replica has replayed."""
    ((position,),) = execute_prepared("SELECT coalesce(pg_last_wal_replay_lsn() - '0/0', 0)", [])
    return float(position)
