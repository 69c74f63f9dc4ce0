"""What the frame of every page says about work that waits for people."""

from typing import Any

from django import template

from compaction.pipeline.backlog import review_backlogs
from memories.tenancy.scopes import tenant_scope

register = template.Library()


@register.simple_tag(takes_context=True)
def waiting_reviews(context: dict[str, Any]) -> int:
    """How many compactions of the page's tenant wait for review. One query, of an index."""
    tenant_id = context["request"].tenant.id
    with tenant_scope(tenant_id):
        waiting = review_backlogs([tenant_id]).get(tenant_id)
    return waiting.count if waiting else 0
