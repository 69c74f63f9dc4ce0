"""Whether two texts make the same statement."""

from memories.services.hygiene.statements.comparison import are_equivalent, states_the_same
from memories.services.hygiene.statements.reading import ParsedStatement, read_statement, read_words

__all__ = ["ParsedStatement", "are_equivalent", "read_statement", "read_words", "states_the_same"]
