"""`manage.py migrate`, run by the role that owns the tables; then the vector index of each model in use."""

from typing import Any

from django.core.management import call_command
from django.core.management.commands import migrate

from memory_platform.management.commands._owner import owner_alias

#: What asks for less than everything, or only for an answer.
PARTIAL = ("app_label", "plan", "check_unapplied", "prune", "fake")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **{**options, "database": owner_alias(options["database"])})
        if not any(options.get(name) for name in PARTIAL):
            call_command("ensure_vector_index", verbosity=options["verbosity"])
