"""Compares two recordings part by part, after the names of the first were replaced."""

import difflib
import json
import re
from collections.abc import Iterable
from typing import Any

from benchmarks.behaviour.labels import UUID
from benchmarks.behaviour.names import Names

PARTS = ("contexts", "schema", "api", "pages")
#: Scores fall with a memory's age, so two recordings differ by the seconds between their requests.
TOLERANCE = 0.0005
SHOWN_LINES = 24
_DECIMAL = re.compile(r"-?\d+\.\d+")
#: Chosen by the recording, in the old names.
_IGNORED = {"request"}


def compare(
    before: dict[str, Any], after: dict[str, Any], names: Names, parts: Iterable[str], *, is_silent: bool = False
) -> bool:
    """Print the counts and the differences of each part; returns whether there is any."""
    is_different = False
    for part in parts:
        old = {names.text(name): _without_request(names, each) for name, each in before[part].items()}
        new = {name: _without_request(Names(), each) for name, each in after[part].items()}
        changed = [name for name in sorted(old.keys() & new.keys()) if not _is_equal(old[name], new[name])]
        gone, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
        equal = len(old.keys() & new.keys()) - len(changed)
        print(f"{part}: {equal} equal, {len(changed)} changed, {len(gone)} gone, {len(added)} added")
        is_different |= bool(changed or gone or added)
        if is_silent:
            continue
        for label, keys in (("gone", gone), ("added", added)):
            for name in keys:
                print(f"  {label}: {name}")
        for name in changed:
            _print_difference(name, old[name], new[name])
    return is_different


def _without_request(names: Names, recorded: dict[str, Any]) -> Any:
    return _numbered(names.value({key: value for key, value in recorded.items() if key not in _IGNORED}))


def _numbered(value: Any) -> Any:
    """Keys sorted, and ids that nobody named numbered by their order in the value."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    numbers: dict[str, str] = {}
    return json.loads(UUID.sub(lambda match: numbers.setdefault(match.group(), f"id-{len(numbers) + 1}"), text))


def _is_equal(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_equal(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_is_equal, old, new))
    if isinstance(old, float) and isinstance(new, int | float) and not isinstance(new, bool):
        return abs(old - new) <= TOLERANCE
    if isinstance(old, str) and isinstance(new, str):
        return old == new or _differs_by_decimals(old, new)
    return type(old) is type(new) and bool(old == new)


def _differs_by_decimals(old: str, new: str) -> bool:
    """Whether only decimal numbers differ, each by no more than one in its last place."""
    if _DECIMAL.sub("#", old) != _DECIMAL.sub("#", new):
        return False
    pairs = zip(_DECIMAL.findall(old), _DECIMAL.findall(new), strict=True)
    return all(abs(float(one) - float(two)) <= 1.01 * 10 ** -len(one.partition(".")[2]) for one, two in pairs)


def _print_difference(name: str, old: Any, new: Any) -> None:
    print(f"  changed: {name}")
    one, two = (json.dumps(each, ensure_ascii=False, indent=1).splitlines() for each in (old, new))
    lines = [line for line in difflib.unified_diff(one, two, lineterm="", n=1) if not line.startswith(("---", "+++"))]
    for line in lines[:SHOWN_LINES]:
        print(f"    {line[:300]}")
    if len(lines) > SHOWN_LINES:
        print(f"    ... {len(lines) - SHOWN_LINES} more lines")
