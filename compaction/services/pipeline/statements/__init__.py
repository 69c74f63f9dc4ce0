"""Statements: minimal clauses that stand alone, made from messages by rules: no model, no network, nothing invented."""

from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import (
    Statement,
    StatementKind,
    StatementMessage,
    StatementPart,
    render_statements,
)
from compaction.services.pipeline.statements.selection import choose_statements

__all__ = [
    "Statement",
    "StatementKind",
    "StatementMessage",
    "StatementPart",
    "choose_statements",
    "extract_statements",
    "render_statements",
]
