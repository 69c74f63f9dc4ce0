"""Hashes of what an evaluation reads: two runs with the same hash can be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from context.services.evaluation.corpus import Corpus
from context.services.evaluation.corpus.model import plain_value


def corpus_sha256(corpus: Corpus) -> str:
    """Return the hexadecimal SHA-256 of memories and questions in their order, without the name."""
    return rows_sha256([*map(asdict, corpus.memories), *map(asdict, corpus.questions)])


def rows_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the hexadecimal SHA-256 of rows of plain values, times and sets."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, default=plain_value, sort_keys=True, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()
