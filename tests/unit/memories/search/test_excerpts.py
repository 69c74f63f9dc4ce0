"""Excerpts that show the matched words of a text."""

import pytest

from memories.services.search.excerpts import (
    EXCERPT_CHARACTERS,
    ExcerptPart,
    candidate_match_words,
    excerpt,
    matched_words,
)


def shown(text: str, *matched: str) -> str:
    return "".join(f"[{part.text}]" if part.is_match else part.text for part in excerpt(text, set(matched)))


def test_matched_words_are_marked_at_every_position() -> None:
    assert shown("Battery warranty: the battery.", "Battery", "battery") == "[Battery] warranty: the [battery]."


def test_text_without_a_match_is_shown_from_its_beginning() -> None:
    assert shown("word " * 100) == ("word " * 100)[:EXCERPT_CHARACTERS].rstrip() + "…"
    assert shown("longer " * 100).endswith(" longer…")
    assert excerpt("short", set()) == [ExcerptPart("short")]


def test_match_far_in_the_text_is_shown_with_the_preceding_words() -> None:
    text = f"{'word ' * 100}needle {'more ' * 100}"
    assert shown(text, "needle").startswith("… word ")
    assert "[needle]" in shown(text, "needle")
    assert len(shown(text, "needle")) <= EXCERPT_CHARACTERS + len("… []…")


def test_match_at_the_cut_is_not_half_marked() -> None:
    text = "x " * (EXCERPT_CHARACTERS // 2 - 2) + "needle"
    assert "[" not in shown(f"needle {text}", "absent")
    assert shown(f"first {text}", "first", "needle").count("[") == 1
    assert shown(f"{'x ' * ((EXCERPT_CHARACTERS - 6) // 2)}needle, and more", "needle").endswith("[needle]…")


@pytest.mark.parametrize(
    ("word", "lexeme"),
    [
        ("invoices", "invoic"),
        ("ERR_4012", "err_4012"),
        ("Café", "cafe"),
        ("torque-sensor", "sensor"),
        ("東京都", "京都"),
    ],
)
def test_word_that_may_reduce_to_a_lexeme_is_looked_up(word: str, lexeme: str) -> None:
    assert word in candidate_match_words([f"the {word} there"], [lexeme])


def test_other_words_are_not_looked_up() -> None:
    assert candidate_match_words(["nothing alike"], ["battery"]) == set()
    assert candidate_match_words(["anything"], []) == set()


def test_words_are_listed_once_as_first_written() -> None:
    assert matched_words(excerpt("Battery or battery or invoice", {"Battery", "battery", "invoice"})) == [
        "Battery",
        "invoice",
    ]
