"""Strip recalled contexts and quoted memories from a message (ADR-0072)."""

import re
from collections.abc import Collection, Iterator
from itertools import product

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
    """Return the text without rendered contexts; "" where a fence is open, since its end is unknown."""
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
    """Where the fence that begins at `mark` ends; -1 where it does not, or where nothing begins."""
    if not mark["tag"] and not mark["key"]:
        return -1
    end = rf"</memory-{mark['tag']}>" if mark["tag"] else rf'"end":\s*"memory-{mark["key"]}"\s*\}}'
    found = re.compile(end).search(text, mark.end())
    return found.end() if found else -1


def candidate_recalled_hashes(text: str) -> set[str]:
    """Return the hashes under which any piece of the text may have been recalled."""
    return {recalled_hash(piece) for piece in _pieces(text) if piece.strip()}


def strip_recalled_pieces(text: str, recalled: Collection[str]) -> str:
    """Return the text without the pieces whose hash is one of `recalled`."""
    if not recalled or candidate_recalled_hashes(text).isdisjoint(recalled):
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
        sizes = range(min(_SENTENCES_MAX, len(sentences) - place), 0, -1)
        runs = ((size, _LIST_MARK.sub("", " ".join(sentences[place : place + size]))) for size in sizes)
        size = next((size for size, run in runs if recalled_hash(run) in recalled), 0)
        if not size:
            kept.append(sentences[place])
        place += size or 1
    return " ".join(kept)


def _pieces(text: str) -> Iterator[str]:
    yield text
    for line in text.splitlines():
        bare = _LIST_MARK.sub("", line)
        yield from (line, bare)
        sentences = _SENTENCE_END.split(bare)
        for start, size in product(range(len(sentences)), range(1, _SENTENCES_MAX + 1)):
            yield " ".join(sentences[start : start + size])
