"""What a list tells of an evaluation."""

from django import template

from context.models import EvaluationRun
from context.summing_up import evidence_span

register = template.Library()


@register.filter
def evidence_held(run: EvaluationRun) -> str:
    """The evidence held at the smallest and the largest budget, cut between the two at most; "" for a run not done."""
    return ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in evidence_span(run).split(", "))
