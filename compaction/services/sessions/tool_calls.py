"""Tool calls in the shape of chat completions: `{id, type: "function", function: {name, arguments}}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

CALLS_MAX = 128
CALL_ID_CHARACTERS_MAX = 255
FUNCTION_NAME_CHARACTERS_MAX = 128
CALLS_BYTES_MAX = 256 * 1024
FUNCTION = "function"


class CallError(ValueError):
    """What is wrong with a list of calls: `place` in it (such as `[0].function.name`), stable `code`, `detail`."""

    def __init__(self, code: str, detail: str, place: str = "") -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.place = place


def canonical_calls(calls: object) -> list[dict[str, Any]]:
    """The calls with their keys in one order, so that equal calls are equal texts. Raises `CallError`."""
    if not isinstance(calls, (list, tuple)):
        raise CallError("not_a_list", "A list of tool calls is needed.")
    if len(calls) > CALLS_MAX:
        raise CallError("too_many", f"At most {CALLS_MAX} calls are made at once.")
    canonical = [_canonical(call, f"[{place}]") for place, call in enumerate(calls)]
    ids: set[str] = set()
    for place, call in enumerate(canonical):
        if call["id"] in ids:
            raise CallError("call_id_taken", "Two calls have the same id.", f"[{place}].id")
        ids.add(call["id"])
    if len(json.dumps(canonical, ensure_ascii=False).encode()) > CALLS_BYTES_MAX:
        raise CallError("too_long", f"The calls have more than {CALLS_BYTES_MAX:,} bytes.")
    return canonical


def call_ids_of(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """The ids of checked calls."""
    return [str(call["id"]) for call in calls]


def _canonical(call: object, place: str) -> dict[str, Any]:
    call = _object(call, place, ("id", "type", FUNCTION))
    function = _object(call.get(FUNCTION), f"{place}.{FUNCTION}", ("name", "arguments"))
    if call.get("type", FUNCTION) != FUNCTION:
        raise CallError("not_a_choice", "Calls are of the type function.", f"{place}.type")
    return {
        "id": _line(call.get("id"), CALL_ID_CHARACTERS_MAX, f"{place}.id"),
        "type": FUNCTION,
        FUNCTION: {
            "name": _line(function.get("name"), FUNCTION_NAME_CHARACTERS_MAX, f"{place}.{FUNCTION}.name"),
            "arguments": _arguments(function.get("arguments", ""), f"{place}.{FUNCTION}.arguments"),
        },
    }


def _object(value: object, place: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CallError("not_an_object", "A JSON object is needed.", place)
    if not set(value) <= set(known):
        raise CallError("unknown_field", f"Known here are: {', '.join(known)}.", place)
    return value


def _line(value: object, most: int, place: str) -> str:
    if not isinstance(value, str):
        raise CallError("not_text", "A string is needed.", place)
    if not 1 <= len(value) <= most or not value.isprintable():
        raise CallError("bad_text", f"1 to {most} printable characters are needed.", place)
    return value


def _arguments(value: object, place: str) -> str:
    """Text as the model wrote it, which need not be JSON."""
    if not isinstance(value, str):
        raise CallError("not_text", "The arguments are a string, usually of JSON.", place)
    if "\x00" in value:
        _refuse("null_character", place)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        _refuse("lone_surrogate", place)
    return value


def _refuse(code: str, place: str) -> NoReturn:
    raise CallError(code, "The text holds NUL or half of a surrogate pair.", place)
