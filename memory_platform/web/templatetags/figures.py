"""Formats of numbers, icons and times, the same on every page."""

from collections.abc import ItemsView, Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory_platform import __version__
from memory_platform.web import numerals
from memory_platform.web.times import format_time

register = template.Library()

USEFULNESS_WITHOUT_VOTES = 0.5


@register.filter
def minus_sign(text: str) -> str:
    """-72 tokens -> −72 tokens."""
    return numerals.with_minus_sign(text)


@register.filter
def number(value: float | None) -> str:
    """1234567 -> 1,234,567."""
    return "–" if value is None else minus_sign(f"{value:z,.0f}")


@register.filter
def signed(value: float | None) -> str:
    """12 -> +12, -1200 -> −1,200; what rounds to nothing is 0, without a sign."""
    if value is None:
        return "–"
    return minus_sign(f"{value:+,.0f}") if round(value) else "0"


@register.filter
def score(value: float | None) -> str:
    """0.61234 -> 0.612."""
    return "–" if value is None else minus_sign(f"{value:z.3f}")


@register.filter
def percent(value: float | None) -> str:
    """0.873 -> 87 %."""
    return "–" if value is None else minus_sign(f"{100 * value:z.0f} %")


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
def path_segments(path: str) -> list[str]:
    """agent=support/user=c-1 -> agent=support, user=c-1: a long path is best cut between them."""
    return path.split("/")


@register.filter
def spaced_name(name: str) -> str:
    """archive_memory -> archive memory."""
    return name.replace("_", " ")


@register.filter
def datalist_options(texts: Iterable[str]) -> SafeString:
    """Return the options that a field suggests, often hundreds."""
    return format_html_join("", '<option value="{}"></option>', ((text,) for text in texts))


@register.filter
def named_pairs(named: Mapping[str, object]) -> ItemsView[str, object]:
    """Return the items of a mapping, also where it has a key `items`."""
    return named.items()


@register.filter
def parse_time(text: str | None) -> datetime | None:
    """Return the time of an ISO text, for `local_time`."""
    return datetime.fromisoformat(text) if text else None


@register.filter
def pluralized(value: int, forms: str) -> str:
    """3|counted:"memory,memories" -> 3 memories."""
    one, many = forms.split(",")
    return numerals.counted(value, one, many)


@register.simple_tag
@lru_cache(maxsize=500)
def icon(name: str, label: str = "", css: str = "") -> SafeString:
    """Return an icon of the sprite: decoration without a label, an image with one. Cached for tables."""
    return render_to_string("memory_platform/web/_icon.html", {"name": name, "label": label, "css": css})


@register.simple_tag
def version() -> str:
    """Return the version of this installation, as the OpenAPI document and the changelog name it."""
    return __version__


@register.simple_tag
def local_time(value: datetime | None, empty: str = "never") -> SafeString:
    """Return a time in UTC, which the browser converts to its zone, with the exact time on hover."""
    if not value:
        return format_html('<span class="text-secondary">{}</span>', empty)
    at = format_time(value)
    return format_html('<time datetime="{}" title="{} UTC">{} UTC</time>', at.iso, at.exact, at.text)


@register.simple_tag
def usefulness_badge(value: float | None, *, is_bare: bool = False) -> SafeString:
    """Return the usefulness of a memory; `is_bare` omits the word, for a column with that title."""
    if value == USEFULNESS_WITHOUT_VOTES:
        title = "50 %, where every memory begins: nobody voted, or the votes are even"
        return format_html('<span title="{}">no votes yet</span>', title)
    return format_html("<span>{}{}</span>", "" if is_bare else "usefulness ", percent(value))


@register.simple_block_tag
def once(content: SafeString) -> SafeString:
    """Render once, before a loop, what all rows share: `{% once as buttons %}...{% endonce %}`."""
    return content
