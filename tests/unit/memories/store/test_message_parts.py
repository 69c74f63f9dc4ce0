"""The content of a chat-completions message as one text."""

from typing import Any

import pytest

from memories.services.store.content import ContentError
from memories.services.store.message_parts import content_text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, None),
        ([], ""),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "a"}], "[image]\na"),
        ([{"type": "input_audio", "input_audio": {}}, {"type": "file", "file": {}}], "[audio]\n[file]"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
    ],
)
def test_parts_become_lines(content: Any, text: str | None) -> None:
    assert content_text(content) == text


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("text", "not_an_object"),
        ({}, "unknown_part"),
        ({"type": None}, "unknown_part"),
        ({"type": "text"}, "bad_part"),
        ({"type": "text", "text": None}, "bad_part"),
        ({"type": "file", "file": "x"}, "bad_part"),
    ],
)
def test_error_names_the_part_and_not_its_value(part: Any, code: str) -> None:
    with pytest.raises(ContentError, match="Part 1") as caught:
        content_text([{"type": "text", "text": "fine"}, part])
    assert caught.value.code == code
