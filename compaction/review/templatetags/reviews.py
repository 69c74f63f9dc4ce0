"""Template tags about summaries and their reviews."""

from typing import Any

from django import template

from compaction.models import Compaction
from compaction.pipeline.backlog import review_backlogs
from compaction.pipeline.summarisers.extractive import ExtractiveSummariser
from compaction.services.review.kinds import kind_label
from memories.tenancy.scopes import tenant_scope

register = template.Library()


@register.filter
def summariser_name(compaction: Compaction) -> str:
    """Return "rules", the name of a summariser that calls a model, or "masking" without a summary."""
    if compaction.summariser == ExtractiveSummariser.name:
        return "rules"
    return compaction.summariser or "masking"


@register.filter
def trigger_name(compaction: Compaction) -> str:
    """Return what started a compaction in one word: "scheduled", "emergency", "manual" or "regenerated"."""
    return "regenerated" if compaction.trigger == Compaction.Trigger.REGENERATE else compaction.trigger


@register.filter
def statement_kind(kind: str) -> str:
    """Return the kind of a statement in words."""
    return kind_label(kind)


@register.simple_tag(takes_context=True)
def waiting_reviews(context: dict[str, Any]) -> int:
    """Return how many compactions of the page's tenant wait for review. One query of an index."""
    tenant_id = context["request"].tenant.id
    with tenant_scope(tenant_id):
        waiting = review_backlogs([tenant_id]).get(tenant_id)
    return waiting.count if waiting else 0
