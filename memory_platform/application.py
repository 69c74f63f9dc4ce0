"""The application in the supervisor of `make run`: loaded once, and run by the processes forked from it (ADR-0194)."""

import os
import sys
from collections.abc import Sequence

import django


def load() -> None:
    """Load Django with the apps. Raises `ImproperlyConfigured`."""
    django.setup()


def preload() -> None:
    """Load the modules and data that web, worker and beat would each load at their start."""
    from django.urls import get_resolver

    from memory_platform.preloading import preload_models, preload_rules

    get_resolver().url_patterns  # noqa: B018 - reading it imports every view
    preload_rules()
    preload_models()


def prepare(_arguments: Sequence[str], _unneeded: Sequence[str]) -> None:
    """Run `manage.py prepare`."""
    from django.core.management import call_command

    call_command("prepare")


def serve(arguments: Sequence[str], unneeded: Sequence[str]) -> None:
    """Run gunicorn."""
    from gunicorn.app.wsgiapp import run

    _forget(unneeded)
    sys.argv = ["gunicorn", *arguments]
    run()


def run_celery(arguments: Sequence[str], unneeded: Sequence[str]) -> None:
    """Run a worker or beat."""
    from celery.__main__ import main

    _forget(unneeded)
    sys.argv = ["celery", "--app", "memory_platform", *arguments]
    main()


def _forget(urls: Sequence[str]) -> None:
    """Give up the roles of the database that this process does not need."""
    from django.conf import settings
    from django.db import connections

    for name in urls:
        os.environ[name] = ""
        alias = name.removeprefix("DATABASE_").removesuffix("_URL").lower()
        settings.DATABASES.pop(alias, None)
        connections.settings.pop(alias, None)
