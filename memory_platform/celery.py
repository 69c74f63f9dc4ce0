"""The Celery application; tasks live in each app's tasks.py, their schedule in settings."""

import os

from celery import Celery
from celery.signals import worker_ready

from memory_platform.console import heartbeats

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_platform.settings")

app = Celery("memory_platform")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
heartbeats.connect_heartbeat_signals()


@worker_ready.connect
def check_models(**_: object) -> None:
    from memories.embeddings.checks import log_model_problems

    log_model_problems()
