"""`manage.py restore`: restore a deployment from a file of `manage.py backup`."""

import shlex
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from memories.management.command import PlatformCommand
from memory_platform.backup.database import has_data, restore
from memory_platform.backup.files import BackupError, read_backup
from memory_platform.backup.servers import Server, database_server
from memory_platform.embedded.files import write_private
from memory_platform.management.commands._backup import add_backup_arguments, read_passphrase, record
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Restore a file of `manage.py backup` while web, worker and beat are stopped.\n"
        "The rows, constraints, indexes, policies and roles are compared with the backup before the restored database\n"
        "replaces the current one. If anything differs, the current database stays unchanged.\n\n"
        "Example: manage.py restore monday.backup --passphrase-file ~/.backup-passphrase"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_backup_arguments(parser, "a file that `manage.py backup` wrote")
        parser.add_argument("--overwrite", action="store_true", help="replace a database that has tenants or operators")

    def handle(self, **options: Any) -> None:
        try:
            with (
                database_server(options["superuser_url"], is_exclusive=True) as server,
                _open(options["file"]) as file,
            ):
                manifest, dump = read_backup(file, passphrase=lambda: read_passphrase(options["passphrase_file"]))
                _check(server, manifest, may_overwrite=options["overwrite"])
                restore(server.superuser_url, server.database, dump, manifest["database"], roles=server.logins)
                record(self, server, "restore")
                _store_settings(manifest["settings"], is_embedded=server.is_embedded)
        except psycopg.Error as error:
            raise CommandError(f"The database server refused: {str(error).strip().splitlines()[0]}") from error
        rows = counted(sum(manifest["database"]["counts"].values()), "row", "rows")
        self.stdout.write(f"Restored and verified {rows} of {manifest['written_at']}.")
        self.stdout.write(f"The settings of the backup are in {_settings_file()}.")


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error


def _check(server: Server, manifest: dict[str, Any], *, may_overwrite: bool) -> None:
    roles = [login.role for login in server.logins]
    unknown = [role for role in manifest["roles"] if role not in roles]
    if unknown or manifest["roles"][0] != roles[0]:
        raise BackupError(f"The backup's roles are {', '.join(manifest['roles'])}; here they are {', '.join(roles)}.")
    if has_data(server.superuser_url, server.database) and not may_overwrite:
        raise BackupError(f"The database {server.database} has data: --overwrite replaces it.")


def _settings_file() -> Path:
    return Path(settings.DATA_DIR) / "secrets" / "restored.env"


def _store_settings(values: dict[str, str], *, is_embedded: bool) -> None:
    """Write the settings to a file for comparison; an embedded deployment takes over the secret key."""
    write_private(_settings_file(), "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()))
    if is_embedded:
        write_private(Path(settings.DATA_DIR) / "secrets" / "secret_key", values["SECRET_KEY"] + "\n")
