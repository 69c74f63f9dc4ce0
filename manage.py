#!/usr/bin/env python3
"""Django's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_platform.settings")
    # One connection is enough for a command, and without a pool, an unreachable server is reported immediately.
    os.environ.setdefault("DATABASE_POOL_SIZE", "0")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "Django is not installed for this Python: run `make run` once, then use .venv/bin/python manage.py"
        ) from error
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        if "--traceback" in sys.argv:
            raise
        said = str(error).rstrip(".")
        raise SystemExit(f"{said}. Correct it in the environment or in .env; .env.example explains each.") from error


if __name__ == "__main__":
    main()
