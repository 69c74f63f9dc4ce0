"""Exact token counts from the two tokenizer tables that ship with the project (ADR-0052).

tiktoken fetches a table that is missing and deletes one whose hash differs. Neither may happen here, so every table is
checked by its SHA-256 before tiktoken sees it, and a table that fails the check is an error instead of a download.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
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
#: How far beyond that a seam is looked for: further than one memory reaches, every character of it escaped.
SEAM_SEARCH_CHARACTERS = 200_000
#: No token of either table reaches over the end of a line, unless white space or a slash follows.
_SEAM = re.compile(r"\n(?=[^\s/])")


class TokenTableError(RuntimeError):
    """A tokenizer table is missing or differs from the one the project ships."""


def configure_tables() -> None:
    """Point tiktoken at the shipped tables. Call before anything else in the process uses tiktoken."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TABLES_FOLDER)


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
    """The tiktoken encoding of that name, from the shipped table (0.3 s once, then free).

    Raises `ValueError` for a name without a shipped table and `TokenTableError` for a missing or changed table.
    """
    check_table(encoding)
    configure_tables()
    return tiktoken.get_encoding(encoding)


def count_tokens(text: str, encoding: str = ENCODINGS[0]) -> int:
    """Tokens of `text` under `encoding`; text that spells a special token is counted as ordinary text.

    Texts beyond 100,000 characters are counted in pieces. Cut at the end of a line this changes nothing; where no line
    ends for 200,000 characters, a cut may add one token.
    """
    table = load_encoding(encoding)
    return sum(len(table.encode_ordinary(piece)) for piece in _pieces(text))


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
    """Tokens of `text` for each shipped encoding, e.g. `{"o200k_base": 5, "cl100k_base": 5}`."""
    return {encoding: count_tokens(text, encoding) for encoding in ENCODINGS}
