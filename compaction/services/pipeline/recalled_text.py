"""Strip recalled contexts and quoted memories from a message (ADR-0072)."""

import re
from collections.abc import Callable, Collection, Iterator
from itertools import product

from context.services.rendering import NONCE_DIGITS, NOTE
from memories.services.store.content import recalled_hash

_NONCE = f"[0-9]{{{NONCE_DIGITS}}}"
_NOTE = re.escape(NOTE)
#: A quote, also inside a JSON text.
_QUOTE = r"\\*\""
#: Where the fence of a rendered context (ADR-0051) begins and ends, in its three styles.
_FENCE_MARK = re.compile(
    rf"<memory-(?P<tag>{_NONCE})(?:>\s*{_NOTE}|\s+note={_QUOTE}{_NOTE}{_QUOTE}>)"
    rf"|<\\*/memory-(?P<tag_end>{_NONCE})>"
    rf"|\{{\s*{_QUOTE}fence{_QUOTE}\s*:\s*{_QUOTE}memory-(?P<key>{_NONCE}){_QUOTE}"
    rf"\s*,\s*{_QUOTE}note{_QUOTE}\s*:\s*{_QUOTE}{_NOTE}{_QUOTE}"
    rf"|\"end{_QUOTE}\s*:\s*{_QUOTE}memory-(?P<key_end>{_NONCE}){_QUOTE}\s*\}}"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_LIST_MARK = re.compile(r"\A\s*(?:[-+*>#]+|\d+[.)])\s+")
#: The day that a context may give before a memory (ADR-0099).
_DAY = re.compile(r"\A\d{4}-\d\d-\d\d: ")
#: Memories of up to this many sentences are also found in the middle of a line.
_SENTENCES_MAX = 3


def strip_rendered_contexts(text: str, is_ours: Callable[[str], bool]) -> str:
    """Return the text without rendered contexts, whose fences have a nonce that `is_ours`.

    If a fence has no end tag, only its opening is removed, because the end of the rendered text is unknown.
    """
    if "memory-" not in text:
        return text
    ends = _fence_ends(text, is_ours)
    kept: list[str] = []
    place = 0
    for start in sorted(ends):
        if start >= place:
            kept.append(text[place:start])
            place = ends[start]
    return " ".join([*kept, text[place:]])


def _fence_ends(text: str, is_ours: Callable[[str], bool]) -> dict[int, int]:
    """Return by the start of each of our fences where it ends. No rendered text contains its own nonce."""
    ends: dict[int, int] = {}
    following: dict[tuple[str, str], re.Match[str]] = {}
    for mark in reversed(list(_FENCE_MARK.finditer(text))):
        name = mark.lastgroup or ""
        if not is_ours(mark[name]):
            continue
        fence = (name.removesuffix("_end"), mark[name])
        if name == fence[0]:
            after = following.get(fence)
            ends[mark.start()] = (after if after is not None and after.lastgroup != name else mark).end()
        following[fence] = mark
    return ends


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
    if any(recalled_hash(piece) in recalled for piece in _whole_lines(line)):
        return ""
    sentences = _SENTENCE_END.split(line)
    kept: list[str] = []
    place = 0
    while place < len(sentences):
        sizes = range(min(_SENTENCES_MAX, len(sentences) - place), 0, -1)
        runs = ((size, _whole_lines(" ".join(sentences[place : place + size]))[1:]) for size in sizes)
        size = next((size for size, forms in runs if any(recalled_hash(run) in recalled for run in forms)), 0)
        if not size:
            kept.append(sentences[place])
        place += size or 1
    return " ".join(kept)


def _whole_lines(line: str) -> tuple[str, str, str]:
    """Return the line, the line without its list mark, and without a day after that."""
    bare = _LIST_MARK.sub("", line)
    return line, bare, _DAY.sub("", bare)


def _pieces(text: str) -> Iterator[str]:
    yield text
    for line in text.splitlines():
        forms = _whole_lines(line)
        yield from forms
        for bare in dict.fromkeys(forms[1:]):
            sentences = _SENTENCE_END.split(bare)
            for start, size in product(range(len(sentences)), range(1, _SENTENCES_MAX + 1)):
                yield " ".join(sentences[start : start + size])
