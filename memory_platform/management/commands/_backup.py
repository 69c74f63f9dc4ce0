"""Code that backup commands share: arguments, and reading the passphrase, which never appears on a command line."""

import os
from pathlib import Path

from django.core.management.base import CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand
from memory_platform.backup.database import record_of_every_tenant
from memory_platform.backup.files import BackupError
from memory_platform.backup.servers import Server


def add_backup_arguments(parser: CommandParser, file_help: str) -> None:
    """Add the arguments of both commands."""
    parser.add_argument("file", type=Path, help=file_help)
    parser.add_argument(
        "--superuser-url",
        default="",
        help="postgres:// URL of a superuser of an external server (default: DATABASE_SUPERUSER_URL)",
    )
    parser.add_argument(
        "--passphrase-file",
        type=Path,
        help="a file whose first line is the passphrase of the backup (default: the variable BACKUP_PASSPHRASE)",
    )


def record(command: PlatformCommand, server: Server, verb: str) -> None:
    """Record the act in the audit log of every tenant; if that fails, warn and continue."""
    label, now = command.actor.stored_label, timezone.now()
    try:
        record_of_every_tenant(server.superuser_url, server.database, verb, label=label, now=now)
    except BackupError as error:
        command.stderr.write(str(error))


def read_passphrase(path: Path | None) -> str:
    """Return the passphrase, "" for none. Raises `BackupError`."""
    if not path:
        return os.environ.get("BACKUP_PASSPHRASE", "")
    try:
        passphrase = path.expanduser().read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"{path} cannot be read.") from error
    if not passphrase:
        raise BackupError(f"The first line of {path} is empty.")
    return passphrase
