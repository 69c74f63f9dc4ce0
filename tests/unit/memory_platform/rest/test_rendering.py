"""Responses are the same JSON as those of REST framework, whatever they contain."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from rest_framework.renderers import JSONRenderer

from memory_platform.rest.rendering import FastJSONRenderer


@pytest.mark.parametrize(
    "value",
    [
        {"text": 'quotes " and \\ and \u2028', "score": 0.1, "tiny": 1e-7, "huge": 1e22, "none": None, "yes": True},
        {"nested": [{"a": [1, 2.5, ()]}], "id": UUID(int=7)},
        {"beyond 64 bits": 2**70, "negative": -(2**63) - 1},
        {"time": datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)},
        {"elsewhere": datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2)))},
        {1: "a key that is no text"},
        {"half of a pair": "\ud800"},
        [],
        "text",
        0,
    ],
    ids=str,
)
def test_answer_is_the_same_json(value: Any) -> None:
    if "\\ud800" in ascii(value):
        with pytest.raises(UnicodeEncodeError):
            FastJSONRenderer().render(value)
        return
    assert json.loads(FastJSONRenderer().render(value)) == json.loads(JSONRenderer().render(value))


def test_answer_without_a_body_is_empty() -> None:
    assert FastJSONRenderer().render(None) == JSONRenderer().render(None) == b""


def test_indented_answer_is_that_of_rest_framework() -> None:
    value = {"a": [1]}
    media_type = "application/json; indent=2"
    assert FastJSONRenderer().render(value, media_type) == JSONRenderer().render(value, media_type)
