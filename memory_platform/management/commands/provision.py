"""`manage.py provision`: create roles, database and extension on an external Postgres server as a superuser."""

import os
import secrets
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.core.management.base import CommandError, CommandParser

from memories.management.command import PlatformCommand
from memory_platform.embedded.environment import database_config
from memory_platform.embedded.files import PASSWORD_BYTES
from memory_platform.embedded.provision import DatabaseLogin, provision

OTHER_ROLES = {
    "DATABASE_OWNER_URL": "memory_owner",
    "DATABASE_CONSOLE_URL": "memory_console",
    "DATABASE_MAINTENANCE_URL": "memory_maintenance",
}
EXAMPLE_URL = "postgres://postgres:secret@db.example:5432/postgres"


class Command(PlatformCommand):
    help = (
        "Create the roles, the database and the vector extension. Can be run again.\n"
        "Names and passwords are taken from DATABASE_URL, DATABASE_OWNER_URL, DATABASE_CONSOLE_URL and\n"
        "DATABASE_MAINTENANCE_URL; missing ones are generated and printed as lines for .env.\n\n"
        f"Example: manage.py provision --superuser-url {EXAMPLE_URL}"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--superuser-url",
            default=os.environ.get("DATABASE_SUPERUSER_URL", ""),
            help="postgres:// URL of a superuser (default: DATABASE_SUPERUSER_URL)",
        )

    def handle(self, **options: Any) -> None:
        superuser_url = options["superuser_url"]
        if not superuser_url:
            raise CommandError("Give --superuser-url or set DATABASE_SUPERUSER_URL.")
        if urlsplit(superuser_url).scheme not in {"postgres", "postgresql"}:
            raise CommandError(f"--superuser-url must be a URL such as {EXAMPLE_URL}.")
        urls = {"DATABASE_URL": os.environ.get("DATABASE_URL") or _generated_url(superuser_url, "memory_app")}
        for name, role in OTHER_ROLES.items():
            urls[name] = os.environ.get(name) or _generated_url(urls["DATABASE_URL"], role)
        logins = {name: _login(url) for name, url in urls.items()}
        (database, app), (_, owner), *others = logins.values()
        if len({login.role for _, login in logins.values()}) < len(logins):
            raise CommandError(f"{', '.join(logins)} must name different roles.")
        try:
            provision(superuser_url, database=database, owner=owner, apps=[app, *(login for _, login in others)])
        except psycopg.Error as error:
            raise CommandError(f"The database server refused: {str(error).strip()}") from error
        for name, url in urls.items():
            if not os.environ.get(name):
                self.stdout.write(f"{name}={url}")


def _login(url: str) -> tuple[str, DatabaseLogin]:
    config = database_config(url)
    return config["NAME"], DatabaseLogin(config["USER"], config["PASSWORD"])


def _generated_url(url: str, role: str) -> str:
    """Return the URL of another role with a new password, on the same server, in the named database or `memory`."""
    parts = urlsplit(url)
    server = parts.netloc.rpartition("@")[2]
    path = parts.path if parts.path not in {"", "/", "/postgres"} else "/memory"
    return urlunsplit(parts._replace(netloc=f"{role}:{secrets.token_urlsafe(PASSWORD_BYTES)}@{server}", path=path))
