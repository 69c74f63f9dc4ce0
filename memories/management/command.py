"""The base of management commands: help with an example, one-sentence errors, tenant look-up."""

import os
import select
import shlex
import sys
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter

from memories.models import Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import admin_write_scope
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.postgres.roles import CONSOLE, MAINTENANCE, logged_in_as


class PlatformCommand(BaseCommand):
    """A command whose `help` ends with an example. Expected errors exit with code 1.

    It ends silently, also with code 1, if the reader of its output has ended, as `head` does.
    """

    #: The database roles as which it runs, the first whose URL is known.
    roles: ClassVar[tuple[str, ...]] = (MAINTENANCE, CONSOLE)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, formatter_class=_HelpFormatter, **kwargs)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            with logged_in_as(*self.roles):
                output = super().execute(*args, **options)
            self.stdout.flush()
        except BrokenPipeError:
            if not _is_output_broken():
                raise
            # Python flushes the rest at exit, and would report that it cannot.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except (PlatformError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        except UNAVAILABLE as error:
            reason = (str(error).strip().splitlines() or ["no reason given"])[0]
            raise CommandError(f"The database cannot be reached; is `make run` running? ({reason})") from error
        return output

    @property
    def actor(self) -> Actor:
        return Actor.system(f"manage.py {self.__class__.__module__.rpartition('.')[2]}")


def _is_output_broken() -> bool:
    """Return whether the standard output is the pipe that broke, not a connection of the command."""
    poll = select.poll()
    poll.register(sys.stdout, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


class _HelpFormatter(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Keeps the line breaks of `help` and shows Django's own options last."""


def json_files(path: Path) -> list[Path]:
    """Return a file, or the .json files of a folder by name. Raises `CommandError` for a folder without one."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise CommandError(f"There is no .json file in {path}.")
    return files


def get_tenant_or_fail(name: str, *, returncode: int = 1) -> Tenant:
    """Return the tenant with that name. Raises `CommandError` with `returncode`."""
    with admin_write_scope():
        tenant: Tenant | None = Tenant.objects.named(name.strip()).first()
    if tenant is None:
        detail = f"There is no tenant named {name!r}; `manage.py create_tenant {shlex.quote(name)}` creates it."
        raise CommandError(detail, returncode=returncode)
    return tenant
