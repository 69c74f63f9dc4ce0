"""The form of a scoring profile, and its weights as pages show them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from context.profiles.forms import ProfileFieldView
from context.profiles.policy_fields import choice_or_number_field
from context.services.assembly.signals import SIGNALS
from context.services.profiles.scoring_profiles import BASE_PARTS, PART_NAMES, SCORING_FIELDS, component_label
from memory_platform.web.forms import PlatformForm
from memory_platform.web.numerals import with_minus_sign

WEIGHT = "weight_"
#: The meaning of each score component, in one sentence.
PART_WORDS = {
    "relevance": "Similarity of the memory to the query.",
    "recency": "Age of the memory; halves with each half-life.",
    "usefulness": "Feedback on the memory so far.",
    "confidence": "Confidence given when it was stored.",
    "frequency": "How often contexts have included it.",
    "lexical_overlap": "Share of the query's words it contains; rare words count more.",
    "adjacent_turns": "Relevance of the messages next to it.",
    "entity_match": "Whether it mentions or quotes a person named in the query.",
    "temporal_match": "Whether it dates from a time named in the query.",
    "answer_type": "Whether it contains the kind of answer the query asks for.",
    "informativeness": "Whether it states something rather than asks.",
    "supersession": "Whether it is the latest statement of its fact.",
}
#: The form fields that show the problems of refused numbers.
SCORING_FORM_FIELDS = {f"weights.{part}": WEIGHT + part for part in PART_NAMES}
#: The setting that is entered as text.
BY_KIND = "half_life_days_by_kind"
SCORING_NUMBERS = ("half_life_days", BY_KIND, "mmr_diversity", "superseded_min", "pool_size", "adjacent_turn_reach")
TYPED_NUMBERS = ("relevance", "recency_mode", *SCORING_NUMBERS)


def weight_text(weight: float) -> str:
    """Return a weight with two or three decimals: 0.4 -> 0.40, 0.125 -> 0.125."""
    whole, _, decimals = f"{weight:.3f}".partition(".")
    return with_minus_sign(f"{whole}.{decimals.rstrip('0'):0<2}")


@dataclass(frozen=True)
class WeightView:
    """A component of the score as a page shows it."""

    part: str
    weight: float
    sentence: str
    coefficient: float | None
    conversation_weight: float | None = None

    @property
    def width_percent(self) -> float:
        """The length of its bar."""
        return round(100 * min(max(self.weight, 0.0), 1.0), 3)

    @property
    def text(self) -> str:
        return weight_text(self.weight)

    @property
    def conversation_text(self) -> str:
        """The weight among messages of conversations."""
        return weight_text(self.weight if self.conversation_weight is None else self.conversation_weight)


class ScoringProfileForm(PlatformForm):
    """The numbers of a draft; `problems_of_numbers` checks the bounds and the sum of the weights."""

    is_calibrated = forms.BooleanField(required=False, label="Keep calibration")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        by_kind = forms.CharField(label=SCORING_FIELDS[BY_KIND].label, required=False, max_length=2000)
        numbers = {
            name: by_kind if name == BY_KIND else choice_or_number_field(SCORING_FIELDS[name]) for name in TYPED_NUMBERS
        }
        self.fields = numbers | self.fields
        for part in PART_NAMES:
            self.fields[WEIGHT + part] = forms.FloatField(label=component_label(part).capitalize(), required=False)

    def unit_of(self, name: str) -> str:
        described = SCORING_FIELDS.get(name)
        return described.unit if described and described.input_step else ""

    def clean_half_life_days_by_kind(self) -> dict[str, float]:
        """Return the days by kind of `preference: 180, fact: 60`; the bounds are checked with all others."""
        pairs = [pair.strip() for pair in self.cleaned_data["half_life_days_by_kind"].split(",") if pair.strip()]
        try:
            named = [(kind.strip(), float(days)) for kind, days in (pair.split(":") for pair in pairs)]
        except ValueError as error:
            raise ValidationError("Enter kinds and days, such as preference: 180, fact: 60.") from error
        return dict(named)

    def changes(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the valid fields as the numbers of a profile; a calibration is that of `numbers` or none."""
        fields = self.cleaned_data
        typed = {part: fields[WEIGHT + part] for part in PART_NAMES if fields[WEIGHT + part]}
        weights = {part: _untouched(weight, numbers["weights"].get(part)) for part, weight in typed.items()}
        has_calibration = fields["is_calibrated"]
        return {
            "weights": weights,
            **{name: _untouched(fields[name], numbers.get(name)) for name in TYPED_NUMBERS},
            "coefficients": numbers.get("coefficients") if has_calibration else None,
            "intercept": numbers.get("intercept") if has_calibration else None,
        }

    def base_weights(self) -> list[dict[str, Any]]:
        """Return the inputs of ADR-0040's components."""
        return self._weights(BASE_PARTS)

    def signal_weights(self) -> list[dict[str, Any]]:
        """Return the inputs of the other components."""
        return self._weights(SIGNALS)

    def numbers(self) -> list[ProfileFieldView]:
        """Return the views of everything but the weights and the two choices."""
        return [ProfileFieldView.of(self[name], SCORING_FIELDS[name]) for name in SCORING_NUMBERS]

    def weight_sum(self) -> dict[str, Any]:
        """Return the sum of the weights that are numbers, and how far it is from 1."""
        total = sum(_as_float(self[WEIGHT + part].value()) for part in PART_NAMES)
        problem = f"{abs(1 - total):.6g} {'missing' if total < 1 else 'too much'}"
        return {"text": f"{total:.6g}", "is_whole": abs(total - 1) < 1e-9, "problem": problem}

    def _weights(self, parts: Iterable[str]) -> list[dict[str, Any]]:
        return [{"bound": self[WEIGHT + part], "sentence": PART_WORDS.get(part, "")} for part in parts]


def _shown(value: Any) -> str:
    """Return a number as its field shows it, rounded for reading."""
    return f"{value:.8g}"


def _untouched(typed: Any, own: Any) -> Any:
    """Return the profile's own number if the field still shows it, else the submitted value."""
    are_numbers = isinstance(typed, float) and isinstance(own, float)
    return own if are_numbers and _shown(typed) == _shown(own) else typed


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def scoring_profile_form_values(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a profile as form values."""
    typed: dict[str, Any] = {name: numbers.get(name) for name in TYPED_NUMBERS}
    typed |= {name: _shown(value) for name, value in typed.items() if isinstance(value, float)}
    by_kind = numbers.get("half_life_days_by_kind") or {}
    typed["half_life_days_by_kind"] = ", ".join(f"{kind}: {days:g}" for kind, days in by_kind.items())
    typed["is_calibrated"] = numbers.get("coefficients") is not None
    return typed | {WEIGHT + part: _shown(weight) for part, weight in numbers["weights"].items()}


def weight_views(numbers: Mapping[str, Any]) -> list[WeightView]:
    """Return the components with a weight or a coefficient, in a fixed order."""
    weights, coefficients = numbers["weights"], numbers.get("coefficients") or {}
    others = numbers.get("conversation_weights")
    counting = [part for part in PART_NAMES if weights.get(part) or part in coefficients or (others or {}).get(part)]
    return [
        WeightView(
            part,
            weights.get(part, 0.0),
            PART_WORDS.get(part, ""),
            coefficients.get(part),
            None if others is None else others.get(part, 0.0),
        )
        for part in counting
    ]
