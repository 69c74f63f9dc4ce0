"""`manage.py import_tenant`: a tenant from a file of `manage.py export_tenant`."""

import uuid
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, DataError, IntegrityError
from django.utils import timezone

from memories.management.command import PlatformCommand
from memories.services.tenancy.tenant_names import TenantNameError, check_tenant_name
from memory_platform.backup.tenant_files import import_tenant_rows, read_lines
from memory_platform.management.commands._owner import owner_alias
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Store a file of `manage.py export_tenant`, completely or not at all. The result is compared with the file.\n"
        "With --new-id, the tenant is a copy with another id, and its API keys are revoked.\n\n"
        'Example: manage.py import_tenant acme.jsonl --new-id --name "acme copy"'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file that `manage.py export_tenant` wrote")
        parser.add_argument("--new-id", action="store_true", help="store it under another id")
        parser.add_argument("--name", default="", help="another name (default: that of the file)")

    def handle(self, **options: Any) -> None:
        path: Path = options["file"]
        try:
            name = check_tenant_name(options["name"]) if options["name"] else ""
            with path.open(encoding="utf-8") as file:
                imported = import_tenant_rows(
                    read_lines(file),
                    new_id=uuid.uuid4() if options["new_id"] else None,
                    name=name,
                    owner_alias=owner_alias(DEFAULT_DB_ALIAS),
                    by=self.actor,
                    now=timezone.now(),
                )
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is not UTF-8')}.") from error
        except TenantNameError as error:
            raise CommandError(error.detail) from error
        except (IntegrityError, DataError) as error:
            reason = str(error).splitlines()[0]
            raise CommandError(f"The database refused a row, so nothing was stored: {reason}") from error
        self.stdout.write(f"Stored {counted(imported.rows, 'row', 'rows')} of the tenant {imported.tenant_id}.")
        if imported.rows_left_out:
            left_out = counted(imported.rows_left_out, "row about a user is", "rows about users are")
            self.stdout.write(f"{left_out} skipped: no operator with that name exists.")
