"""Template tags and filters for numbers, icons and times, the same on every page."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache

from django import template
from django.template.defaultfilters import stringfilter
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.timesince import timesince

from memory_platform import __version__
from memory_platform.web.flash_messages import read_flash_link
from memory_platform.web.navigation import NAVIGATION
from memory_platform.web.numerals import counted, spaced_name, version_label, versioned_name, with_minus_sign
from memory_platform.web.times import format_time

register = template.Library()
register.filters |= {
    "minus_sign": with_minus_sign,
    "message_link": read_flash_link,
    "version_label": version_label,
    "versioned": versioned_name,
    "path_segments": lambda path: path.split("/"),
    "spaced_name": spaced_name,
    "named_pairs": lambda named: named.items(),  # also of a mapping that has a key `items`
    "parse_time": lambda text: datetime.fromisoformat(text) if text else None,
    "ready_count": lambda components: sum(component.state.is_ok for component in components),
}
register.simple_tag(lambda: __version__, name="version")
register.simple_tag(lambda: NAVIGATION, name="navigation")

USEFULNESS_WITHOUT_VOTES = 0.5
#: A text is cut inside a word if less than this share of its allowed length would remain.
_KEPT_SHARE_MIN = 0.5


def _figure(name: str, pattern: str, factor: int = 1) -> Callable[[float | None], str]:
    def written(value: float | None) -> str:
        return "–" if value is None else with_minus_sign(pattern.format(factor * value))

    register.filters[name] = written
    return written


number = _figure("number", "{:z,.0f}")  # 1234567 -> 1,234,567
score = _figure("score", "{:z.3f}")  # 0.61234 -> 0.612
percent = _figure("percent", "{:z.0f} %", 100)  # 0.873 -> 87 %


@register.filter
def signed(value: float | None) -> str:
    """Return a number with its sign: 12 -> +12, -1200 -> −1,200; a value that rounds to 0 has no sign."""
    return number(value) if value is None or not round(value) else with_minus_sign(f"{value:+,.0f}")


@register.filter
def milliseconds(value: float | None) -> str:
    """Return milliseconds: 3.14159 -> 3.1 ms; whole numbers from 100."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


@register.filter
def duration(milliseconds_taken: float | None) -> str:
    """Return a duration in a suitable unit: 480 ms, 12 s, 4 min, 2.5 h."""
    if milliseconds_taken is None:
        return "–"
    seconds = milliseconds_taken / 1000
    if seconds < 1:
        return milliseconds(milliseconds_taken)
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@register.filter
def datalist_options(texts: Iterable[str]) -> SafeString:
    """Return the options that a field suggests, often hundreds."""
    return format_html_join("", '<option value="{}"></option>', ((text,) for text in texts))


@register.filter
def pluralized(value: int, forms: str) -> str:
    """3|counted:"memory,memories" -> 3 memories."""
    one, many = forms.split(",")
    return counted(value, one, many)


@register.filter
@stringfilter
def shortened(text: str, most: int) -> str:
    """Return at most `most` characters of a text; a longer one ends with "…" after a whole word, if one is near."""
    cut = Truncator(text).chars(most)
    kept = cut.removesuffix("…")
    if len(text) <= most or kept == cut:
        return cut
    words = kept if text[len(kept) :][:1].isspace() else kept.rpartition(" ")[0]
    return f"{(words if len(words) >= most * _KEPT_SHARE_MIN else kept).rstrip(' ,;:.')}…"


@register.filter
def age(value: datetime) -> str:
    """Return the time since `value` in its largest unit: 3 days."""
    elapsed = timesince(value, depth=1)
    return "less than a minute" if elapsed.startswith("0") else elapsed


@register.simple_tag
@lru_cache(maxsize=500)
def icon(name: str, label: str = "", css: str = "") -> SafeString:
    """Return an icon of the sprite: decoration without a label, an image with one. Cached for tables."""
    return render_to_string("memory_platform/web/_icon.html", {"name": name, "label": label, "css": css})


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
        title = "50 %: no votes, or votes that balance each other"
        return format_html('<span title="{}">no votes yet</span>', title)
    return format_html("<span>{}{}</span>", "" if is_bare else "usefulness ", percent(value))


@register.simple_block_tag
def once(content: SafeString) -> SafeString:
    """Render once, before a loop, what all rows share: `{% once as buttons %}...{% endonce %}`."""
    return content
