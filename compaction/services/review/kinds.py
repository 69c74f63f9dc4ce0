"""The kinds of statements in words, and their priority."""

from compaction.services.pipeline.statements.kinds import RANKS
from compaction.services.pipeline.statements.model import StatementKind

_LABELS = {StatementKind.QUESTION: "Open question"}


def kind_label(kind: str) -> str:
    """Return the kind as people read it; kinds of older records are facts."""
    known = StatementKind.of(kind)
    return _LABELS.get(known, known.capitalize())


def kind_priority(kind: str) -> int:
    """Return the rank of the kind, 0 for the highest."""
    return RANKS[StatementKind.of(kind)]
