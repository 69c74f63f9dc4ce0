"""The check of the database roles in `manage.py check --deploy` (ADR-0160)."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register

from memory_platform.postgres.roles import API, CONSOLE, MAINTENANCE, OWNER_ALIAS


@register(Tags.security, deploy=True)
def roles_are_separate(**_: Any) -> list[CheckMessage]:
    """Warn if a statement injected into the API would have the rights of the console or of maintenance."""
    aliases = [alias for alias in (API, CONSOLE, MAINTENANCE, OWNER_ALIAS) if alias in settings.DATABASES]
    users = {settings.DATABASES[alias]["USER"] for alias in aliases}
    if {CONSOLE, MAINTENANCE}.isdisjoint(aliases) or len(users) < len(aliases):
        hint = "Set DATABASE_CONSOLE_URL (web) and DATABASE_MAINTENANCE_URL (worker), each with a role of its own."
        return [Warning("One role of the database serves API and console.", hint=hint, id="memory_platform.W001")]
    return []
