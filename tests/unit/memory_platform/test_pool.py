"""How long a web process keeps a database connection."""

from memory_platform.settings import DATABASE_POOL_LIFETIME_SECONDS, _database


def test_pooled_connections_are_closed_after_a_while():
    pool = _database("postgresql://memory@127.0.0.1/memory", 8)["OPTIONS"]["pool"]
    assert 0 < pool["max_lifetime"] == DATABASE_POOL_LIFETIME_SECONDS <= 600
