"""Statements: minimal clauses that stand alone, made from messages by rules: no model, no network, nothing invented."""

from compaction.services.statements.choosing import choose_statements
from compaction.services.statements.making import make_statements
from compaction.services.statements.model import Kind, Message, Part, Statement
from compaction.services.statements.rendering import render_statements

__all__ = ["Kind", "Message", "Part", "Statement", "choose_statements", "make_statements", "render_statements"]
