"""Whether two runs asked the same: a hash over everything that an evaluation reads of a corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from context.services.evaluation.corpus import Corpus


def corpus_sha256(corpus: Corpus) -> str:
    """Hexadecimal SHA-256 over memories and questions in their order; the name does not count."""
    return rows_sha256([*map(asdict, corpus.memories), *map(asdict, corpus.questions)])


def rows_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hexadecimal SHA-256 over rows of plain values, times and sets."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, default=_plain, sort_keys=True, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Times as ISO text, sets in a fixed order."""
    return sorted(value) if isinstance(value, frozenset) else value.isoformat()
