"""Databases that an earlier checkout migrated: nothing leads from them to the migrations of today."""

from django.db.migrations.loader import MigrationLoader

APPS = frozenset({"memories", "context", "compaction"})


def lost_migrations(loader: MigrationLoader) -> list[str]:
    """Return the migrations that the database has and the program no longer does, as `app.name`."""
    lost = set(loader.applied_migrations) - set(loader.disk_migrations)
    return sorted(f"{app}.{name}" for app, name in lost if app in APPS)
