"""Whether two texts state the same."""

from memories.services.hygiene.statements.comparison import are_equivalent, states_the_same
from memories.services.hygiene.statements.reading import Statement, read_statement

__all__ = ["Statement", "are_equivalent", "read_statement", "states_the_same"]
