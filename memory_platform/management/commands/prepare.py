"""`manage.py prepare`: the steps of `make run` between the start of the servers and the start of the web process."""

import fcntl
import hashlib
import os
import secrets
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from memories.tenancy.actions.operators import create_operator
from memories.tenancy.audit import Actor
from memories.tenancy.members import has_operators, has_tenants
from memories.tenancy.scopes import admin_write_scope
from memory_platform.embedded.files import write_private
from memory_platform.postgres.roles import CONSOLE, logged_in_as
from memory_platform.web.roles import Role

FIRST_OPERATOR = "admin"
FIRST_PASSWORD_BYTES = 12


class Command(BaseCommand):
    help = (
        "Migrate, collect changed static files, load the demo and create the first operator if there is none.\n"
        "`make run` does this automatically.\n\n"
        "Example: DEMO=0 manage.py prepare"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter

    def handle(self, **_options: Any) -> None:
        call_command("migrate", interactive=False)
        collect_static()
        if settings.DEMO and not has_tenants():
            call_command("load_demo")
        with logged_in_as(CONSOLE):
            _create_first_operator()


def _create_first_operator() -> None:
    if has_operators():
        return
    # The password is in a private file before the account exists, and nowhere else.
    password = secrets.token_urlsafe(FIRST_PASSWORD_BYTES)
    login = f"name: {FIRST_OPERATOR}\npassword: {password}\n"
    write_private(settings.DATA_DIR / "secrets" / "first-login.txt", login)
    with admin_write_scope():
        create_operator(
            username=FIRST_OPERATOR,
            password=password,
            role=Role.ADMIN,
            tenants=[],
            sees_every_tenant=True,
            by=Actor.system("make run"),
            now=timezone.now(),
        )


def collect_static() -> None:
    """Collect static files if a source has changed, because hashing and compressing them takes seconds."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            state = Path(storage.path(name)).stat()
            digest.update(f"{storage.path(name)} {state.st_size} {state.st_mtime_ns}\n".encode())
    root = Path(settings.STATIC_ROOT)
    stamp = root / ".sources"
    # One process at a time: two starts of one checkout, each with its own DATA_DIR, share its static files.
    descriptor = os.open(root.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != digest.hexdigest():
            call_command("collectstatic", interactive=False, clear=True, verbosity=0)
            stamp.write_text(digest.hexdigest())
    finally:
        os.close(descriptor)
