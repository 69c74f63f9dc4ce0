"""A conversation as provider-ready messages and as one text, no part of which a message can imitate (ADR-0073)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context.services.rendering import LINE_BREAK
from memories.services.store.hidden_characters import HIDDEN_CHARACTER, show_hidden

#: The measured tokens of a message's marker line and the preceding empty line, in addition to its stored tokens and the
#: call id of a result. The finished text is counted in any case.
MARKER_TOKENS = 4
CHARACTERS_PER_CALL_ID_TOKEN = 2

_LOOKALIKE = re.compile(rf"((?:\A|(?<={LINE_BREAK})))(\\*\[(?:system|developer|user|assistant|tool|calls)\b)")


@dataclass(frozen=True)
class ChatMessage:
    """One message as a model gets it."""

    role: str
    content: str
    name: str = ""
    tool_calls: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    tool_call_id: str = ""

    def as_answer(self) -> dict[str, Any]:
        """Return the message in the form of chat completions, without empty fields."""
        content = None if self.tool_calls and not self.content else self.content
        calls = [dict(call) for call in self.tool_calls]
        optional = {"name": self.name, "tool_calls": calls, "tool_call_id": self.tool_call_id}
        return {"role": self.role, "content": content} | {name: value for name, value in optional.items() if value}


def render_transcript(messages: Iterable[ChatMessage]) -> str:
    """Return the messages as one text: each begins with a line such as `[user]` or `[tool call="call_1"]`."""
    return "\n\n".join(_piece(message) for message in messages)


def shown_text(text: str) -> str:
    """Return a message's text as a transcript shows it: a line that looks like a marker gets a backslash."""
    return _LOOKALIKE.sub(r"\1\\\2", show_hidden(text))


def shown_message_text(name: str, content: str, tool_calls: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return all text that a transcript shows of a message besides its marker, to be counted."""
    calls = _calls_text(tool_calls) if tool_calls else ""
    return "\n".join(text for text in (_quoted(name)[1:-1], shown_text(content), calls) if text)


def call_id_tokens(tool_call_id: str) -> int:
    """Return the estimated tokens that the answered call takes in a marker."""
    return -(-len(tool_call_id) // CHARACTERS_PER_CALL_ID_TOKEN) + 2 if tool_call_id else 0


def _piece(message: ChatMessage) -> str:
    labels = "".join(
        f" {label}={_quoted(value)}"
        for label, value in (("name", message.name), ("call", message.tool_call_id))
        if value
    )
    lines = [f"[{message.role}{labels}]", *([shown_text(message.content)] if message.content else [])]
    if message.tool_calls:
        lines += ["[calls]", _calls_text(message.tool_calls)]
    return "\n".join(lines if len(lines) > 1 else [*lines, ""])


def _calls_text(calls: Sequence[Mapping[str, Any]]) -> str:
    return shown_text(json.dumps([dict(call) for call in calls], ensure_ascii=False))


def _quoted(value: str) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return HIDDEN_CHARACTER.sub(lambda match: json.dumps(match.group())[1:-1], written)
