"""Compare two recordings part by part, after replacing the names of the first."""

import difflib
import json
import re
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from tests.behaviour.labels import UUID
from tests.behaviour.names import Names

PARTS = ("contexts", "schema", "api", "pages")
#: Scores fall with a memory's age, so two recordings differ by the seconds between their requests.
TOLERANCE = 0.0005
DURATION = "{measured}"
SHOWN_LINES = 24
_DECIMAL = re.compile(r"-?\d+\.\d+")
#: Depends on when the database last counted its rows. If the field is renamed, add its new name here as well.
ESTIMATES = {"index_rows"}


def compare(
    before: dict[str, Any], after: dict[str, Any], names: Names, parts: Iterable[str], *, is_silent: bool = False
) -> bool:
    """Print the counts and the differences of each part; return whether there are any."""
    is_different = False
    for part in parts:
        # In page texts, codes are not replaced.
        used = Names(paths=names.paths, texts=names.texts) if part == "pages" else names
        old = {_in_order(names.text(name)): _without_request(used, each) for name, each in before[part].items()}
        new = {_in_order(name): _without_request(Names(), each) for name, each in after[part].items()}
        new |= {name: _aligned(old[name], new[name]) for name in old.keys() & new.keys()}
        changed = [name for name in sorted(old.keys() & new.keys()) if old[name] != new[name]]
        moved = [name for name in changed if _is_reordered(old[name], new[name])]
        changed = [name for name in changed if name not in moved]
        gone, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
        equal = len(old.keys() & new.keys()) - len(changed) - len(moved)
        counts = f"{equal} equal, {len(moved)} in another order, {len(changed)} changed"
        print(f"{part}: {counts}, {len(gone)} gone, {len(added)} added")
        is_different |= bool(changed or gone or added)
        if is_silent:
            continue
        for label, keys in (("gone", gone), ("added", added), ("in another order", moved)):
            for name in keys:
                print(f"  {label}: {name}")
        for name in changed:
            _print_difference(name, old[name], new[name])
    return is_different


def _without_request(names: Names, recorded: dict[str, Any]) -> Any:
    kept = {key: names.value(_stable(value)) for key, value in recorded.items() if key != "request"}
    if "text" in kept:
        kept["text"] = _without_durations(kept["text"])
    return _numbered(kept)


def _in_order(name: str) -> str:
    """Return `name` with the parameters of its query sorted, because the ids of a selection have no fixed order."""
    path, mark, query = name.partition("?")
    return path + mark + "&".join(sorted(query.split("&")))


def _without_durations(lines: list[str]) -> list[str]:
    """Return `lines` without those that state a duration: pages omit steps that took no time."""
    pairs = zip_longest(lines, lines[1:])
    return [line for line, following in pairs if DURATION not in line and following != DURATION]


def _stable(value: Any) -> Any:
    """Return `value` without fields that the database estimates."""
    if isinstance(value, dict):
        return {key: _stable(each) for key, each in value.items() if key not in ESTIMATES}
    return [_stable(each) for each in value] if isinstance(value, list) else value


def _numbered(value: Any) -> Any:
    """Return the value with sorted keys, and with ids that have no label numbered by their order in it."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    numbers: dict[str, str] = {}
    return json.loads(UUID.sub(lambda match: numbers.setdefault(match.group(), f"id-{len(numbers) + 1}"), text))


def _aligned(old: Any, new: Any) -> Any:
    """Return `new` with the numbers of `old` where they are within the tolerance, so that only differences remain."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: _aligned(old[key], each) if key in old else each for key, each in new.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return list(map(_aligned, old, new))
    if isinstance(old, float) and isinstance(new, float):
        return old if abs(old - new) <= TOLERANCE else new
    if isinstance(old, str) and isinstance(new, str):
        return old if _differs_by_decimals(old, new) else new
    return new


def _differs_by_decimals(old: str, new: str) -> bool:
    """Return whether only decimal numbers differ, each by no more than one in its last place."""
    if _DECIMAL.sub("#", old) != _DECIMAL.sub("#", new):
        return False
    pairs = zip(_DECIMAL.findall(old), _DECIMAL.findall(new), strict=True)
    return all(abs(float(one) - float(two)) <= 1.01 * 10 ** -len(one.partition(".")[2]) for one, two in pairs)


def _is_reordered(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two pages have the same lines in another order: random ids may decide between equal rows."""
    if "text" not in old or "text" not in new:
        return False
    return bool({**old, "text": sorted(old["text"])} == {**new, "text": sorted(new["text"])})


def _print_difference(name: str, old: Any, new: Any) -> None:
    print(f"  changed: {name}")
    one, two = (json.dumps(each, ensure_ascii=False, indent=1).splitlines() for each in (old, new))
    lines = [line for line in difflib.unified_diff(one, two, lineterm="", n=1) if not line.startswith(("---", "+++"))]
    for line in lines[:SHOWN_LINES]:
        print(f"    {line[:300]}")
    if len(lines) > SHOWN_LINES:
        print(f"    ... {len(lines) - SHOWN_LINES} more lines")
