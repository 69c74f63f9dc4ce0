"""System checks of the embedding configuration."""

import importlib.util
import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFailure

from memories.embeddings.embedders import model_problems
from memories.embeddings.providers import default_model

logger = logging.getLogger(__name__)

#: Ids of the messages by the code of the problem.
MODEL_CHECKS = {
    "reembedding_needed": "memories.E003",
    "unknown_model": "memories.E004",
    "dimension_mismatch": "memories.E005",
}


@register
def embedding_provider_is_usable(**_: Any) -> list[CheckMessage]:
    """Check that the provider is installed and configured, and that no two models have the same name."""
    if settings.EMBEDDING_PROVIDER == "wordllama" and importlib.util.find_spec("wordllama") is None:
        hint = "Set EMBEDDING_PROVIDER=hashed, or =openai with an endpoint."
        return [Error("EMBEDDING_PROVIDER=wordllama, but its wheel is not installed.", hint=hint, id="memories.E001")]
    if settings.EMBEDDING_PROVIDER == "openai":
        needed = ("EMBEDDING_MODEL", "EMBEDDING_DIMENSION", "EMBEDDING_BASE_URL")
        if missing := [name for name in needed if not getattr(settings, name)]:
            return [Error(f"EMBEDDING_PROVIDER=openai needs {', '.join(missing)}.", id="memories.E002")]
    names = [default_model().name, *(endpoint.model for endpoint in settings.EMBEDDING_ENDPOINTS)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return [Error(f"Settings name the embedding model {', '.join(twice)} more than once.", id="memories.E006")]
    return []


@register(Tags.database)
def stored_models_fit_settings(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Check (`manage.py check --database default`) that stored models match the settings."""
    if "default" not in (databases or ()):
        return []
    try:
        problems = model_problems()
    except (DatabaseFailure, ImproperlyConfigured):
        # Not migrated yet or unreachable: other checks report that.
        return []
    return [Error(problem.detail, id=MODEL_CHECKS[problem.code]) for problem in problems]


def log_model_problems() -> None:
    """Log at process start which stored models do not match the settings; search continues without them."""
    try:
        for problem in model_problems():
            logger.error("%s: %s", MODEL_CHECKS[problem.code], problem.detail)
    except (DatabaseFailure, ImproperlyConfigured) as error:
        logger.warning("The stored embedding models were not checked: %s", type(error).__name__)
