"""What an assembly spent its time on, as steps that follow each other and sum to the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from context.services.workbench.plan_text import step_label

#: Steps within others: they are the parts of the search.
PARTS_OF_SEARCH = ("embed", "vector", "lexical", "pinned", "read", "beside", "vectors")
#: Steps as they happen; the search is told by its parts.
_STEPS = ("resolve", *PARTS_OF_SEARCH, "linked", "neighbours", "score", "likeness", "pack", "render", "receipt")
REST_OF_SEARCH, REST = "Rest of the search", "Between the steps"
#: Times below this are not worth a line.
SHOWN_MILLISECONDS = 0.05
#: Patterns laid over the colours, in turn; the first step is plain.
_PATTERNS = ("", "diagonal", "dots", "vertical", "cross")


@dataclass(frozen=True)
class TimedStep:
    """A step with its milliseconds and its stretch of the bar; `number` (from 1) tells its colour."""

    name: str
    milliseconds: float
    number: int
    start_percent: float
    width_percent: float
    pattern: str

    @property
    def swatch(self) -> str:
        """The name of its colour."""
        return f"step-{self.number}"


def timed_steps(timings: Mapping[str, float]) -> list[TimedStep]:
    """The steps that took time, in the order in which they happen; what none of them took comes last."""
    took = [(step_label(name), timings[name]) for name in _STEPS if name in timings]
    search = timings.get("retrieve", 0.0) - sum(timings.get(name, 0.0) for name in PARTS_OF_SEARCH)
    took.append((REST_OF_SEARCH, search))
    total = timings.get("total", 0.0)
    took.append((REST, total - sum(max(milliseconds, 0.0) for _, milliseconds in took)))
    shown = [(name, milliseconds) for name, milliseconds in took if milliseconds >= SHOWN_MILLISECONDS]
    whole = sum(milliseconds for _, milliseconds in shown) or 1.0
    steps, start = [], 0.0
    for place, (name, milliseconds) in enumerate(shown):
        width = 100 * milliseconds / whole
        pattern = _PATTERNS[place % len(_PATTERNS)]
        steps.append(TimedStep(name, milliseconds, place % 12 + 1, round(start, 3), round(width, 3), pattern))
        start += width
    return steps
