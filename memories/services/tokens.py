"""Exact token counts from the two tokenizer tables that ship with the project (ADR-0052).

tiktoken would download a missing table and delete a changed one, so each table is checked before tiktoken reads it.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import tiktoken

ENCODINGS = ("o200k_base", "cl100k_base")
TABLES_FOLDER = Path(__file__).resolve().parent / "tiktoken"

#: encoding -> (file name: SHA-1 of the table's published address, SHA-256 of its bytes as tiktoken 0.14 expects it)
TABLES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}

#: Longer texts are counted in pieces: the tables' regular expressions backtrack on very long runs.
MAX_PIECE_CHARACTERS = 100_000
#: How far beyond that a boundary is searched for: further than one memory whose characters are all escaped.
SEAM_SEARCH_CHARACTERS = 200_000
#: No token of either table extends beyond the end of a line, unless white space or a slash follows.
_SEAM = re.compile(r"\n(?=[^\s/])")
#: The first and the last word of a text, the last one with the space before it, whose first and last spaces are between
#: two ASCII letters: in both tables, a token ends before such a space, whatever precedes.
_OUTER_WORDS = re.compile(r"([^\W_]*[A-Za-z])(?= [A-Za-z])(?:.*[A-Za-z])?( [A-Za-z][^ ]*)", re.DOTALL)


class TokenTableError(RuntimeError):
    """A tokenizer table is missing or differs from the one the project ships."""


def check_table(encoding: str, folder: Path = TABLES_FOLDER) -> None:
    """Raise `TokenTableError` unless the table of `encoding` in `folder` is present and byte-exact."""
    if encoding not in TABLES:
        raise ValueError(f"unknown encoding {encoding!r}; known: {', '.join(ENCODINGS)}")
    name, expected = TABLES[encoding]
    path = folder / name
    if not path.is_file():
        raise TokenTableError(f"the tokenizer table of {encoding} is missing: {path}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        raise TokenTableError(f"the tokenizer table of {encoding} was changed: {path}")


@cache
def load_encoding(encoding: str) -> tiktoken.Encoding:
    """Return the tiktoken encoding (0.3 s once). Raises `ValueError` or `TokenTableError`."""
    check_table(encoding)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TABLES_FOLDER)
    table = tiktoken.get_encoding(encoding)
    # The tokenizer was created from this copy of the table (41 MB for both), which is not read afterwards.
    table._mergeable_ranks = {}
    return table


def count_tokens(text: str, encoding: str = ENCODINGS[0]) -> int:
    """Return the tokens of `text`; beyond 100,000 characters, a cut inside a long line may add one."""
    table = load_encoding(encoding)
    return sum(len(table.encode_ordinary(piece)) for piece in _pieces(text))


def count_tokens_around(text: str, parts: Iterable[tuple[str, int]], encoding: str = ENCODINGS[0]) -> int:
    """Return the tokens of `text`, which contains the `parts` in their order, each given with its own tokens.

    Only the first and last words of a part are counted again, with what surrounds them (ADR-0239). Parts that are not
    plain English, or that are written differently in the text, are counted there as a whole.
    """
    around, heads, tails = [], [], []
    known = place = 0
    for part, tokens in parts:
        words = _OUTER_WORDS.fullmatch(part)
        if words is None:
            continue
        head, tail = words.groups()
        start = text.find(part, place)
        if start < 0 or not tail.isprintable():
            continue
        known += tokens
        around.append(text[place : start + len(head)])
        place = start + len(part) - len(tail)
        heads.append(head)
        tails.append(tail)
    if not heads:
        return count_tokens(text, encoding)
    around.append(text[place:])
    # each head begins with a letter or digit, so the preceding line end is a separate token
    again = count_tokens("\n".join(heads) + "".join(tails), encoding) - (len(heads) - 1)
    return count_tokens("".join(around), encoding) + known - again


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > MAX_PIECE_CHARACTERS:
        earliest = start + MAX_PIECE_CHARACTERS
        latest = earliest + SEAM_SEARCH_CHARACTERS
        seam = _SEAM.search(text, earliest, latest)
        if seam is None and len(text) <= latest:
            break
        end = seam.end() if seam else earliest
        yield text[start:end]
        start = end
    yield text[start:]


def token_counts(text: str) -> dict[str, int]:
    """Return the tokens of `text` for each shipped encoding."""
    return {encoding: count_tokens(text, encoding) for encoding in ENCODINGS}
