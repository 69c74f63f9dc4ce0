"""Template tags of evaluations and golden questions."""

from django import template

from context.evaluation.report import evidence_range_text
from context.models import EvaluationRun
from memory_platform.web.numerals import counted

register = template.Library()


@register.filter
def evidence_included(run: EvaluationRun) -> str:
    """Return the evidence recall at the smallest and largest budget, without line breaks before a percent sign."""
    return evidence_range_text(run).replace(" %", "\N{NO-BREAK SPACE}%")


@register.simple_tag
def expected_memories(total: int, live: int) -> str:
    """Return the size of the evidence and how much of it is live: 3 memories, 1 live."""
    return counted(total, "memory", "memories") + (f", {live:,} live" if live != total else "")
