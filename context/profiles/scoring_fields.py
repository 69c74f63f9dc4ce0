"""The numbers of a scoring profile as a page takes them, and in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from context.services.assembly.signals import SIGNALS
from context.services.profiles.scoring_profiles import (
    BASE_PARTS,
    HALF_LIFE_DAYS_MAX,
    HALF_LIFE_DAYS_MIN,
    NEIGHBOUR_REACH_MAX,
    PART_NAMES,
    POOL_SIZE_MAX,
    POOL_SIZE_MIN,
)
from memory_platform.web.forms import PlatformForm

WEIGHT = "weight_"
#: What each part of a score says, in one sentence.
PART_WORDS = {
    "relevance": "How near the memory is to the question.",
    "recency": "How young the memory is; it halves with every half-life.",
    "usefulness": "What agents and people said of it so far.",
    "confidence": "How sure whoever stored it was.",
    "frequency": "How often it stood in a context before.",
    "words": "How many of the question's words it holds, rare ones counting more.",
    "neighbours": "How relevant the messages just before and after it are.",
    "person": "Whether it is about or by a person whom the question names.",
    "time": "Whether it was said at the time that the question names.",
    "answer": "Whether it holds what the question asks for: a time, a number, a name.",
    "statement": "Whether it states something, where others only ask.",
    "currency": "Whether it is the latest word among those that say nearly the same.",
}
_RELEVANCES = [("cosine", "cosine: nearness of meaning"), ("fused", "fused: what both arms of the search say")]
_RECENCY_MODES = [("added", "added: one part of the sum"), ("multiplied", "multiplied: old ones count for less in all")]
#: Unit, step and hint of a number.
_SHOWN_AS = {
    "half_life_days": ("days", "0.01", "After so many days recency is half of what it was."),
    "half_life_days_by_kind": ("", "", "Kinds with a half-life of their own, such as preference: 180, fact: 60."),
    "mmr_diversity": ("", "0.01", "0 to 1. What saying something again costs; 0 is off."),
    "pool_size": ("candidates", "1", f"Best finds, {POOL_SIZE_MIN} or more. 0: as many as the budget asks for."),
    "neighbour_reach": ("messages", "1", "So many before and after the better half are looked at as well. 0 is off."),
}
_LABELS = {
    "relevance": "Relevance is",
    "recency_mode": "Recency is",
    "half_life_days": "Half-life",
    "half_life_days_by_kind": "Half-life by kind",
    "mmr_diversity": "Diversity",
    "pool_size": "Pool",
    "neighbour_reach": "Neighbours",
    "intercept": "Intercept",
}
#: Where refusals of single numbers are drawn.
SCORING_FORM_FIELDS = {f"weights.{part}": WEIGHT + part for part in PART_NAMES}
SCORING_NUMBERS = ("half_life_days", "half_life_days_by_kind", "mmr_diversity", "pool_size", "neighbour_reach")


@dataclass(frozen=True)
class WeightView:
    """A part of the score as a page shows it: its weight, and its sentence."""

    part: str
    weight: float
    sentence: str
    coefficient: float | None = None
    bound: forms.BoundField | None = None

    @property
    def width_percent(self) -> float:
        """The length of its bar."""
        return round(100 * min(max(self.weight, 0.0), 1.0), 3)

    @property
    def text(self) -> str:
        """The weight to read."""
        return f"{self.weight:.4g}"


@dataclass(frozen=True)
class ScoringFieldView:
    """One of the other fields: its unit, step and hint."""

    bound: forms.BoundField
    unit: str
    step: str
    hint: str


@dataclass(frozen=True)
class WeightSum:
    """What the weights add up to."""

    total: float

    @property
    def is_whole(self) -> bool:
        """Whether that is 1."""
        return abs(self.total - 1) < 1e-9

    @property
    def text(self) -> str:
        """The sum to read."""
        return f"{self.total:.6g}"

    @property
    def fault(self) -> str:
        """How much is missing to 1, or too much."""
        return f"{abs(1 - self.total):.6g} {'missing' if self.total < 1 else 'too much'}"


class ScoringProfileForm(PlatformForm):
    """The numbers of a draft; bounds are those of `problems_of_numbers`, which also sums the weights up."""

    relevance = forms.ChoiceField(choices=_RELEVANCES)
    recency_mode = forms.ChoiceField(choices=_RECENCY_MODES)
    half_life_days = forms.FloatField(min_value=HALF_LIFE_DAYS_MIN, max_value=HALF_LIFE_DAYS_MAX)
    half_life_days_by_kind = forms.CharField(required=False, max_length=2000)
    mmr_diversity = forms.FloatField(min_value=0, max_value=1)
    pool_size = forms.IntegerField(min_value=0, max_value=POOL_SIZE_MAX)
    neighbour_reach = forms.IntegerField(min_value=0, max_value=NEIGHBOUR_REACH_MAX)
    is_calibrated = forms.BooleanField(required=False, label="Keep the calibration")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for part in PART_NAMES:
            self.fields[WEIGHT + part] = forms.FloatField(label=part.capitalize(), required=False)
        for name, label in _LABELS.items():
            if name in self.fields:
                self.fields[name].label = label

    def unit_of(self, name: str) -> str:
        return _SHOWN_AS[name][0] if name in _SHOWN_AS else ""

    def clean_half_life_days_by_kind(self) -> dict[str, float]:
        """`preference: 180, fact: 60` as numbers; the bounds are checked with all others."""
        pairs = [pair.strip() for pair in self.cleaned_data["half_life_days_by_kind"].split(",") if pair.strip()]
        try:
            named = [(kind.strip(), float(days)) for kind, days in (pair.split(":") for pair in pairs)]
        except ValueError as error:
            raise ValidationError("A kind, a colon and days, such as preference: 180, fact: 60.") from error
        return dict(named)

    def changes(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """The valid fields as the numbers of a profile; a calibration is that of `numbers` or none."""
        fields = self.cleaned_data
        typed = {part: fields[WEIGHT + part] for part in PART_NAMES if fields[WEIGHT + part]}
        weights = {part: _untouched(weight, numbers["weights"].get(part)) for part, weight in typed.items()}
        has_calibration = fields["is_calibrated"]
        return {
            "weights": weights,
            **{
                name: _untouched(fields[name], numbers.get(name))
                for name in ("relevance", "recency_mode", *SCORING_NUMBERS)
            },
            "coefficients": numbers.get("coefficients") if has_calibration else None,
            "intercept": numbers.get("intercept") if has_calibration else None,
        }

    def base_weights(self) -> list[WeightView]:
        """The five parts of ADR-0040."""
        return self._weights(BASE_PARTS)

    def signal_weights(self) -> list[WeightView]:
        """The signals beside them."""
        return self._weights(SIGNALS)

    def numbers(self) -> list[ScoringFieldView]:
        """Everything but the weights and the two choices."""
        return [ScoringFieldView(self[name], *_SHOWN_AS[name]) for name in SCORING_NUMBERS]

    def weight_sum(self) -> WeightSum:
        """Of what is typed, as far as it is numbers."""
        return WeightSum(sum(_as_float(self[WEIGHT + part].value()) for part in PART_NAMES))

    def _weights(self, parts: Iterable[str]) -> list[WeightView]:
        bound = {part: self[WEIGHT + part] for part in parts}
        return [
            WeightView(part, _as_float(field.value()), PART_WORDS.get(part, ""), bound=field)
            for part, field in bound.items()
        ]


def _shown(value: Any) -> str:
    """A number as its field holds it: short enough to read."""
    return f"{value:.8g}"


def _untouched(typed: Any, own: Any) -> Any:
    """The profile's own number where the field shows just that, else what was typed."""
    are_numbers = isinstance(typed, float) and isinstance(own, float)
    return own if are_numbers and _shown(typed) == _shown(own) else typed


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def scoring_profile_form_values(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a profile as its form holds them."""
    typed = {name: numbers.get(name) for name in ("relevance", "recency_mode", *SCORING_NUMBERS)}
    by_kind = numbers.get("half_life_days_by_kind") or {}
    typed["half_life_days"] = _shown(numbers["half_life_days"])
    typed["half_life_days_by_kind"] = ", ".join(f"{kind}: {days:g}" for kind, days in by_kind.items())
    typed["is_calibrated"] = numbers.get("coefficients") is not None
    return typed | {WEIGHT + part: _shown(weight) for part, weight in numbers["weights"].items()}


def weight_views(numbers: Mapping[str, Any]) -> list[WeightView]:
    """The parts that count in a profile, in a fixed order; in a calibrated one with what each adds to the log-odds."""
    weights, coefficients = numbers["weights"], numbers.get("coefficients") or {}
    counting = [part for part in PART_NAMES if weights.get(part) or part in coefficients]
    return [
        WeightView(part, weights.get(part, 0.0), PART_WORDS.get(part, ""), coefficients.get(part)) for part in counting
    ]


def number_label(field: str) -> str:
    """A number of `flat_numbers` in words: `weights.relevance` is the weight of relevance."""
    group, _, part = field.partition(".")
    if group == "weights":
        return f"weight of {part}"
    if group == "coefficients":
        return f"coefficient of {part}" if part else "coefficients"
    label = _LABELS.get(group, group.replace("_", " ")).lower()
    return f"half-life of {part}" if part else label
