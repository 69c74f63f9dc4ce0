"""What changed from one text to the next, word by word, for whoever reads versions (ADR-0089)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

DiffKind = Literal["same", "added", "removed"]
#: "same" or "replaced", the earlier text, the later one.
DiffRun = tuple[str, str, str]

#: Pairs of equal words that a comparison may look at, of a run of changed sentences; beyond it the run is replaced
#: as a whole but for its ends. About 1,400 changed words of prose.
PAIRS_MAX = 20_000
#: Where fewer of a run's words are in both texts, shreds of it would be harder to read than both runs one by one.
SHARED_SHARE_MIN = 0.25

_SENTENCE = re.compile(r"[^\n.!?]+[\n.!?]*\s*|[\n.!?]+\s*")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class DiffPiece:
    """A stretch of text that is in both texts ("same"), in the later one only ("added") or in the earlier one only."""

    kind: DiffKind
    text: str


def diff_words(before: str, after: str) -> list[DiffPiece]:
    """The way from `before` to `after`, which read without what was added and without what was removed.

    No two pieces of a kind stand beside each other. Sentences first, then the words of those that changed.
    """
    pieces: list[DiffPiece] = []
    for kind, old, new in _runs(_SENTENCE.findall(before), _SENTENCE.findall(after)):
        for piece in [DiffPiece("same", old)] if kind == "same" else _changed_words(old, new):
            _append(pieces, piece)
    return pieces


def _changed_words(before: str, after: str) -> Iterator[DiffPiece]:
    """The same of a run of changed sentences: what both begin and end with, and the words between."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    room = shorter - head
    tail = next((place for place in range(room) if old[-1 - place] != new[-1 - place]), room)
    yield DiffPiece("same", "".join(old[:head]))
    for kind, left, right in _readable(list(_runs(old[head : len(old) - tail], new[head : len(new) - tail]))):
        if kind == "same":
            yield DiffPiece("same", left)
        else:
            yield DiffPiece("removed", left)
            yield DiffPiece("added", right)
    yield DiffPiece("same", "".join(old[len(old) - tail :]))


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffRun]:
    """Runs that together give both texts back."""
    counts = Counter(new)
    pairs = sum(count * counts[token] for token, count in Counter(old).items() if not token.isspace())
    if pairs > PAIRS_MAX:
        yield "replaced", "".join(old), "".join(new)
        return
    for tag, start, end, new_start, new_end in SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        kind = "same" if tag == "equal" else "replaced"
        yield kind, "".join(old[start:end]), "".join(new[new_start:new_end])


def _readable(runs: Sequence[DiffRun]) -> Iterator[DiffRun]:
    """Runs without shreds: those joined that only white space keeps apart, or all where little is shared."""
    shared = sum(len(left) for kind, left, _ in runs if kind == "same")
    longer = max(sum(len(left) for _, left, _ in runs), sum(len(right) for *_, right in runs))
    old, new = "", ""
    for kind, left, right in runs:
        if kind == "same" and not left.isspace() and shared >= SHARED_SHARE_MIN * longer:
            yield "replaced", old, new
            yield kind, left, right
            old, new = "", ""
        else:
            old, new = old + left, new + right
    yield "replaced", old, new


def _append(pieces: list[DiffPiece], piece: DiffPiece) -> None:
    if pieces and pieces[-1].kind == piece.kind:
        pieces[-1] = DiffPiece(piece.kind, pieces[-1].text + piece.text)
    elif piece.text:
        pieces.append(piece)
