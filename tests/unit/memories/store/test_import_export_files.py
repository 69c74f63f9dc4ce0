"""Files of memories: what is written can be read again, and no cell is a formula."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.store.import_export_files import (
    CSV,
    IMPORT_EXPORT_FIELDS,
    ImportFileError,
    csv_header,
    csv_rows,
    memory_line,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1)
METADATA = st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(-(2**40), 2**40), st.booleans(), st.none()))


@given(TEXTS, TEXTS, METADATA, st.booleans(), st.one_of(st.none(), st.integers(0, 10**6)))
def test_csv_line_reads_as_it_was_written(
    content: str, source_id: str, metadata: dict[str, Any], pinned: bool, position: int | None
) -> None:
    values = {"content": content, "source_id": source_id, "metadata": metadata, "pinned": pinned, "position": position}
    text = csv_header() + memory_line(values, CSV)
    ((_, read),) = csv_rows(text)
    assert {**values, "partition": ""} == {"position": None, **read}
    (_, cells) = csv.reader(io.StringIO(text, newline=""))
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]


@pytest.mark.parametrize("text", ["'quoted'", "it's", "'", "plain"])
def test_other_apostrophes_stay(text: str) -> None:
    ((line, values),) = csv_rows(f"content\n{text}\n")
    assert (line, values) == (2, {"content": text})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "required"),
        ("kind\n", "required"),
        ("content,content\n", "required"),
        ("content,colour\n", "unknown_field"),
        ('content\n"a', "malformed_csv"),
        ('content\n"a"b\n', "malformed_csv"),
    ],
)
def test_bad_file_is_refused(text: str, code: str) -> None:
    with pytest.raises(ImportFileError) as caught:
        list(csv_rows(text))
    assert caught.value.code == code


def test_header_names_every_field() -> None:
    assert csv_header() == ",".join(IMPORT_EXPORT_FIELDS) + "\r\n"
