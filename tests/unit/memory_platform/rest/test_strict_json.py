"""The strict JSON of the REST API, and its cursors."""

import contextlib
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_platform.rest.cursor_pagination import CursorError, CursorPosition, read_cursor, write_cursor
from memory_platform.rest.request_errors import RestError, printable_field_name
from memory_platform.rest.strict_json import NESTING_LEVELS_MAX, parse_strict_json

ID = UUID("0b5e8a3e-3a5e-4a53-8d6b-0a8f6c7c1d11")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_json_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    assert parse_strict_json(json.dumps(value).encode()) == value


@given(st.binary(max_size=40))
def test_any_bytes_give_a_value_or_a_named_refusal(body: bytes) -> None:
    code = ""
    try:
        parse_strict_json(body)
    except RestError as error:
        code = error.code
    assert code in {"", "malformed_json", "duplicate_key", "too_deep", "number_out_of_range"}


@pytest.mark.parametrize("body", [b"NaN", b"[Infinity]", b'{"a": -Infinity}', b"\xff", b"", b"{", b'"\x00"'])
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(RestError) as caught:
        parse_strict_json(body)
    assert caught.value.code == "malformed_json"


def test_a_key_twice_is_named() -> None:
    with pytest.raises(RestError) as caught:
        parse_strict_json(b'{"a": [{"b": 1, "c": 2, "b": 3}]}')
    assert (caught.value.code, caught.value.field) == ("duplicate_key", "b")


def test_nesting_is_bounded() -> None:
    parse_strict_json(b"[" * NESTING_LEVELS_MAX + b"7" + b"]" * NESTING_LEVELS_MAX)
    for levels in (NESTING_LEVELS_MAX + 1, 500, 200_000):
        with pytest.raises(RestError) as caught:
            parse_strict_json(b"[" * levels + b"]" * levels)
        assert caught.value.code == "too_deep"


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=200))
def test_a_field_name_from_outside_can_always_be_shown(name: str) -> None:
    shown = printable_field_name(name)
    shown.encode()
    assert "\x00" not in shown
    assert len(shown) <= 83


@given(
    st.datetimes(timezones=st.just(UTC)) | st.floats(-1, 1) | st.integers(0, 2**31),
    st.uuids() | st.integers(0, 2**31),
    st.booleans(),
)
def test_a_cursor_is_read_back_as_it_was_written(value: Any, row_id: Any, is_backward: bool) -> None:
    place = CursorPosition("-created_at", value, row_id, is_backward)
    assert read_cursor(write_cursor(place)) == place


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")) | st.none() | st.integers())
def test_any_other_text_is_no_cursor(text: Any) -> None:
    with contextlib.suppress(CursorError):
        assert isinstance(read_cursor(text), CursorPosition)


@pytest.mark.parametrize("place", range(0, 90, 7))
def test_a_changed_cursor_is_refused(place: int) -> None:
    written = write_cursor(CursorPosition("-created_at", 1, ID))
    changed = "A" if written[place] != "A" else "B"
    with pytest.raises(CursorError):
        read_cursor(f"{written[:place]}{changed}{written[place + 1 :]}")


def test_a_cursor_keeps_microseconds() -> None:
    place = CursorPosition("created_at", datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC), ID)
    assert read_cursor(write_cursor(place)) == place
