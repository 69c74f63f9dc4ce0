"""`manage.py migrate`, run by the role that owns the tables; then the vector index of each model in use."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.utils import ProgrammingError

from memories.tenancy.row_scope_tokens import store_signing_key
from memory_platform.management.commands._owner import owner_alias
from memory_platform.postgres.base import lost_migrations
from memory_platform.postgres.grants import apply_grants

#: Options that apply less than everything, or nothing.
PARTIAL = ("app_label", "plan", "check_unapplied", "prune", "fake")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        alias = owner_alias(options["database"])
        if lost := lost_migrations(MigrationLoader(connections[alias])):
            raise CommandError(
                f"An earlier development version created this database (its migration {lost[0]} no longer exists). It"
                " cannot be upgraded. To keep its memories, export them with that version first. Then start with an"
                f" empty database: delete {settings.DATA_DIR}, set DATA_DIR to a new folder, or change DATABASE_URL."
            )
        store_signing_key(connections[alias])  # for migrations that change rows
        super().handle(*args, **{**options, "database": alias})
        store_signing_key(connections[alias])
        try:
            apply_grants(connections[alias], settings.DATABASES)
        except ProgrammingError as error:
            raise CommandError(f"Rights could not be granted: {error} Run manage.py provision first.") from error
        if not any(options.get(name) for name in PARTIAL):
            call_command("ensure_vector_index", verbosity=options["verbosity"])
