"""`manage.py prepare`: what `make run` does between "the servers run" and "the web may start"."""

import fcntl
import hashlib
import os
import secrets
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from memories.tenancy.access import has_operators, has_tenants
from memories.tenancy.actions.tenants import create_operator
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope
from memory_platform.embedded.files import write_private
from memory_platform.web.pages import Role

FIRST_OPERATOR = "admin"
FIRST_PASSWORD_BYTES = 12


class Command(BaseCommand):
    help = (
        "Migrate, collect static files where they changed, load the demo and make the first log-in where none is.\n"
        "`make run` does this by itself.\n\n"
        "Example: DEMO=0 manage.py prepare"
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter

    def handle(self, **_options: Any) -> None:
        call_command("migrate", interactive=False)
        collect_static()
        if settings.DEMO and "load_demo" in get_commands() and not has_tenants():
            call_command("load_demo")
        if not has_operators():
            create_first_operator(settings.DATA_DIR)


def collect_static() -> None:
    """Only when a source is not the one of the last time: hashing and compressing them takes seconds."""
    digest = hashlib.sha256()
    sources = [Path(storage.path(path)) for finder in get_finders() for path, storage in finder.list([])]
    for path in sources:
        state = path.stat()
        digest.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
    root = Path(settings.STATIC_ROOT)
    stamp = root / ".sources"
    with preparation_lock(root.parent):
        if stamp.is_file() and stamp.read_text() == digest.hexdigest():
            return
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        stamp.write_text(digest.hexdigest())


@contextmanager
def preparation_lock(folder: Path) -> Iterator[None]:
    """One process at a time: two starts of one checkout, each with its own DATA_DIR, share its static files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def create_first_operator(data_dir: Path) -> None:
    """The password is in a private file before the account exists, and nowhere else."""
    password = secrets.token_urlsafe(FIRST_PASSWORD_BYTES)
    write_private(data_dir / "secrets" / "first-login.txt", f"name: {FIRST_OPERATOR}\npassword: {password}\n")
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
