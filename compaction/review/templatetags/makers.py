"""Who made a summary, in words."""

from django import template

from compaction.models import Compaction
from compaction.pipeline.summarisers.extractive import ExtractiveSummariser

register = template.Library()


@register.filter
def summariser_name(compaction: Compaction) -> str:
    """rules, the name of a summariser that asks a model, or masking where there is no summary."""
    if compaction.summariser == ExtractiveSummariser.name:
        return "rules"
    return compaction.summariser or "masking"
