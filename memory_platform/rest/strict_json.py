"""Strict JSON: input that two programs could read differently is an error."""

import json
from collections.abc import Mapping
from itertools import chain
from typing import IO, Any, NoReturn

from django.http import UnreadablePostError
from rest_framework.parsers import BaseParser

from memory_platform.rest.request_errors import RestError, printable_field_name

NESTING_LEVELS_MAX = 64
OBJECT_KEYS_MAX = 1_000


def parse_strict_json(body: bytes, *, is_line: bool = False) -> Any:
    """Return the value of a JSON body: UTF-8, no NaN or infinity, no duplicate key, at most 64 levels deep.

    An object has at most 1,000 keys. Errors of a line of a file (`is_line`) name the column only.
    """
    try:
        text = body.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RestError("malformed_json", "The body is not UTF-8.") from error
    except json.JSONDecodeError as error:
        detail = f"The body is not JSON (at line {error.lineno}, column {error.colno})."
        if is_line:
            detail = f"The line is not JSON (at column {error.colno})."
        raise RestError("malformed_json", detail) from None
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise RestError("number_out_of_range", "The body contains an integer with too many digits.") from error
    _check_nesting(value)
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > OBJECT_KEYS_MAX:
        raise RestError("too_many_keys", f"An object has more than {OBJECT_KEYS_MAX:,} keys.")
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise RestError("duplicate_key", "An object contains this key twice.", field=printable_field_name(twice))
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise RestError("malformed_json", f"{name} is not JSON.")


def _check_nesting(value: Any) -> None:
    """Check level by level, as recursion would fail on a deep value."""
    level = [value]
    for _ in range(NESTING_LEVELS_MAX):
        items = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = list(chain.from_iterable(items))
    if any(isinstance(each, dict | list) for each in level):
        raise _too_deep()


def _too_deep() -> RestError:
    return RestError("too_deep", f"The body is nested more than {NESTING_LEVELS_MAX} levels deep.")


def incomplete_body() -> RestError:
    """Return the error for a connection that ended too early."""
    return RestError("incomplete_body", "The connection closed before the whole body was received.")


class StrictJSONParser(BaseParser):
    """The only parser of the API; another content type is a 415."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            body = stream.read()
        except UnreadablePostError as error:
            raise incomplete_body() from error
        return parse_strict_json(body)
