"""`manage.py clean_erased_files`: rewrite the tables, so that no data file contains erased texts (ADR-0130)."""

import time
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone

from compaction.erasure.orchestrator import mark_files_cleaned
from compaction.erasure.queries import rewrite_tables
from memories.management.command import PlatformCommand
from memory_platform.management.commands._owner import owner_alias
from memory_platform.postgres.base import APPS

#: ANALYZE copies frequent values of columns into it.
_STATISTICS = "pg_statistic"


class Command(PlatformCommand):
    help = (
        "Rewrite every table and its indexes, so that their files contain nothing of erased rows. A table is locked\n"
        "while it is rewritten. Older segments of the write-ahead log and older backups still contain the texts.\n\n"
        "Example: manage.py clean_erased_files"
    )

    def handle(self, **_: Any) -> None:
        began, now = time.monotonic(), timezone.now()
        models = [model for app in sorted(APPS) for model in apps.get_app_config(app).get_models()]
        tables = [*(model._meta.db_table for model in models), _STATISTICS]
        unclean = rewrite_tables(tables, database=owner_alias(DEFAULT_DB_ALIAS))
        if unclean:
            raise CommandError(
                f"An older transaction may still read deleted rows of {', '.join(unclean)}."
                " Run the command again when it has ended."
            )
        erasures = mark_files_cleaned(now=now)
        seconds = time.monotonic() - began
        self.stdout.write(f"Rewrote {len(tables)} tables in {seconds:.1f} s, after {erasures} erasures.")
