"""`manage.py export_tenant`: all rows of a tenant as JSON Lines."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.tenancy.audit import record_export
from memories.tenancy.scopes import tenant_scope
from memory_platform import __version__
from memory_platform.backup.files import new_private_file
from memory_platform.backup.tenant_files import export_tenant_rows
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Write all rows of a tenant to a file of JSON Lines, as they were at one point in time: memories with their\n"
        "versions and vectors, sessions, profiles, receipts, API keys (hashed) and the audit log.\n\n"
        "Example: manage.py export_tenant acme acme.jsonl"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="name of the tenant")
        parser.add_argument("file", type=Path, help="the file to write; it must not exist")

    def handle(self, **options: Any) -> None:
        tenant = get_tenant_or_fail(options["tenant"])
        lines = 0
        with new_private_file(options["file"]) as file:
            now = timezone.now()
            with tenant_scope(tenant.pk):
                record_export("tenant", [], tenant_id=tenant.pk, by=self.actor, now=now)
            for line in export_tenant_rows(tenant, version=__version__, written_at=now.isoformat()):
                file.write(line.encode() + b"\n")
                lines += 1
        self.stdout.write(f"{options['file']}: {counted(lines - 2, 'row', 'rows')} of {tenant.name}.")
