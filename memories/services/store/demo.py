"""Read the demo files in `demo_data` (see its README.md) and resolve their relative dates."""

import json
import re
from calendar import month_name
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

from memories.services.partitions.paths import parse_partition

DEMO_FOLDER = Path(__file__).resolve().parent / "demo_data"

_PLACEHOLDER = re.compile(r"\{\{(?P<style>iso|en|short|month|de|ja) (?P<days_ago>-?\d+)\}\}")
_PLACEHOLDER_LIKE = re.compile(r"\{\{\s*\w+ -?[\d.]+\s*\}\}")
_STYLES: dict[str, Callable[[date], str]] = {
    "iso": lambda day: day.isoformat(),
    "en": lambda day: f"{day.day} {month_name[day.month]} {day.year}",
    "short": lambda day: f"{day.day} {month_name[day.month]}",
    "month": lambda day: f"{month_name[day.month]} {day.year}",
    "de": lambda day: f"{day.day:02}.{day.month:02}.{day.year}",
    "ja": lambda day: f"{day.year}年{day.month}月{day.day}日",
}


def read_demo(name: str, now: datetime) -> Any:
    """Return the content of `name`.json: `..._days_ago` becomes the time `..._at`, partitions are parsed."""
    text = expand_dates((DEMO_FOLDER / f"{name}.json").read_text(encoding="utf-8"), now)
    return json.loads(text, object_hook=partial(_parsed, now))


@cache
def demo_questions_for_tenant(tenant_name: str) -> tuple[tuple[str, str], ...]:
    """Return sample queries of the demo tenant with their partitions; none for other tenants."""
    tenant = json.loads((DEMO_FOLDER / "tenant.json").read_text(encoding="utf-8"))
    questions = tenant["questions"] if tenant["name"] == tenant_name else ()
    return tuple((question["query"], question["partition"]) for question in questions)


def expand_dates(text: str, now: datetime) -> str:
    """Replace every `{{style days_ago}}`; a weekend day becomes the Friday before, a future one the Monday after."""

    def written_out(match: re.Match[str]) -> str:
        day = _working_day(now.date() - timedelta(days=int(match["days_ago"])), today=now.date())
        return _STYLES[match["style"]](day)

    expanded = _PLACEHOLDER.sub(written_out, text)
    if _PLACEHOLDER_LIKE.search(expanded):
        raise ValueError("a date placeholder is not of the form {{style days_ago}}")
    return expanded


def _working_day(day: date, *, today: date) -> date:
    past_friday = day.weekday() - 4
    if past_friday <= 0:
        return day
    return day - timedelta(days=past_friday) if day <= today else day + timedelta(days=3 - past_friday)


def _parsed(now: datetime, row: Mapping[str, Any]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for key, value in row.items():
        if key.endswith("days_ago"):
            parsed[key.removesuffix("days_ago") + "at"] = now - timedelta(days=value)
        else:
            parsed[key] = parse_partition(value) if key == "partition" else value
    return parsed
