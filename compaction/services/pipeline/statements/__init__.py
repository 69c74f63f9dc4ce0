"""Statements: clauses that can be understood alone, extracted from messages by rules, without a model or network."""
