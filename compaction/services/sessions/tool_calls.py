"""Tool calls in the shape of chat completions: `{id, type: "function", function: {name, arguments}}`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memories.services.store.content import LONE_SURROGATE

CALLS_MAX = 128
CALL_ID_CHARACTERS_MAX = 255
FUNCTION_NAME_CHARACTERS_MAX = 128
CALLS_BYTES_MAX = 256 * 1024
FUNCTION = "function"


class CallError(ValueError):
    """A problem of a list of calls: `place` in it (such as `0.function.name`), stable `code`, `detail`."""

    def __init__(self, code: str, detail: str, place: str = "") -> None:
        super().__init__(detail)
        self.code, self.detail, self.place = code, detail, place


def canonical_calls(calls: object) -> list[dict[str, Any]]:
    """Return the calls with their keys in one order, so that equal calls are equal texts. Raises `CallError`."""
    if not isinstance(calls, (list, tuple)):
        raise CallError("not_a_list", "Must be a list of tool calls.")
    if len(calls) > CALLS_MAX:
        raise CallError("too_many", f"At most {CALLS_MAX} calls can be made at once.")
    canonical = [_canonical(call, str(place)) for place, call in enumerate(calls)]
    ids = call_ids_of(canonical)
    for place, call_id in enumerate(ids):
        if call_id in ids[:place]:
            raise CallError("call_id_taken", "Two calls have the same id.", f"{place}.id")
    if len(json.dumps(canonical, ensure_ascii=False).encode()) > CALLS_BYTES_MAX:
        raise CallError("too_long", f"The calls have more than {CALLS_BYTES_MAX:,} bytes.")
    return canonical


def call_ids_of(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the ids of checked calls."""
    return [str(call["id"]) for call in calls]


def _canonical(value: object, place: str) -> dict[str, Any]:
    call = _object(value, place, ("id", "type", FUNCTION))
    place_of_function = f"{place}.{FUNCTION}"
    function = _object(call.get(FUNCTION), place_of_function, ("name", "arguments"))
    if call.get("type", FUNCTION) != FUNCTION:
        raise CallError("invalid_choice", "The type of a call must be function.", f"{place}.type")
    call_id = _line(call.get("id"), CALL_ID_CHARACTERS_MAX, f"{place}.id")
    name = _line(function.get("name"), FUNCTION_NAME_CHARACTERS_MAX, f"{place_of_function}.name")
    arguments = _arguments(function.get("arguments", ""), f"{place_of_function}.arguments")
    return {"id": call_id, "type": FUNCTION, FUNCTION: {"name": name, "arguments": arguments}}


def _object(value: object, place: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CallError("not_an_object", "Must be a JSON object.", place)
    if not set(value) <= set(known):
        raise CallError("unknown_field", f"Known fields: {', '.join(known)}.", place)
    return value


def _line(value: object, most: int, place: str) -> str:
    if not isinstance(value, str):
        raise CallError("not_text", "Must be a string.", place)
    if not 1 <= len(value) <= most or not value.isprintable():
        raise CallError("bad_text", f"Must have 1 to {most} printable characters.", place)
    return value


def _arguments(value: object, place: str) -> str:
    """Return the arguments as the model wrote them; they need not be JSON."""
    if not isinstance(value, str):
        raise CallError("not_text", "The arguments must be a string, usually JSON.", place)
    code = "null_character" if "\x00" in value else "lone_surrogate" if LONE_SURROGATE.search(value) else ""
    if code:
        raise CallError(code, "The text contains NUL or an unpaired surrogate.", place)
    return value
