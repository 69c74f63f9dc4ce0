from django.contrib.admin import apps


class PlatformAdminConfig(apps.AdminConfig):
    """Django admin with the project's own site; `memory_platform` itself keeps the plain configuration."""

    default = False
    default_site = "memories.tenancy.admin.PlatformAdminSite"
