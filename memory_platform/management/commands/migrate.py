"""`manage.py migrate`, run by the role that owns the tables."""

from typing import Any

from django.core.management.commands import migrate

from memory_platform.management.commands._owner import owner_alias


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **{**options, "database": owner_alias(options["database"])})
