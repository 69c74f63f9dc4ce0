import json
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.management.imports import import_rows
from memories.services.partitions.paths import PartitionPath
from memories.services.store.drafts import NewMemory
from memories.store.serializers.import_export import ImportedMemoryInput
from memories.store.serializers.inputs import build_new_memory
from memories.tenancy.serializers.partitions import requested_partition
from memory_platform.rest.serializers import flat_errors
from memory_platform.web.numerals import counted

LINES_SHOWN = 20


class Command(PlatformCommand):
    help = (
        "Import memories from a file of JSON Lines, each with the fields of POST /api/v1/memories/bulk. A line can\n"
        "name the versions of the memories that it updates (if_version) and replaces (superseded_versions).\n"
        "Invalid lines are reported and all others stored. Importing the same file again changes nothing.\n\n"
        "Example: manage.py import_memories notes.jsonl --tenant acme\n"
        '         where a line is {"content": "Alex prefers tea.", "kind": "preference", "user_id": "alex"}'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a .jsonl file")
        parser.add_argument("--tenant", required=True, help="name of the tenant")

    def handle(self, **options: Any) -> None:
        now = timezone.now()
        tenant = get_tenant_or_fail(options["tenant"])
        rows, faults = read_memory_lines(options["file"], now)
        numbers = list(rows)
        report = import_rows(tenant, list(rows.values()), by=self.actor, now=now)
        faults |= {
            numbers[place]: "; ".join(f"{problem.field}: {problem.detail}" for problem in problems)
            for place, problems in report.problems.items()
        }
        for number in sorted(faults)[:LINES_SHOWN]:
            self.stderr.write(f"line {number}: {faults[number]}")
        report.write(self)
        if faults:
            lines = counted(len(rows) + len(faults) - len(report.problems), "line", "lines")
            raise CommandError(f"{len(faults):,} of {lines} failed.")


def read_memory_lines(path: Path, now: datetime) -> tuple[dict[int, NewMemory], dict[int, str]]:
    """Return the valid rows and the errors of the others, both by line number."""
    rows: dict[int, NewMemory] = {}
    faults: dict[int, str] = {}
    checker = ImportedMemoryInput(context={"now": now})
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {getattr(error, 'strerror', 'it is not UTF-8 text')}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            values = checker.run_validation(raw)
            rows[number] = build_new_memory(values, requested_partition(values) or PartitionPath(), raw)
        except ValidationError as error:
            problems = flat_errors(error.detail)
            faults[number] = "; ".join(f"{problem['field'] or 'the line'}: {problem['detail']}" for problem in problems)
        except (ValueError, RecursionError) as error:
            faults[number] = f"not JSON: {error}"
    return rows, faults
