"""What a list tells of an evaluation."""

from django import template

from context.evaluation.report import evidence_span
from context.models import EvaluationRun

register = template.Library()


@register.filter
def evidence_held(run: EvaluationRun) -> str:
    """The evidence held at the smallest and the largest budget, no share cut from its sign; "" for a run not done."""
    return evidence_span(run).replace(" %", "\N{NO-BREAK SPACE}%")
