"""The tokens that memory may use in a model's window, and how tokens are counted for any model (ADR-0052)."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from context.services.assembly.model_catalog import (
    DEFAULT_MODEL,
    encoding_and_factor,
    family_of,
    find_family,
    load_catalog,
    longest_name_of,
    scaled_count,
)
from memories.services.tokens import TokenTableError, count_tokens, count_tokens_around

# SPEC, Budgets. The response reserve: a share of the window, and its maximum and minimum in tokens.
RESPONSE_RESERVE_SHARE = 0.15
MAX_RESPONSE_RESERVE_TOKENS = 4_096
MIN_RESPONSE_RESERVE_TOKENS = 500
#: Share of the window kept free where tokens cannot be counted exactly.
SAFETY_SHARE = 0.05
#: Below this number of tokens, callers should warn that there is little room for memory.
CONSTRAINED_BELOW_TOKENS = 256
#: The fallback if no tokenizer table can be read.
BYTES_PER_TOKEN = 4


class CounterError(RuntimeError):
    """A family's own tokenizer cannot be used; the next tier counts instead."""


class FamilyCounter(Protocol):
    """A family's own tokenizer: its name in answers, and whether it is the model's own or an estimate of it."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> int:
        """Return the tokens of `text`. Raises `CounterError`."""
        ...


@dataclass(frozen=True)
class TokenCount:
    """Tokens of a text for a model, by which tokenizer, and whether that is the model's own."""

    tokens: int
    tokenizer: str
    exact: bool


@dataclass(frozen=True)
class Budget:
    """The tokens of a model's window by use; `available_tokens` is what remains for memories, at least 0."""

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
    warnings: list[str]


class BudgetCalculator:
    """Budgets and token counts for the models of the catalog; an unknown model gets the documented default."""

    def __init__(self, counters: Mapping[str, FamilyCounter] | None = None) -> None:
        """Map prefixes of model names to their own tokenizers, which outrank tiktoken."""
        self._counters = dict(counters or {})

    def calculate(
        self, model: str | None = None, messages: Iterable[Mapping[str, Any] | str] = (), directive: str | None = ""
    ) -> Budget:
        """Return the budget that chat-completions `messages` (or texts) and `directive` leave in the model's window."""
        name = model or DEFAULT_MODEL
        family, counted = family_of(name), self.measure(directive or "", name)
        reserved = response_reserve(family.context_window, family.max_output_tokens), self.safety_reserve(name)
        used = sum(self.count_tokens(message_text(message), name) for message in messages)
        left = family.context_window - sum(reserved) - counted.tokens - used
        tight, warnings = left < CONSTRAINED_BELOW_TOKENS, self.warnings_for(name)
        spent = (*reserved, counted.tokens, used, max(left, 0))
        return Budget(name, family.context_window, *spent, tight, counted.tokenizer, counted.exact, warnings)

    def count_tokens(self, content: str, model: str | None = DEFAULT_MODEL) -> int:
        """Return the tokens of `content` for `model`."""
        return self.measure(content, model).tokens

    def count_around(self, content: str, parts: Iterable[tuple[str, int]], model: str | None = DEFAULT_MODEL) -> int:
        """Return the tokens of `content`, which contains the `parts` in their order, each with its tokens for `model`.

        If the model's tokens are those of an encoding, most of each part is not counted again.
        """
        encoding, factor = encoding_and_factor(model)
        if factor != 1.0 or longest_name_of(model, self._counters):
            return self.count_tokens(content, model)
        try:
            return count_tokens_around(content, parts, encoding)
        except TokenTableError:
            return self.count_tokens(content, model)

    def measure(self, content: str, model: str | None = DEFAULT_MODEL) -> TokenCount:
        """Return the tokens of `content` for `model` by the best available counter, with its name.

        In this order: the model's own counter, if one is registered; tiktoken, exact for OpenAI's models, else the
        nearest encoding times the family's safety factor; bytes / 4 if the tables cannot be read.
        """
        if known := longest_name_of(model, self._counters):
            own = self._counters[known]
            try:
                return TokenCount(own.count(content), own.name, own.exact)
            except CounterError:
                pass  # the counter logged the reason; the next tier counts
        family = family_of(model)
        try:
            tokens = count_tokens(content, family.encoding)
        except TokenTableError:
            size = len(content.encode("utf-8", "surrogatepass"))
            return TokenCount(math.ceil(size / BYTES_PER_TOKEN), "bytes/4", exact=False)
        return TokenCount(scaled_count(tokens, model), family.encoding, family.is_exact)

    def context_window(self, model: str | None) -> int:
        """Return the tokens of the model's window."""
        return family_of(model).context_window

    def safety_reserve(self, model: str | None) -> int:
        """Return the tokens of the model's window kept free because counts for it are not exact."""
        return 0 if self.measure("", model).exact else math.ceil(self.context_window(model) * SAFETY_SHARE)

    def warnings_for(self, model: str | None) -> list[str]:
        """Return a warning if the catalog does not contain the model, otherwise an empty list."""
        if find_family(model) is not None:
            return []
        catalog = load_catalog()
        return [
            f"The model {str(model)[:80]!r} is not in the catalog of {catalog.dated}. Used instead: a window of "
            f"{catalog.default.context_window:,} tokens and {catalog.default.encoding} counts, which are not exact."
        ]


def response_reserve(context_window: int, max_output_tokens: int | None) -> int:
    """Return the tokens for the reply: 15 % of the window, at most 4,096 and the output limit, at least 500."""
    reserve = min(int(context_window * RESPONSE_RESERVE_SHARE), MAX_RESPONSE_RESERVE_TOKENS)
    return max(min(reserve, max_output_tokens or reserve), MIN_RESPONSE_RESERVE_TOKENS)


def message_text(message: Mapping[str, Any] | str) -> str:
    """Return all text of a chat-completions message: name, content (text or text parts) and tool calls."""
    if isinstance(message, str):
        return message
    content, tool_calls = message.get("content"), message.get("tool_calls")
    parts = [content] if isinstance(content, str) else [_part_text(part) for part in content or ()]
    calls = json.dumps(tool_calls, ensure_ascii=False) if tool_calls else ""
    return "\n".join(text for text in (str(message.get("name") or ""), *parts, calls) if text)


def _part_text(part: object) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""
