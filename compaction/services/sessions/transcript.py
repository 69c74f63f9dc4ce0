"""A conversation as provider-ready messages and as one text that no message can forge a part of (ADR-0073)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context.services.rendering import LINE_BREAK

#: What a message's marker line and the empty line before it take beside its stored tokens; the call that a result
#: answers comes on top. Measured; the finished text is counted anyway.
MARKER_TOKENS = 4
CHARACTERS_PER_CALL_ID_TOKEN = 2

_LOOKALIKE = re.compile(rf"((?:\A|(?<={LINE_BREAK})))(\\*\[(?:system|user|assistant|tool|calls)\b)")
_CALLS = "[calls]\n"


@dataclass(frozen=True)
class ChatMessage:
    """One message as a model gets it."""

    role: str
    content: str
    name: str = ""
    tool_calls: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    tool_call_id: str = ""

    def as_answer(self) -> dict[str, Any]:
        """In the shape of chat completions: fields that say nothing are left out."""
        answer: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls and not self.content:
            answer["content"] = None
        if self.name:
            answer["name"] = self.name
        if self.tool_calls:
            answer["tool_calls"] = [dict(call) for call in self.tool_calls]
        if self.tool_call_id:
            answer["tool_call_id"] = self.tool_call_id
        return answer


def render_transcript(messages: Iterable[ChatMessage]) -> str:
    """The messages as one text: each begins with a line such as `[user]` or `[tool call="call_1"]`."""
    return "\n\n".join(_piece(message) for message in messages)


def call_id_tokens(tool_call_id: str) -> int:
    """About what naming the answered call takes in a marker."""
    return -(-len(tool_call_id) // CHARACTERS_PER_CALL_ID_TOKEN) + 2 if tool_call_id else 0


def _piece(message: ChatMessage) -> str:
    labels = "".join(
        f" {label}={json.dumps(value, ensure_ascii=False)}"
        for label, value in (("name", message.name), ("call", message.tool_call_id))
        if value
    )
    calls = json.dumps([dict(call) for call in message.tool_calls], ensure_ascii=False) if message.tool_calls else ""
    body = _escaped(message.content)
    if calls:
        body = f"{body}\n{_CALLS}{_escaped(calls)}" if body else f"{_CALLS}{_escaped(calls)}"
    return f"[{message.role}{labels}]\n{body}"


def _escaped(text: str) -> str:
    return _LOOKALIKE.sub(r"\1\\\2", text)
