"""`manage.py distribute`: the statements that distribute the tables over a Citus cluster."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connections

from memories.management.command import PlatformCommand
from memory_platform.management.commands._owner import owner_alias
from memory_platform.postgres.distribution import distribution_statements


class Command(PlatformCommand):
    help = (
        "Print the statements that distribute all tables by tenant over a Citus cluster. Changes nothing.\n"
        "They have not been run: docs/scaling.md says what to check first.\n\n"
        "Example: manage.py distribute --dry-run > distribute.sql"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="required: nothing else is supported")

    def handle(self, **options: Any) -> None:
        if not options["dry_run"]:
            raise CommandError("Only --dry-run is supported: run the printed statements yourself.")
        for statement in distribution_statements(connections[owner_alias("default")]):
            self.stdout.write(f"{statement};")
