"""The Celery application; tasks live in each app's tasks.py, their schedule in settings."""

import os

from celery import Celery
from celery.signals import beat_init, celeryd_init, worker_ready
from django.conf import settings

from memory_platform.console import heartbeats

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_platform.settings")

app = Celery("memory_platform")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
heartbeats.connect_heartbeat_signals()


@celeryd_init.connect
@beat_init.connect
def require_secret_key(**_: object) -> None:
    """End a worker or beat without a key of its own. Celery would only log an `Exception`."""
    if len(settings.SECRET_KEY) < settings.SECRET_KEY_MIN_CHARACTERS:
        raise SystemExit("SECRET_KEY must be set: sessions and fences are signed with it")


@worker_ready.connect
def check_models(**_: object) -> None:
    from memories.embeddings.checks import log_model_problems

    log_model_problems()
