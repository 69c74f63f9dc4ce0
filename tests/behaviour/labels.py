"""Replace what differs between two recordings of the same code: ids, secrets, times, nonces."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_SHORT_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4})?\b(?!-)")
_SHORTENED = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4})?(?=…)")
_AGO = re.compile(r"(?<!\w)(?:just now|(?:\{measured\}|\d+ ?min|\d+ minutes?) ago)\b")
_NONCE = re.compile(r"memory-\d{12}\b")
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC)?")
_ISO_DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_WRITTEN = re.compile(rf"\b(\d{{1,2}}) ({_MONTHS})[a-z]*(?: (\d{{4}}))?(?:, (\d\d):(\d\d)(?::\d\d)?)?\b")
_CURSOR = re.compile(r"\bcursor=[^&\"\s]+")
_ETAG = re.compile(r"\b(\d+\.)[0-9a-f]{16}\b")
_MEASURED = re.compile(r"\b[\d,]+(?:\.\d+)? ?(?:ms|MB|µs|milliseconds?|seconds?|s)\b")
#: A time within this distance of the anchor belongs to the recording itself.
RECORDING = timedelta(minutes=40)
#: Older days come from the corpus, not from the clock.
REMEMBERED = timedelta(days=2700)
#: Objects whose numbers are durations.
TIMINGS = {"timings", "ms", "duration_ms", "latency"}


class Labels:
    """Labels of the ids that the recording made, and times relative to its anchor."""

    def __init__(self, anchor: datetime, origin: str) -> None:
        self.anchor = anchor
        self.origin = origin
        self._ids: dict[str, str] = {}
        self._literals: dict[str, str] = {}

    def name(self, identifier: str, label: str) -> None:
        """Replace `identifier` with `{label}` from now on; an earlier label stays."""
        self._ids.setdefault(identifier, f"{{{label}}}")
        # Pages shorten ids.
        for shown in (identifier[:8], identifier[:13]):
            self._ids.setdefault(shown, f"{{{label}}}")

    def name_literal(self, text: str, label: str) -> None:
        """Replace `text`, such as a key's prefix, with `{label}` wherever it occurs."""
        self._literals[text] = f"{{{label}}}"

    def knows(self, identifier: str) -> bool:
        """Return whether it has a label."""
        return identifier in self._ids

    def text(self, text: str) -> str:
        """Return `text` without random parts. Ids without a label stay; the comparison numbers them."""
        text = text.replace(self.origin, "{origin}").replace(self.origin.partition("://")[2], "{host}")
        for literal, label in self._literals.items():
            text = text.replace(literal, label)
        text = UUID.sub(lambda match: self._ids.get(match.group(), match.group()), text)
        text = _SHORT_ID.sub(lambda match: self._ids.get(match.group(), match.group()), text)
        text = _NONCE.sub("memory-{nonce}", _CURSOR.sub("cursor={cursor}", _ETAG.sub(r"\1{hash}", text)))
        text = _ISO.sub(lambda match: self._moment(match.group()), text)
        return _ISO_DAY.sub(lambda match: self._day(date.fromisoformat(match.group())), text)

    def page_text(self, text: str) -> str:
        """Return the text of a page without random parts, written dates and durations."""
        text = _WRITTEN.sub(self._written, self.text(text))
        return _AGO.sub("{ago}", _MEASURED.sub("{measured}", _SHORTENED.sub("{id}", text)))

    def value(self, value: Any) -> Any:
        """Return a JSON value without random parts at any depth."""
        if isinstance(value, dict):
            return {
                self.text(key): "#" if key in TIMINGS or key.endswith("_ms") else self.value(below)
                for key, below in value.items()
            }
        if isinstance(value, list):
            return [self.value(each) for each in value]
        return self.text(value) if isinstance(value, str) else value

    def time(self, *, days: float = 0.0, minutes: float = 0.0) -> str:
        """Return the time this long before the anchor, as ISO text."""
        return (self.anchor - timedelta(days=days, minutes=minutes)).isoformat()

    def _moment(self, text: str) -> str:
        try:
            moment = datetime.fromisoformat(text.removesuffix(" UTC").replace("Z", "+00:00"))
        except ValueError:
            return text
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        difference = moment - self.anchor
        if abs(difference) > REMEMBERED:
            return text
        if difference % timedelta(minutes=1) == timedelta(0) and difference < timedelta(0):
            return f"{{anchor{difference // timedelta(minutes=1):+d}min}}"
        if abs(difference) < RECORDING:
            return "{now}"
        return f"{{now{round(difference / timedelta(days=1)):+d}d}}"

    def _day(self, day: date) -> str:
        difference = (day - self.anchor.date()).days
        return f"{{day{difference:+d}}}" if abs(difference) < REMEMBERED.days else day.isoformat()

    def _written(self, match: re.Match[str]) -> str:
        number, month, year, hour, _minute = match.groups()
        try:
            day = date(int(year or self.anchor.year), _MONTHS.split("|").index(month) + 1, int(number))
        except ValueError:
            return match.group()
        if not year and day > self.anchor.date() + timedelta(days=31):
            day = day.replace(year=day.year - 1)
        return self._day(day) + (", {time}" if hour else "")


def segment(text: str) -> str:
    """Return `text` as one segment of a path."""
    return quote(text, safe="")
