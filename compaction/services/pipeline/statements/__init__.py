"""Statements: minimal clauses that stand alone, made from messages by rules: no model, no network, nothing invented."""

from compaction.services.pipeline.statements.extraction import make_statements
from compaction.services.pipeline.statements.model import Kind, Message, Part, Statement
from compaction.services.pipeline.statements.rendering import render_statements
from compaction.services.pipeline.statements.selection import choose_statements

__all__ = ["Kind", "Message", "Part", "Statement", "choose_statements", "make_statements", "render_statements"]
