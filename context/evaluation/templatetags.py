"""What a list tells of an evaluation."""

from django import template

from context.evaluation.report import evidence_range_text
from context.models import EvaluationRun

register = template.Library()


@register.filter
def evidence_included(run: EvaluationRun) -> str:
    """The evidence held at the smallest and the largest budget, no share cut from its sign; "" for a run not done."""
    return evidence_range_text(run).replace(" %", "\N{NO-BREAK SPACE}%")
