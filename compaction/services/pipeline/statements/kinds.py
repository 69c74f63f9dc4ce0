"""The order of the kinds of statements, and those that last."""

from collections.abc import Mapping

from compaction.services.pipeline.statements.model import Statement, StatementKind

#: What an agent needs most comes first.
RANKS: Mapping[StatementKind, int] = {
    StatementKind.DECISION: 0,
    StatementKind.CONSTRAINT: 1,
    StatementKind.PREFERENCE: 2,
    StatementKind.INSTRUCTION: 2,
    StatementKind.COMMITMENT: 3,
    StatementKind.QUESTION: 4,
    StatementKind.IDENTITY: 5,
    StatementKind.VALUE: 5,
    StatementKind.STATE: 6,
    StatementKind.EVENT: 7,
    StatementKind.FACT: 8,
}
#: The worth of a statement of a rank compared with one of the preceding rank.
_WEIGHT_PER_RANK = 0.06
#: Kinds that stay true when a conversation ends.
LASTING = frozenset(StatementKind) - {StatementKind.QUESTION, StatementKind.STATE, StatementKind.FACT}
#: What systems say counts only when it binds the assistant.
BINDING = frozenset({StatementKind.CONSTRAINT, StatementKind.INSTRUCTION, StatementKind.PREFERENCE})


def kind_weight(kind: StatementKind) -> float:
    """Return how much a statement of this kind counts, 1 for decisions."""
    return 1.0 - _WEIGHT_PER_RANK * RANKS[kind]


def is_lasting(statement: Statement) -> bool:
    """Return whether a statement may become a separate memory."""
    return statement.kind in LASTING
