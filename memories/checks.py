"""Checks at start: a deployment whose embedding cannot work says so before the first request."""

import importlib.util
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register
def embedding_provider_is_usable(**_: Any) -> list[CheckMessage]:
    """The chosen provider is installed and has what it needs."""
    if settings.EMBEDDING_PROVIDER == "wordllama" and importlib.util.find_spec("wordllama") is None:
        hint = "Set EMBEDDING_PROVIDER=hashed, or =openai with an endpoint."
        return [Error("EMBEDDING_PROVIDER=wordllama, but no wheel of it is installed.", hint=hint, id="memories.E001")]
    if settings.EMBEDDING_PROVIDER != "openai":
        return []
    missing = [
        name for name in ("EMBEDDING_MODEL", "EMBEDDING_DIMENSION", "EMBEDDING_BASE_URL") if not getattr(settings, name)
    ]
    if not missing:
        return []
    return [Error(f"EMBEDDING_PROVIDER=openai needs {', '.join(missing)}.", id="memories.E002")]
