"""Tokens of sessions and messages in those of the session's model (ADR-0052): counted when written, never when read."""

from collections.abc import Mapping
from typing import Any, Protocol

from compaction.models import Message, Session
from compaction.services.pipeline.masking import PLACEHOLDER
from compaction.services.sessions.tool_calls import canonical_calls
from context.profiles.token_counters import budget_calculator
from context.services.budget import message_text


class CountableMessage(Protocol):
    """What a provider reads of a message."""

    @property
    def content(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def tool_calls(self) -> Any: ...


def count_text_tokens(text: str, model: str) -> int:
    """Tokens of a text."""
    return budget_calculator().count_tokens(text, model)


def count_message_tokens(message: CountableMessage, model: str) -> int:
    """Tokens of a message as it was said: name, content and tool calls."""
    said: Mapping[str, Any] = {
        "name": message.name,
        "content": message.content,
        "tool_calls": canonical_calls(message.tool_calls),
    }
    return count_text_tokens(message_text(said), model)


def count_placeholder_tokens(name: str, model: str) -> int:
    """Tokens of what a context shows of a masked tool output of that name."""
    return count_text_tokens(message_text({"name": name, "content": PLACEHOLDER}), model)


def count_shown_tokens(message: Message, model: str) -> int:
    """Tokens of what a context shows of the message in its state; its `tokens` are counted already."""
    if message.state == Message.State.COMPACTED:
        return 0
    if message.state == Message.State.MASKED:
        return count_placeholder_tokens(message.name, model)
    return message.tokens


def count_context_tokens(session: Session) -> int:
    """What all of the session's context takes: directive, current summary, and every message as it stands now."""
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    summary = messages.of_compaction(session.current_id).tokens_shown() if session.current_id else 0
    return session.directive_tokens + summary + messages.originals().tokens_shown()
