"""Candidates for the tests of signals."""

import uuid
from datetime import UTC, datetime

import numpy as np

from context.services.assembly.signals.columns import CandidatePool, ScoringQuestion

SIGNALS_NOW = datetime(2025, 11, 12, 12, tzinfo=UTC)


def signal_turn(text, position, *, session="s1", lexemes=(), **fields):
    """A message of a conversation."""
    return signal_memory(text, lexemes=lexemes, session=session, position=position, kind="episode", **fields)


def signal_memory(text, *, lexemes=(), created="2025-01-01", **fields):
    row = {
        "id": uuid.uuid4(),
        "content": text,
        "similarity": 0.5,
        "created_at": datetime.fromisoformat(created).replace(tzinfo=UTC),
        "kind": "fact",
        "partition_path": "",
        "session": "",
        "position": None,
        "holds": frozenset(lexemes),
    }
    return row | fields


def signal_pool(rows, text="What is it?", lexemes=(), vectors=()):
    """`vectors` are those of the rows, in the same order."""
    units = [np.array(vector, dtype=np.float32) / np.linalg.norm(vector) for vector in vectors]
    question = ScoringQuestion(text, SIGNALS_NOW, lexemes)
    return CandidatePool(rows, question, {row["id"]: vector for row, vector in zip(rows, units, strict=False)})
