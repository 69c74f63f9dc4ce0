"""How many tokens memory may use in a model's context window, and how tokens are counted for any model (ADR-0052)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from context.services.assembly import model_catalog
from context.services.assembly.model_catalog import (
    DEFAULT_MODEL,
    family_of,
    find_family,
    load_catalog,
    longest_name_of,
    scaled_count,
)
from memories.services.tokens import TokenTableError, count_tokens

# SPEC, Budgets. The response reserve: a share of the window, then at most, then at least so many tokens.
RESPONSE_RESERVE_SHARE = 0.15
MAX_RESPONSE_RESERVE_TOKENS = 4_096
MIN_RESPONSE_RESERVE_TOKENS = 500
#: Share of the window kept free where tokens cannot be counted exactly.
SAFETY_SHARE = 0.05
#: Below this memory is squeezed and callers should say so.
CONSTRAINED_BELOW_TOKENS = 256
#: Where no tokenizer table can be read.
BYTES_PER_TOKEN = 4


class CounterError(RuntimeError):
    """A family's own tokenizer cannot be used; the next tier counts instead."""


class FamilyCounter(Protocol):
    """A family's own tokenizer."""

    @property
    def name(self) -> str:
        """What answers call it."""
        ...

    @property
    def exact(self) -> bool:
        """Whether it is the model's own, not an estimate of it."""
        ...

    def count(self, text: str) -> int:
        """Tokens of `text`. Raises `CounterError`."""
        ...


@dataclass(frozen=True)
class TokenCount:
    """Tokens of a text for a model, by which tokenizer, and whether that is the model's own."""

    tokens: int
    tokenizer: str
    exact: bool


@dataclass(frozen=True)
class Budget:
    """What a model's window leaves for memory. All amounts in tokens of the model.

    `available_tokens` is the window minus response reserve, safety reserve, directive and messages, never below 0.
    """

    model: str
    context_window: int
    response_reserve_tokens: int
    safety_reserve_tokens: int
    directive_tokens: int
    message_tokens: int
    available_tokens: int
    is_constrained: bool
    tokenizer: str
    exact: bool
    warnings: tuple[str, ...]


class BudgetCalculator:
    """Budgets and token counts for the models of the catalog; an unknown model gets the documented default."""

    def __init__(self, counters: Mapping[str, FamilyCounter] | None = None) -> None:
        """`counters` maps a name that models begin with to their own tokenizer, which then outranks tiktoken."""
        self._counters = dict(counters or {})

    def calculate(
        self, model: str | None = None, messages: Iterable[Mapping[str, Any] | str] = (), directive: str | None = ""
    ) -> Budget:
        """The budget that `messages` (chat-completions shape, or texts) and `directive` leave in the model's window."""
        name = model or DEFAULT_MODEL
        family = family_of(name)
        directive_count = self.measure(directive or "", name)
        reserve = response_reserve(family.context_window, family.max_output_tokens)
        safety = 0 if directive_count.exact else math.ceil(family.context_window * SAFETY_SHARE)
        message_tokens = sum(self.count_tokens(message_text(message), name) for message in messages)
        left = family.context_window - reserve - safety - directive_count.tokens - message_tokens
        return Budget(
            model=name,
            context_window=family.context_window,
            response_reserve_tokens=reserve,
            safety_reserve_tokens=safety,
            directive_tokens=directive_count.tokens,
            message_tokens=message_tokens,
            available_tokens=max(left, 0),
            is_constrained=left < CONSTRAINED_BELOW_TOKENS,
            tokenizer=directive_count.tokenizer,
            exact=directive_count.exact,
            warnings=self.warnings_for(name),
        )

    def count_tokens(self, content: str, model: str | None = DEFAULT_MODEL) -> int:
        """Tokens of `content` for `model`."""
        return self.measure(content, model).tokens

    def measure(self, content: str, model: str | None = DEFAULT_MODEL) -> TokenCount:
        """Tokens of `content` for `model` by the best counter there is, with its name.

        In turn: the model's own counter where one is registered; tiktoken, exact for OpenAI's models, else the nearest
        encoding times the family's safety factor; bytes / 4 where the tables cannot be read.
        """
        own = self._own_counter(model)
        if own is not None:
            try:
                return TokenCount(own.count(content), own.name, own.exact)
            except CounterError:
                pass  # its log line says why; the next tier counts
        family = family_of(model)
        try:
            tokens = count_tokens(content, family.encoding)
        except TokenTableError:
            size = len(content.encode("utf-8", "surrogatepass"))
            return TokenCount(math.ceil(size / BYTES_PER_TOKEN), "bytes/4", exact=False)
        return TokenCount(scaled_count(tokens, model), family.encoding, family.is_exact)

    def encoding_for(self, model: str | None) -> str:
        """The name of the encoding under which stored counts serve `model`."""
        return model_catalog.encoding_for(model)

    def context_window(self, model: str | None) -> int:
        """Tokens of the model's window."""
        return family_of(model).context_window

    def warnings_for(self, model: str | None) -> tuple[str, ...]:
        """A sentence for a model that the catalog does not know; else nothing."""
        if find_family(model) is not None:
            return ()
        default = load_catalog().default
        return (
            f"The model {str(model)[:80]!r} is not in the catalog of {load_catalog().dated}: a window of "
            f"{default.context_window:,} tokens and {default.encoding} counts, which are not exact, stand in for it.",
        )

    def _own_counter(self, model: str | None) -> FamilyCounter | None:
        known = longest_name_of(model, self._counters)
        return self._counters[known] if known else None


def response_reserve(context_window: int, max_output_tokens: int | None) -> int:
    """Tokens kept for the answer: 15 % of the window, at most 4,096 and the model's output limit, at least 500."""
    reserve = min(int(context_window * RESPONSE_RESERVE_SHARE), MAX_RESPONSE_RESERVE_TOKENS)
    if max_output_tokens is not None:
        reserve = min(reserve, max_output_tokens)
    return max(reserve, MIN_RESPONSE_RESERVE_TOKENS)


def message_text(message: Mapping[str, Any] | str) -> str:
    """Everything of a message that the model reads as text: name, content (text or text parts) and tool calls."""
    if isinstance(message, str):
        return message
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [_part_text(part) for part in content or ()]
    tool_calls = message.get("tool_calls")
    return "\n".join(
        text
        for text in (
            str(message.get("name") or ""),
            *parts,
            json.dumps(tool_calls, ensure_ascii=False) if tool_calls else "",
        )
        if text
    )


def _part_text(part: object) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""
