import getpass
import secrets
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.tenancy.actions.operators import create_operator
from memories.tenancy.scopes import admin_write_scope
from memory_platform.postgres.roles import CONSOLE
from memory_platform.web.roles import Role

GENERATED_PASSWORD_BYTES = 18


class Command(PlatformCommand):
    help = (
        "Create a person who may sign in to the console.\n"
        "The password is entered at a prompt, read from a file, or generated and printed alone on standard output.\n\n"
        "Example: manage.py create_operator maren --role operator --tenant acme --generate-password"
    )

    roles = (CONSOLE,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", choices=[role.value for role in Role], default=Role.OPERATOR.value)
        parser.add_argument(
            "--tenant", action="append", default=[], help="a tenant that the operator may see; can be repeated"
        )
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--password-file", help="file whose first line is the password")
        source.add_argument("--generate-password", action="store_true", help="generate one and print it")

    def handle(self, **options: Any) -> None:
        tenants = [get_tenant_or_fail(name) for name in options["tenant"]]
        password = self._password(options)
        with admin_write_scope():
            named = {"username": options["username"], "role": options["role"]}
            user = create_operator(**named, password=password, tenants=tenants, by=self.actor, now=timezone.now())
        self.stderr.write(f"Created the {options['role']} {user.username}.")
        if options["generate_password"]:
            self.stdout.write(password)

    def _password(self, options: dict[str, Any]) -> str:
        if options["generate_password"]:
            return secrets.token_urlsafe(GENERATED_PASSWORD_BYTES)
        if options["password_file"]:
            return _first_line(Path(options["password_file"]))
        if not sys.stdin.isatty():
            raise CommandError("No terminal is available for a prompt: use --password-file or --generate-password.")
        password = getpass.getpass("Password: ")
        if getpass.getpass("Password again: ") != password:
            raise CommandError("The two passwords differ.")
        return password


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CommandError(f"The password file {path} cannot be read: {reason}.") from error
    if not lines or not lines[0]:
        raise CommandError(f"The first line of {path} is empty.")
    return lines[0]
