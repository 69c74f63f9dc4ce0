"""Shortening a text: at a word where one is near, never inside a grapheme, the ellipsis inside the length allowed."""

from __future__ import annotations

from collections.abc import Callable

import regex

ELLIPSIS = "…"
#: How far before the last possible place a word's end is looked for, in characters, and the share that must remain.
WORD_REACH_CHARACTERS = 24
MIN_KEPT_SHARE = 0.5
#: A snippet that uses this share of its tokens is long enough, and the best of so many tries is.
GOOD_SHARE = 0.9
MAX_TRIES = 4

_GRAPHEME = regex.compile(r"\X")


def shorten_to_characters(text: str, limit: int) -> str:
    """The beginning of `text` and an ellipsis, at most `limit` characters together. `text` is longer than that."""
    return cut_text(text, limit - len(ELLIPSIS)) if limit >= len(ELLIPSIS) else ""


def shorten_to_tokens(text: str, limit: int, tokens: int, count: Callable[[str], int]) -> str:
    """The beginning of `text` and an ellipsis, at most `limit` tokens together as `count` counts them.

    `tokens` is how many `text` has, more than `limit`. Where to cut is guessed from its tokens per character and then
    corrected by what was counted: two or three calls of `count` do.
    """
    best = ""
    low, high = -1, len(text)
    guess = len(text) * limit // tokens
    tries = 0
    while high - low > 1:
        snippet = cut_text(text, guess)
        used = count(snippet)
        tries += 1
        low, high = (guess, high) if used <= limit else (low, guess)
        if used <= limit:
            best = snippet
        if best and (GOOD_SHARE * limit <= used <= limit or tries >= MAX_TRIES):
            break
        guess = guess * limit // max(used, 1) if best or tries < MAX_TRIES else high // 2
        guess = min(max(guess, low + 1), high - 1)
    return best


def cut_text(text: str, position: int) -> str:
    """What stands before `position`, back to the end of a grapheme and, where near, of a word, and an ellipsis."""
    ends = [end for end in grapheme_ends(text, position) if not text[end - 1].isspace()]
    last = ends[-1] if ends else 0
    nearest = max(last - WORD_REACH_CHARACTERS, last * MIN_KEPT_SHARE)
    words = (end for end in reversed(ends) if end >= nearest and text[end : end + 1].isspace())
    return text[: next(words, last)] + ELLIPSIS


def grapheme_ends(text: str, limit: int) -> list[int]:
    """Where the graphemes of `text` end, up to the character `limit`."""
    # One character more shows whether a grapheme goes on; the one it begins or continues ends beyond the limit.
    head = text[: limit + 1]
    if head.isascii() and "\r" not in head:
        return list(range(1, min(limit, len(text)) + 1))
    return [match.end() for match in _GRAPHEME.finditer(head) if match.end() <= limit]
