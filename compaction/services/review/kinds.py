"""The kinds of statements in words, and their order of priority."""

#: By priority: what an agent needs first. Kinds of older records that are not here are facts.
KIND_LABELS = {
    "decision": "Decision",
    "correction": "Correction",
    "constraint": "Constraint",
    "preference": "Preference",
    "instruction": "Instruction",
    "commitment": "Commitment",
    "question": "Open question",
    "identity": "Identity",
    "value": "Value",
    "state": "State",
    "fact": "Fact",
    "quoted": "Quote",
}
_PRIORITY = {kind: number for number, kind in enumerate(KIND_LABELS)}


def kind_label(kind: str) -> str:
    """Return the kind as people read it."""
    return KIND_LABELS.get(kind, KIND_LABELS["fact"])


def kind_priority(kind: str) -> int:
    """Return the place of the kind in the order of priority, 0 for the first."""
    return _PRIORITY.get(kind, _PRIORITY["fact"])
