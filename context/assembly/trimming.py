"""From kept blocks to the final text: ordered, rendered, counted, and made to fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from context.assembly.requests import ResolvedContextRequest
from context.receipts.fence import render_blocks
from context.receipts.results import Block
from context.services.budget import BudgetCalculator
from context.services.ordering import order_items


@dataclass(frozen=True)
class TrimmedContext:
    """The final text, its exact count of tokens, its blocks in reading order, and what had to go at the last moment."""

    text: str
    tokens: int
    nonce_counter: int
    blocks: Sequence[Block]
    dropped: Sequence[Block]


def trim_blocks_to_budget(
    blocks: Sequence[Block], wish: ResolvedContextRequest, tenant_id: UUID, calculator: BudgetCalculator
) -> TrimmedContext:
    """Order, render and count; while the text exceeds the budget, the least important blocks go.

    Stored counts and measured allowances mostly keep this to one pass of the tokenizer; text that needs escaping, or
    whose lines join badly with their markers, takes another.
    """
    kept = list(blocks)
    while True:
        ordered = order_items(kept, wish.ordering, wish.previous)
        rendered = render_blocks(ordered, style=wish.request.render, tenant_id=tenant_id)
        tokens = calculator.count_tokens(rendered.text, wish.model)
        if tokens <= wish.max_tokens or not kept:
            placed = [block.at(position) for position, block in enumerate(ordered)]
            return TrimmedContext(rendered.text, tokens, rendered.nonce_counter, placed, blocks[len(kept) :])
        kept = drop_last_blocks(kept, tokens - wish.max_tokens)


def drop_last_blocks(blocks: list[Block], tokens: int) -> list[Block]:
    """The blocks without the last ones that together hold `tokens`; at least one goes."""
    kept, freed = list(blocks), 0
    while kept and freed < tokens:
        freed += max(kept.pop().tokens, 1)
    return kept
