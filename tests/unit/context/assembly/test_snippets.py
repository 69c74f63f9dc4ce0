"""Cutting texts: at words, between graphemes, by any counter."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from context.services.packer.snippets import cut_text, grapheme_ends, shorten_to_characters, shorten_to_tokens
from memories.services.tokens import count_tokens

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("one two three four", 10, "one two…"),
        ("one two three four", 14, "one two three…"),
        ("one two, three", 9, "one two,…"),
        ("one   two three", 7, "one…"),
        ("unbreakable", 5, "unbr…"),
        ("a " + "x" * 50, 30, "a " + "x" * 27 + "…"),
        ("tea\r\nand more", 5, "tea…"),
        ("日本語の長い文章です", 5, "日本語の…"),
        ("e\u0301" * 4, 4, "e\u0301…"),
        (FAMILY * 3, 12, FAMILY * 2 + "…"),
        (FAMILY * 3, 11, FAMILY * 2 + "…"),
        (FAMILY * 3, 10, FAMILY + "…"),
        (FAMILY, 3, "…"),
        ("long", 1, "…"),
        ("long", 0, ""),
    ],
)
def test_shortened_to_characters(text, limit, expected):
    assert shorten_to_characters(text, limit) == expected
    assert len(expected) <= max(limit, 0)


@given(st.text(), st.integers(0, 40))
@example("\u0600 \u0600 x", 2)
@example("\r\n\r\n", 1)
def test_grapheme_ends_of_a_beginning_are_those_of_the_whole(text, limit):
    whole = [match.end() for match in regex.finditer(r"\X", text)]
    assert grapheme_ends(text, limit) == [end for end in whole if end <= limit]


@given(st.text(min_size=1), st.integers(0, 40))
def test_cut_keeps_a_beginning_of_whole_graphemes(text, position):
    kept = cut_text(text, position).removesuffix("…")
    assert text.startswith(kept)
    assert len(kept) <= position
    assert len(kept) in {0, *grapheme_ends(text, len(text))}


TEXTS = [
    "Alex prefers short meetings in the morning, with tea. " * 30,
    "日本語のとても長い文章です。" * 40,
    FAMILY * 60,
    "=" * 3_000,
    "0123456789abcdef" * 100,
    "short words then " + "x" * 2_000,
]


@pytest.mark.parametrize("limit", [1, 2, 5, 20, 90])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_shortened_to_tokens_with_few_counts(text, limit):
    asked = []

    def count(part):
        asked.append(part)
        return count_tokens(part)

    snippet = shorten_to_tokens(text, limit, count_tokens(text), count)
    assert snippet.endswith("…")
    assert text.startswith(snippet[:-1])
    assert count_tokens(snippet) <= limit
    assert len(asked) <= 9


def test_ordinary_text_uses_most_of_its_tokens():
    asked = []
    snippet = shorten_to_tokens(
        TEXTS[0], 40, count_tokens(TEXTS[0]), lambda part: asked.append(part) or count_tokens(part)
    )
    assert count_tokens(snippet) >= 36
    assert len(asked) <= 2


@given(st.text(min_size=2, max_size=60), st.integers(0, 5), st.integers(1, 10**6))
def test_any_counter_and_any_claim_end_with_something_that_fits(text, limit, claimed):
    def count(part):
        return sum(map(ord, part)) % 7

    snippet = shorten_to_tokens(text, limit, claimed + limit, count)
    assert snippet == "" or count(snippet) <= limit
