"""`manage.py backup`: write a whole deployment to one file."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand
from memory_platform import __version__
from memory_platform.backup.database import dumped
from memory_platform.backup.files import new_private_file, write_backup
from memory_platform.backup.servers import database_server, settings_of_deployment
from memory_platform.management.commands._backup import add_backup_arguments, read_passphrase, record
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Write the database, the secret key and the settings to one file. The platform may be running.\n"
        "The file contains all memories and secrets: encrypt it with a passphrase or protect it like the server.\n\n"
        "Example: manage.py backup monday.backup --passphrase-file ~/.backup-passphrase"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_backup_arguments(parser, "the file to write; it must not exist")

    def handle(self, **options: Any) -> None:
        path: Path = options["file"]
        passphrase = read_passphrase(options["passphrase_file"])
        with new_private_file(path) as file, ExitStack() as stack:
            server = stack.enter_context(database_server(options["superuser_url"]))
            record(self, server, "backup")  # before the dump, which then contains it
            database, dump = stack.enter_context(dumped(server.superuser_url, server.database))
            manifest = {
                "version": __version__,
                "written_at": timezone.now().isoformat(),
                "roles": [login.role for login in server.logins],
                "settings": settings_of_deployment(),
                "database": database,
            }
            write_backup(file, manifest, dump, passphrase=passphrase)
        rows = counted(sum(database["counts"].values()), "row", "rows")
        secrecy = "encrypted" if passphrase else "not encrypted"
        self.stdout.write(f"{path}: {rows}, {path.stat().st_size:,} bytes, {secrecy}.")
