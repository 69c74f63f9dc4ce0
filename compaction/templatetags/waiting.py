"""What the frame of every page says about work that waits for people."""

from typing import Any

from django import template

from compaction.models import Compaction
from memories.scopes import tenant_scope

register = template.Library()


@register.simple_tag(takes_context=True)
def waiting_reviews(context: dict[str, Any]) -> int:
    """How many compactions of the page's tenant wait for review. One query, of an index."""
    tenant_id = context["request"].tenant.id
    with tenant_scope(tenant_id):
        return Compaction.objects.for_tenant(tenant_id).in_state(Compaction.State.PROPOSED).how_many()
