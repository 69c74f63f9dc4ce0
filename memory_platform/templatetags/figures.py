"""How the console writes figures, icons and times: one form each, so that a number looks the same on every page."""

from datetime import datetime
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from memory_platform.times import written_time

register = template.Library()


@register.filter
def number(value: float | None) -> str:
    """1234567 -> 1,234,567."""
    return "–" if value is None else f"{value:,.0f}"


@register.filter
def signed(value: float | None) -> str:
    """12 -> +12, -1200 -> −1,200; what rounds to nothing is 0, without a sign."""
    if value is None:
        return "–"
    return f"{value:+,.0f}".replace("-", "−") if round(value) else "0"


@register.filter
def score(value: float | None) -> str:
    """0.61234 -> 0.612."""
    return "–" if value is None else f"{value:.3f}"


@register.filter
def percent(value: float | None) -> str:
    """0.873 -> 87 %."""
    return "–" if value is None else f"{100 * value:.0f} %"


@register.filter
def milliseconds(value: float | None) -> str:
    """3.14159 -> 3.1 ms; from 100 on whole ones."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


@register.filter
def duration(milliseconds_taken: float | None) -> str:
    """In the unit that fits: 480 ms, 12 s, 4 min, 2.5 h."""
    if milliseconds_taken is None:
        return "–"
    seconds = milliseconds_taken / 1000
    if seconds < 1:
        return milliseconds(milliseconds_taken)
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@register.filter
def steps(path: str) -> list[str]:
    """agent=support/user=c-1 -> agent=support, user=c-1: a long path is best cut between them."""
    return path.split("/")


@register.filter
def words(name: str) -> str:
    """archive_memory -> archive memory."""
    return name.replace("_", " ")


@register.filter
def as_time(text: str | None) -> datetime | None:
    """A point in time as answers and receipts write it, for `moment`."""
    return datetime.fromisoformat(text) if text else None


@register.filter
def counted(value: int, forms: str) -> str:
    """3|counted:"memory,memories" -> 3 memories."""
    one, many = forms.split(",")
    return f"{value:,} {one if value == 1 else many}"


@register.simple_tag
@lru_cache(maxsize=500)
def icon(name: str, label: str = "", css: str = "") -> SafeString:
    """An icon of the sprite: decoration without a label, an image with one. A table has one in each row."""
    return render_to_string("_icon.html", {"name": name, "label": label, "css": css})


@register.inclusion_tag("_time.html")
def moment(value: datetime | None, empty: str = "never") -> dict[str, Any]:
    """A point in time in UTC; the browser shows it in the reader's zone, with the exact time on hover."""
    return {"at": written_time(value) if value else None, "empty": empty}
