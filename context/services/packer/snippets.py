"""Shorten a text: at a word boundary if one is near, never inside a grapheme, with the ellipsis counted."""

from collections.abc import Callable

import regex

ELLIPSIS = "…"
#: How far before the last possible position a word may end, in characters, and the share that must remain.
WORD_REACH_CHARACTERS = 24
MIN_KEPT_SHARE = 0.5
#: A snippet that uses this share of its tokens is long enough; after this many attempts, the best one is used.
GOOD_SHARE = 0.9
MAX_TRIES = 4

_GRAPHEME = regex.compile(r"\X")


def shorten_to_characters(text: str, limit: int) -> str:
    """Return the beginning of `text` and an ellipsis, at most `limit` characters. `text` is longer than that."""
    return cut_text(text, limit - len(ELLIPSIS)) if limit >= len(ELLIPSIS) else ""


def shorten_to_tokens(text: str, limit: int, tokens: int, count: Callable[[str], int]) -> str:
    """Return the beginning of `text` and an ellipsis, at most `limit` tokens together as `count` counts them.

    `text` has `tokens` tokens, more than `limit`. The cut is estimated from the tokens per character and corrected by
    what is counted: two or three calls of `count` are enough.
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
    """Return the text before `position`, back to the end of a grapheme and, where near, of a word, and an ellipsis."""
    ends = [end for end in grapheme_ends(text, position) if not text[end - 1].isspace()]
    last = ends[-1] if ends else 0
    nearest = max(last - WORD_REACH_CHARACTERS, last * MIN_KEPT_SHARE)
    words = (end for end in reversed(ends) if end >= nearest and text[end : end + 1].isspace())
    return text[: next(words, last)] + ELLIPSIS


def grapheme_ends(text: str, limit: int) -> list[int]:
    """Return the ends of the graphemes of `text`, up to the character `limit`."""
    # one more character shows whether a grapheme continues; the one it begins or continues ends beyond the limit
    head = text[: limit + 1]
    if head.isascii() and "\r" not in head:
        return list(range(1, min(limit, len(text)) + 1))
    return [match.end() for match in _GRAPHEME.finditer(head) if match.end() <= limit]
