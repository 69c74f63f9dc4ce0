"""`manage.py flush`, run by the role that owns the tables."""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import flush
from django.db import OperationalError

from memory_platform.management.commands._owner import owner_alias

#: A running request may lock a table; the database then ends one of the two.
_TRIES = 5
_PAUSE_SECONDS = 0.5


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        owned = {**options, "database": owner_alias(options["database"])}
        for tries_left in reversed(range(_TRIES)):
            try:
                super().handle(**owned)
                return
            except CommandError as error:
                if not (tries_left and isinstance(error.__cause__, OperationalError)):
                    raise
            time.sleep(_PAUSE_SECONDS)
