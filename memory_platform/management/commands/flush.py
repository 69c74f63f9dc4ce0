"""`manage.py flush`, run by the role that owns the tables."""

from typing import Any

from django.core.management.commands import flush

from memory_platform.management.commands._owner import owner_alias


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        super().handle(**{**options, "database": owner_alias(options["database"])})
