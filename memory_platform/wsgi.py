"""The WSGI entry point: gunicorn memory_platform.wsgi."""

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_platform.settings")

application = get_wsgi_application()
if len(settings.SECRET_KEY) < settings.SECRET_KEY_MIN_CHARACTERS:
    raise ImproperlyConfigured("SECRET_KEY must be set: sessions and fences are signed with it")


def _warm_up() -> None:
    """Load what every request needs, so that the first user of each process does not wait a second for it.

    Gunicorn does this before it forks (`--preload`), so no connection or thread may remain.
    """
    from django.db import connection
    from django.urls import get_resolver

    from memories.embeddings.checks import log_model_problems
    from memory_platform.observability import tracing
    from memory_platform.postgres import roles
    from memory_platform.preloading import preload_models

    tracing.configure("web")
    get_resolver().url_patterns  # noqa: B018 - reading it imports every view
    with roles.logged_in_as(roles.CONSOLE):
        log_model_problems()
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    preload_models()


_warm_up()
