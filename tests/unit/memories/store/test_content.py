"""Which texts and metadata a memory may contain."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.store.content import (
    MAX_CONTENT_BYTES,
    MAX_METADATA_BYTES,
    MAX_METADATA_DEPTH,
    ContentError,
    check_content,
    check_metadata,
    content_hash,
    normalise_content,
)

STORABLE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=300)


@pytest.mark.parametrize(
    "text", ["a", " a ", "x" * MAX_CONTENT_BYTES, "  " + "x" * MAX_CONTENT_BYTES + "\n", "é\u200b\u202e"]
)
def test_ordinary_texts_are_accepted(text):
    check_content(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "blank"),
        (" \t\n\u2003\u2028", "blank"),
        ("a\x00b", "null_character"),
        ("\x00", "null_character"),
        ("a\ud800b", "lone_surrogate"),
        ("x" * (MAX_CONTENT_BYTES + 1), "too_long"),
        ("é" * (MAX_CONTENT_BYTES // 2 + 1), "too_long"),
        (None, "not_text"),
        (7, "not_text"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_with_the_reason(text, code):
    with pytest.raises(ContentError) as caught:
        check_content(text)
    assert caught.value.code == code
    assert caught.value.detail


def test_trimming_touches_only_the_outside():
    assert normalise_content("\u2003 a  b\r\nc \n") == "a  b\r\nc"


def test_hash_ignores_outer_white_space_and_normal_form():
    assert content_hash(" Jos\u00e9 ") == content_hash("Jose\u0301")


def test_hash_keeps_inner_white_space_and_case_apart():
    assert len({content_hash(text) for text in ("a b", "a  b", "A b")}) == 3


@given(STORABLE_TEXT)
def test_hash_is_stable_under_normalising(text):
    assert (
        content_hash(normalise_content(text)) == content_hash(text) == content_hash(unicodedata.normalize("NFC", text))
    )


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"a": [None, True, 1.5, "x", {"b": []}]}])
def test_json_objects_are_accepted(value):
    check_metadata(value)


def nested(levels: int) -> dict:
    value: dict = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def test_depth_is_limited_and_never_overflows_the_stack():
    check_metadata(nested(MAX_METADATA_DEPTH))
    with pytest.raises(ContentError, match="nested"):
        check_metadata(nested(5_000))


def test_size_limit_counts_utf8_bytes_of_compact_json():
    available = MAX_METADATA_BYTES - len(json.dumps({"a": ""}, separators=(",", ":")))
    check_metadata({"a": "é" * (available // 2)})
    with pytest.raises(ContentError, match="bytes"):
        check_metadata({"a": "é" * (available // 2 + 1)})


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "not_an_object"),
        ([], "not_an_object"),
        ("text", "not_an_object"),
        ({"a": float("nan")}, "not_json"),
        ({"a": [float("inf")]}, "not_json"),
        ({"a": object()}, "not_json"),
        ({"a": 10**5_000}, "number_out_of_range"),
        ({1: "a"}, "not_text"),
        ({"a": "\x00"}, "null_character"),
        ({"a": [{"b\x00": 1}]}, "null_character"),
        ({"a": "\udfff"}, "lone_surrogate"),
        ({"a": "x" * MAX_METADATA_BYTES}, "too_long"),
        (nested(MAX_METADATA_DEPTH + 1), "too_deep"),
    ],
)
def test_metadata_that_cannot_be_stored_is_refused_with_the_reason(value, code):
    with pytest.raises(ContentError) as caught:
        check_metadata(value)
    assert caught.value.code == code
