"""`manage.py migrate`, run by the role that owns the tables; then the vector index of each model in use."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from memory_platform.management.commands._owner import owner_alias
from memory_platform.postgres.base import lost_migrations

#: Options that apply less than everything, or nothing.
PARTIAL = ("app_label", "plan", "check_unapplied", "prune", "fake")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        alias = owner_alias(options["database"])
        if lost := lost_migrations(MigrationLoader(connections[alias])):
            raise CommandError(
                f"The database comes from a pre-release schema (its migration {lost[0]} no longer exists): export what"
                " you need with the version that made it, then delete the database or set DATA_DIR to a new folder."
            )
        super().handle(*args, **{**options, "database": alias})
        if not any(options.get(name) for name in PARTIAL):
            call_command("ensure_vector_index", verbosity=options["verbosity"])
