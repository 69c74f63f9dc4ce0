"""Which summariser this deployment uses, from settings; made once a process and only when first needed."""

import threading
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from compaction.pipeline.summarisers.extractive import ExtractiveSummariser
from compaction.pipeline.summarisers.protocol import Summariser

if TYPE_CHECKING:
    from compaction.pipeline.summarisers.openai_chat import OpenAIChatSummariser

#: Importing it takes a second, which every process would wait for and most need not.
MODEL_SUMMARISER = "compaction.pipeline.summarisers.openai_chat.OpenAIChatSummariser"

_lock = threading.Lock()
_made: "list[OpenAIChatSummariser]" = []
_extractive = ExtractiveSummariser()


def has_model() -> bool:
    """Whether summaries are made by a model."""
    return bool(settings.LLM_BASE_URL or settings.LLM_API_KEY)


def configured_summariser() -> Summariser:
    """The summariser that settings name: a model where an endpoint or a key is given, else rules alone."""
    if not has_model():
        return _extractive
    with _lock:
        if not _made:
            summariser = import_string(MODEL_SUMMARISER)(
                base_url=settings.LLM_BASE_URL,
                api_key=settings.LLM_API_KEY,
                timeout_seconds=settings.LLM_TIMEOUT_SECONDS,
            )
            _made.append(summariser)
        return _made[0]


def fallback_summariser() -> Summariser:
    """The one that cannot be away."""
    return _extractive


def summary_model(session_model: str, policy_model: str) -> str:
    """The model that is asked: the policy's, else the deployment's, else the session's own."""
    return policy_model or settings.LLM_MODEL or session_model


def _forget_made(*, setting: str, **_: object) -> None:
    """Tests override settings; the next call makes anew."""
    if setting.startswith("LLM_"):
        with _lock:
            while _made:
                _made.pop().close()


setting_changed.connect(_forget_made, dispatch_uid="compaction.pipeline.summarisers")
