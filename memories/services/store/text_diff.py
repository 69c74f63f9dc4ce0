"""Readable word differences between two texts (ADR-0089)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import attrgetter
from typing import Literal

from memories.services.time_limits import in_time

DiffKind = Literal["same", "added", "removed"]
#: "same" or "replaced", the earlier text, the later one.
DiffRun = tuple[str, str, str]

#: Maximum pairs of equal words in a run of changed sentences, and maximum words and spaces (about 1,400 words). A
#: longer run is replaced as a whole, except its common start and end.
PAIRS_MAX, TOKENS_MAX = 20_000, 3_000
#: With a smaller share of common words, a run is shown as removed and added text: small pieces are hard to read.
SHARED_SHARE_MIN = 0.25
#: Unchanged lines that stay beside a change if the rest of the unchanged text is left out.
LINES_KEPT = 2

_SENTENCE = re.compile(r"[^\n.!?]+[\n.!?]*\s*|[\n.!?]+\s*")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class DiffPiece:
    """A stretch of text that is in both texts ("same"), in the later one only ("added") or in the earlier one only."""

    kind: DiffKind
    text: str


def diff_words(before: str, after: str) -> list[DiffPiece]:
    """Return the pieces that turn `before` into `after`: by sentences, then by words of changed ones."""
    pieces = (
        piece
        for kind, old, new in in_time(_trimmed_runs(_SENTENCE.findall(before), _SENTENCE.findall(after)))
        for piece in ([DiffPiece("same", old)] if kind == "same" else _changed_words(old, new))
        if piece.text
    )
    groups = groupby(pieces, key=attrgetter("kind"))
    return [DiffPiece(kind, "".join(piece.text for piece in group)) for kind, group in groups]


def near_changes(pieces: Sequence[DiffPiece]) -> list[DiffPiece]:
    """Return the pieces with at most `LINES_KEPT` lines of unchanged text beside a change; "…" replaces the others."""
    return [
        DiffPiece("same", _ends(piece.text, has_before=place > 0, has_after=place < len(pieces) - 1))
        if piece.kind == "same"
        else piece
        for place, piece in enumerate(pieces)
    ]


def _ends(text: str, *, has_before: bool, has_after: bool) -> str:
    lines = text.splitlines(keepends=True)
    start, end = LINES_KEPT * has_before, LINES_KEPT * has_after
    if len(lines) <= start + end + 1:
        return text
    return "".join([*lines[:start], "…\n", *lines[len(lines) - end :]])


def _changed_words(before: str, after: str) -> Iterator[DiffPiece]:
    """Compare a run of changed sentences: the common start and end, and the words between."""
    start, *runs, end = _trimmed_runs(_WORD.findall(before), _WORD.findall(after))
    for kind, left, right in (start, *_readable(runs), end):
        yield DiffPiece("same" if kind == "same" else "removed", left)
        if kind != "same":
            yield DiffPiece("added", right)


def _trimmed_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffRun]:
    """Yield the common start, which may be empty, the runs between, and the common end."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - head
    tail = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    yield "same", "".join(old[:head]), ""
    yield from _runs(old[head : len(old) - tail], new[head : len(new) - tail])
    yield "same", "".join(old[len(old) - tail :]), ""


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffRun]:
    """Yield runs that concatenate to both texts."""
    counts = Counter(new)
    pairs = sum(count * counts[token] for token, count in Counter(old).items() if not token.isspace())
    if pairs > PAIRS_MAX or max(len(old), len(new)) > TOKENS_MAX:
        yield "replaced", "".join(old), "".join(new)
        return
    for tag, start, end, new_start, new_end in SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        kind = "same" if tag == "equal" else "replaced"
        yield kind, "".join(old[start:end]), "".join(new[new_start:new_end])


def _readable(runs: Sequence[DiffRun]) -> Iterator[DiffRun]:
    """Join runs that only white space separates; join all of them if little is shared."""
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
