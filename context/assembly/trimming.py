"""From kept blocks to the final text: ordered, rendered, counted, and trimmed to the budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from context.assembly.requests import ResolvedContextRequest
from context.receipts.results import Block
from context.services.budget import BudgetCalculator
from context.services.ordering import order_items
from context.services.rendering import render_context


@dataclass(frozen=True)
class TrimmedContext:
    """The final text, its exact token count, its blocks in reading order, and the blocks that were dropped."""

    text: str
    tokens: int
    nonce_counter: int
    blocks: Sequence[Block]
    dropped: Sequence[Block]


def trim_blocks_to_budget(
    blocks: Sequence[Block], request: ResolvedContextRequest, tenant_id: UUID, calculator: BudgetCalculator
) -> TrimmedContext:
    """Return the text of the blocks; while it exceeds the budget, the least important blocks are dropped.

    Stored counts and measured allowances usually keep this to one pass of the tokenizer; text that needs escaping, or
    whose lines join badly with their markers, takes another.
    """
    kept = list(blocks)
    while True:
        ordered = order_items(kept, request.ordering, request.previous)
        rendered = render_context(
            ordered, style=request.given.render, secret=settings.SECRET_KEY.encode(), tenant_id=str(tenant_id)
        )
        tokens = calculator.count_tokens(rendered.text, request.model)
        if tokens <= request.max_tokens or not kept:
            placed = [block.at(position) for position, block in enumerate(ordered)]
            return TrimmedContext(rendered.text, tokens, rendered.nonce_counter, placed, blocks[len(kept) :])
        kept = drop_last_blocks(kept, tokens - request.max_tokens)


def drop_last_blocks(blocks: list[Block], tokens: int) -> list[Block]:
    """Return the blocks without the last ones that together have `tokens`; at least one is dropped."""
    kept, freed = list(blocks), 0
    while kept and freed < tokens:
        freed += max(kept.pop().tokens, 1)
    return kept
