import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand, get_tenant_or_fail, json_files
from memories.management.imports import import_rows
from memories.services.store.locomo import LocomoError, LocomoTurn, parse_conversation
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Import conversations of the LoCoMo data set: each turn becomes one memory in conversation=<file name>.\n"
        "Text that the data set's authors generated (observations, summaries, events) is not read. Can be repeated.\n\n"
        "Example: manage.py import_locomo data/locomo/26.json --tenant acme"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a .json file, or a folder of them")
        parser.add_argument("--tenant", required=True, help="name of the tenant")

    def handle(self, **options: Any) -> None:
        now = timezone.now()
        tenant = get_tenant_or_fail(options["tenant"])
        # Every file is read before the first one is stored, so a folder with a bad file changes nothing.
        conversations = {path.stem: read_locomo_conversation(path) for path in json_files(options["path"])}
        rows = [turn.as_memory(stem) for stem, turns in conversations.items() for turn in turns]
        report = import_rows(tenant, rows, by=self.actor, now=now)
        report.write(self, f"{counted(len(conversations), 'conversation', 'conversations')}: ")
        if report.problems:
            place, problems = next(iter(report.problems.items()))
            failed = counted(len(report.problems), "turn", "turns")
            raise CommandError(f"{failed} failed, the first is {rows[place].source_id}: {problems[0].detail}")


def read_locomo_conversation(path: Path) -> list[LocomoTurn]:
    """Return the turns of one file. Raises `CommandError`."""
    try:
        return parse_conversation(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except LocomoError as error:
        raise CommandError(f"{path} is not a LoCoMo conversation: {error}.") from error
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}.") from error
