"""How the budget of a context is divided among its sections (ADR-0062)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from context.services.assembly.model_catalog import encoding_and_factor, encoding_for, scaled_count, to_stored_tokens
from context.services.packer import TokenCounter

#: The sections whose budget a budget profile can set.
BUDGETED_SECTIONS = ("tenant_memo", "partition_summaries", "focus", "linked_memories", "memories")


@dataclass(frozen=True)
class SectionBudget:
    """The remaining tokens of `model`, those of an item's marker, and the counter for texts without a stored count."""

    tokens: int
    marker_tokens: int
    model: str
    counter: TokenCounter

    @cached_property
    def encoding(self) -> str:
        """The encoding of the stored counts that apply."""
        return encoding_for(self.model)

    @cached_property
    def _is_exact(self) -> bool:
        return encoding_and_factor(self.model)[1] == 1.0

    def of(self, tokens: int, marker_tokens: int | None = None) -> SectionBudget:
        """Return the same with `tokens` left, and with other markers if given."""
        marker = self.marker_tokens if marker_tokens is None else marker_tokens
        return replace(self, tokens=tokens, marker_tokens=marker)

    def tokens_of(self, token_counts: Mapping[str, int]) -> int:
        """Return the tokens of a stored text for the model, without its marker."""
        tokens = token_counts[self.encoding]
        return tokens if self._is_exact else scaled_count(tokens, self.model)

    @property
    def gate_budget(self) -> float:
        """The budget in the unit of stored counts and markers, in which candidates are gated; never below 0."""
        return to_stored_tokens(max(self.tokens, 0), self.model)


class SectionAllocation:
    """The tokens that each section may use, in the order of the sections, at most `total` in all.

    A section with `{"tokens": n}` or `{"share": s}` may use that and what earlier such sections did not use. Others may
    use the remaining tokens minus the tokens of later sections.
    """

    def __init__(
        self,
        total: int,
        order: Sequence[str],
        settings: Mapping[str, Mapping[str, Any]],
        *,
        shares_of: int | None = None,
    ) -> None:
        """Allocate `total` tokens to the sections in `order`; shares are of `shares_of`, by default `total`."""
        self._total = max(total, 0)
        self._shares_of = self._total if shares_of is None else shares_of
        self.left = total
        self._carried = 0
        self._own = {name: self._tokens(settings[name]) for name in order if settings.get(name)}

    def available_for(self, section: str) -> int:
        """Return the tokens that `section` may use, below 0 if not even the fence around a context fits."""
        if section in self._own:
            return min(self.left, self._own[section] + self._carried)
        return self.left - self._set_aside

    def take(self, section: str, tokens: int) -> None:
        """Record that `section` uses `tokens`; the next sections may use what it leaves."""
        self.left -= tokens
        if section in self._own:
            self._carried = max(self._own.pop(section) + self._carried - tokens, 0)
        self._carried = max(min(self._carried, self.left - self._set_aside), 0)

    @property
    def _set_aside(self) -> int:
        return min(sum(self._own.values()), max(self.left, 0))

    def _tokens(self, setting: Mapping[str, Any]) -> int:
        tokens = setting["tokens"] if "tokens" in setting else self._shares_of * float(setting["share"])
        return min(int(tokens), self._total)
