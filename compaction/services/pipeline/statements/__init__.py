"""Statements: clauses that stand alone, made from messages by rules: no model, no network, nothing invented."""
