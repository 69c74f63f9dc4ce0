"""Template filters of the list of evaluations."""

from django import template

from context.evaluation.report import evidence_range_text
from context.models import EvaluationRun

register = template.Library()


@register.filter
def evidence_included(run: EvaluationRun) -> str:
    """Return the evidence recall at the smallest and largest budget, without line breaks before a percent sign."""
    return evidence_range_text(run).replace(" %", "\N{NO-BREAK SPACE}%")
