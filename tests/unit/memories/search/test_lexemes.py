"""The lexemes by which a text is found, beyond those of its language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.search.lexemes import (
    MAX_IDENTIFIER_CHARACTERS,
    MAX_LEXEME_BYTES,
    fold_word,
    search_columns,
    search_terms,
)


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Café", "cafe"),
        ("Ångström", "angstrom"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("Ёж", "еж"),
        ("İstanbul", "istanbul"),
        ("Łódź", "lodz"),
        ("Þórr", "thorr"),
        ("Æsir", "aesir"),
        ("Đà", "da"),
        ("ＡＢＣ", "abc"),
        ("العَرَبِيَّة", "العربية"),
        # marks that are sounds of their own stay
        ("हिन्दी", "हिन्दी"),
        ("ガ", "ガ"),
        ("ไทย", "ไทย"),
    ],
)
def test_case_and_accents_are_folded(word: str, folded: str) -> None:
    assert fold_word(word) == folded


def test_plain_english_has_nothing_to_add() -> None:
    terms = search_terms("Alex's well-known dogs don't like: rain, snow (or hail) at 7 o'clock; 1,000 times!")
    assert (terms.words, terms.lexemes) == ("", ())


@pytest.mark.parametrize(
    ("text", "words", "lexemes"),
    [
        ("ERR_4012", "4012 err", {"err_4012"}),
        ("/srv/app/x.py", "app py srv", {"srv/app/x.py", "x.py"}),
        ("(a.b@c.example)", "example", {"a.b@c.example", "a.b", "c.example"}),
        ("v1.2.3.", "v1", {"v1.2.3", "1.2.3"}),
        ("CVE-2024-1234,", "1234 2024 cve", {"cve-2024-1234"}),
        (
            "550E8400-e29b-41d4-a716-446655440000",
            "41d4 446655440000 550e8400 a716 e29b",
            {"550e8400-e29b-41d4-a716-446655440000"},
        ),
        ("https://x.example/a?b=c1", "c1 example https", {"https://x.example/a?b=c1", "x.example", "c1"}),
        ("C:\\Users\\ann", "ann users", {"c:\\users\\ann"}),
        ("std::vector", "std vector", {"std::vector"}),
        ("3f2a9c", "", {"3f2a9c"}),
        ("2024-05-01", "01 05 2024", {"2024-05-01"}),
        ("ＥＲＲ＿４０１２", "4012 err", {"err_4012"}),
        ("CVE-2024-1234漏洞", "1234 2024 cve", {"cve-2024-1234", "漏", "洞", "漏洞"}),
    ],
)
def test_identifier_is_kept_whole_and_in_parts(text: str, words: str, lexemes: set[str]) -> None:
    terms = search_terms(text)
    assert (terms.words, set(terms.lexemes) - {"c1"}) == (words, lexemes - {"c1"})


def test_very_long_identifier_is_found_by_its_parts_alone() -> None:
    parts = ["ab1"] * MAX_IDENTIFIER_CHARACTERS
    assert search_terms("/".join(parts)).lexemes == ()
    assert search_terms("/".join(parts)).words == "ab1"


@pytest.mark.parametrize(
    ("run", "stored", "asked"),
    [
        ("東京都", {"東", "京", "都", "東京", "京都"}, {"東京", "京都"}),
        ("学校", {"学", "校", "学校"}, {"学校"}),
        ("학교에", {"학", "교", "에", "학교", "교에"}, {"학교", "교에"}),
        ("ｶﾞｽ", {"ガ", "ス", "ガス"}, {"ガス"}),
        # a vowel sign belongs to the letter before it
        ("ที่นี่", {"ที่", "นี่", "ที่นี่"}, {"ที่นี่"}),
        ("猫", {"猫"}, {"猫"}),
    ],
)
def test_scripts_without_spaces_are_found_by_pairs(run: str, stored: set[str], asked: set[str]) -> None:
    assert set(search_terms(run).lexemes) == stored
    assert set(search_terms(run, is_query=True).lexemes) == asked


def test_words_between_such_scripts_are_separate() -> None:
    terms = search_terms("我喜欢iPhone手机")
    assert terms.words == "iphone"
    assert {"喜欢", "手机"} <= set(terms.lexemes)
    assert not any("欢手" in lexeme for lexeme in terms.lexemes)


def test_umlauts_are_found_in_both_spellings() -> None:
    assert search_terms("Müller").words == "mueller muller"
    assert search_terms("Müller").words == search_terms("Mu\u0308ller").words


def test_word_whose_signs_part_it_is_kept_whole() -> None:
    assert search_terms("हिन्दी में").lexemes == ("में", "हिन्दी")


def test_columns_are_bound_to_their_text() -> None:
    columns = search_columns("café ERR_1")
    assert columns == {"search_words": "cafe err", "search_lexemes": ["err_1"], "search_of": columns["search_of"]}
    assert columns["search_of"] == "177f1a2d"
    assert search_columns("cafe ERR_1")["search_of"] != columns["search_of"]


@pytest.mark.parametrize(
    "text", ["हिन्दी" * 200, "ก" + "ิ" * 1_000, "か" + "\u3099" * 1_000, "ि" * 1_000, "a\u20dd" * 800]
)
def test_word_that_is_longer_than_postgres_stores_is_left_out(text: str) -> None:
    for terms in (search_terms(f"{text} ERR_1"), search_terms(f"{text} ERR_1", is_query=True)):
        assert "err_1" in terms.lexemes
        assert max(len(lexeme.encode()) for lexeme in terms.lexemes) <= MAX_LEXEME_BYTES


@given(st.text(max_size=200))
def test_any_text_gives_lexemes_that_can_be_stored(text: str) -> None:
    for terms in (search_terms(text), search_terms(text, is_query=True)):
        assert all(lexeme and not lexeme.isspace() for lexeme in terms.lexemes)
        assert all(len(lexeme) <= MAX_IDENTIFIER_CHARACTERS for lexeme in terms.lexemes)
        assert list(terms.lexemes) == sorted(set(terms.lexemes))


@given(st.text(max_size=60))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_word(fold_word(text)) == fold_word(text)


@given(st.text(max_size=100))
def test_text_is_found_by_itself(text: str) -> None:
    stored, asked = search_terms(text), search_terms(text, is_query=True)
    assert set(asked.lexemes) <= set(stored.lexemes)
    assert asked.words == stored.words
