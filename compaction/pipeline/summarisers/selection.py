"""The summariser of this deployment, from settings. Each process creates it once, at its first use."""

from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from compaction.pipeline.summarisers.extractive import ExtractiveSummariser
from compaction.pipeline.summarisers.protocol import Summariser

if TYPE_CHECKING:
    from compaction.pipeline.summarisers.openai_chat import OpenAIChatSummariser

#: Imported late, because the import takes a second and most processes do not need it.
MODEL_SUMMARISER = "compaction.pipeline.summarisers.openai_chat.OpenAIChatSummariser"

_extractive = ExtractiveSummariser()


def has_model() -> bool:
    """Return whether a model writes summaries."""
    return bool(settings.LLM_BASE_URL or settings.LLM_API_KEY)


def configured_summariser() -> Summariser:
    """Return the summariser that settings name: a model if an endpoint or a key is given, else the rules."""
    return _model_summariser() if has_model() else _extractive


def fallback_summariser() -> Summariser:
    """Return the summariser that is always available."""
    return _extractive


def summary_model(session_model: str, policy_model: str) -> str:
    """Return the model that writes summaries: the policy's, else the deployment's, else the session's own."""
    return policy_model or settings.LLM_MODEL or session_model


@cache
def _model_summariser() -> "OpenAIChatSummariser":
    summariser: OpenAIChatSummariser = import_string(MODEL_SUMMARISER)(
        base_url=settings.LLM_BASE_URL, api_key=settings.LLM_API_KEY, timeout_seconds=settings.LLM_TIMEOUT_SECONDS
    )
    return summariser


def _forget_model_summariser(*, setting: str, **_: object) -> None:
    """Close the summariser when tests override settings; the next call creates another one."""
    if setting.startswith("LLM_") and _model_summariser.cache_info().currsize:
        _model_summariser().close()
        _model_summariser.cache_clear()


setting_changed.connect(_forget_model_summariser, dispatch_uid="compaction.pipeline.summarisers")
