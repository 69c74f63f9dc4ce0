from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin import apps


class PlatformConfig(AppConfig):
    """Makes the Celery application current wherever Django is set up; the watcher needs neither."""

    name = "memory_platform"

    def ready(self) -> None:
        import_module("memory_platform.celery")


class PlatformAdminConfig(apps.AdminConfig):
    """Django admin with the project's own site."""

    default = False
    default_site = "memories.tenancy.admin.PlatformAdminSite"
