"""What a message says itself: without contexts recalled into it and memories quoted in it (ADR-0072)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from memories.services.store.content import recalled_hash

#: Where the fence of a rendered context (ADR-0051) begins, in its three styles; any other part of one.
_FENCE_MARK = re.compile(
    r"<memory-(?P<tag>\d{12})\b|\{\"fence\":\s*\"memory-(?P<key>\d{12})\"|</memory-\d{12}\b|\"memory-\d{12}\""
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_LIST_MARK = re.compile(r"\A\s*(?:[-+*>#]+|\d+[.)])\s+")
#: Memories of a few sentences are found in the middle of a line.
_SENTENCES_MAX = 3


def strip_rendered_contexts(text: str) -> str:
    """The text without rendered contexts; "" where a fence is left open, since nobody knows how far it reaches."""
    if "memory-" not in text:
        return text
    kept: list[str] = []
    place = 0
    while mark := _FENCE_MARK.search(text, place):
        end = _fence_end(text, mark)
        if end < 0:
            return ""
        kept.append(text[place : mark.start()])
        place = end
    return " ".join([*kept, text[place:]])


def _fence_end(text: str, mark: re.Match[str]) -> int:
    """Where the fence that begins at `mark` ends; below 0 where it does not, or where nothing begins."""
    if mark["tag"]:
        end = f"</memory-{mark['tag']}>"
        place = text.find(end, mark.end())
        return place + len(end) if place >= 0 else -1
    if mark["key"]:
        found = re.compile(rf'"end":\s*"memory-{mark["key"]}"\s*\}}').search(text, mark.end())
        return found.end() if found else -1
    return -1


def candidate_recalled_hashes(text: str) -> set[str]:
    """The hashes under which any piece of the text may have been recalled."""
    return {recalled_hash(piece) for piece in _pieces(text) if piece.strip()}


def strip_recalled_pieces(text: str, recalled: Collection[str]) -> str:
    """The text without the pieces whose hash is one of `recalled`."""
    if not recalled or not candidate_recalled_hashes(text) & set(recalled):
        return text
    if recalled_hash(text) in recalled:
        return ""
    return "\n".join(filter(None, (_own_part(line, recalled) for line in text.splitlines())))


def _own_part(line: str, recalled: Collection[str]) -> str:
    if any(recalled_hash(piece) in recalled for piece in (line, _LIST_MARK.sub("", line))):
        return ""
    sentences = _SENTENCE_END.split(line)
    kept: list[str] = []
    place = 0
    while place < len(sentences):
        size = _recalled_run(sentences[place : place + _SENTENCES_MAX], recalled)
        if not size:
            kept.append(sentences[place])
        place += size or 1
    return " ".join(kept)


def _recalled_run(sentences: list[str], recalled: Collection[str]) -> int:
    """How many sentences at the beginning are one recalled text; 0 where none are."""
    for size in range(min(_SENTENCES_MAX, len(sentences)), 0, -1):
        if recalled_hash(_LIST_MARK.sub("", " ".join(sentences[:size]))) in recalled:
            return size
    return 0


def _pieces(text: str) -> Iterator[str]:
    yield text
    for line in text.splitlines():
        bare = _LIST_MARK.sub("", line)
        yield line
        yield bare
        sentences = _SENTENCE_END.split(bare)
        for start in range(len(sentences)):
            for size in range(1, _SENTENCES_MAX + 1):
                yield " ".join(sentences[start : start + size])
