"""The steps between "the servers run" and "the web may start", in one Django process."""

import hashlib
import os
import secrets
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command, get_commands

from memories.scopes import admin_write_scope
from memory_platform.embedded.files import write_private

FIRST_LOG_IN = "first-login.txt"
FIRST_OPERATOR = "admin"
FIRST_PASSWORD_BYTES = 12


def prepare() -> None:
    django.setup()
    call_command("migrate", interactive=False)
    collect_static()
    if settings.DEMO and "load_demo" in get_commands() and not _has_tenants():
        call_command("load_demo")
    if "create_operator" in get_commands() and not _has_operators():
        create_first_operator(settings.DATA_DIR)


def collect_static() -> None:
    """Only when a source file is not the one of the last time: hashing and compressing them takes seconds."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            state = Path(storage.path(path)).stat()
            digest.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
    stamp = Path(settings.STATIC_ROOT) / ".sources"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(digest.hexdigest())


def create_first_operator(data_dir: Path) -> None:
    """The password is in a private file before the account exists, and nowhere else."""
    password = secrets.token_urlsafe(FIRST_PASSWORD_BYTES)
    write_private(data_dir / "secrets" / FIRST_LOG_IN, f"name: {FIRST_OPERATOR}\npassword: {password}\n")
    os.environ["OPERATOR_PASSWORD"] = password
    call_command("create_operator", FIRST_OPERATOR, admin=True)


def _has_tenants() -> bool:
    with admin_write_scope():
        return bool(apps.get_model("memories", "Tenant").objects.exists())


def _has_operators() -> bool:
    return bool(apps.get_model(settings.AUTH_USER_MODEL).objects.exists())


if __name__ == "__main__":
    prepare()
