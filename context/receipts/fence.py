"""The text of a context: blocks inside one fence, whose tag derives from this server's secret."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from context.receipts.results import Block
from context.services.rendering import RenderedContext, RenderItem, render_context


def render_blocks(blocks: Sequence[Block], *, style: str, tenant_id: UUID) -> RenderedContext:
    """The blocks as text in the given order; the same blocks always give the same bytes."""
    items = [
        RenderItem(block.kind, block.anchor.type, block.anchor.id, block.anchor.version, block.text) for block in blocks
    ]
    return render_context(items, style=style, secret=settings.SECRET_KEY.encode(), tenant_id=str(tenant_id))
