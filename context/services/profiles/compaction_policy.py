"""The compaction policy of a budget profile: its numbers, their bounds, and what is wrong with one (ADR-0067).

A profile stores only what differs from the defaults below, so a default that changes reaches everybody who never chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

_APPLY, REVIEW = DECISION_POLICIES = ("apply", "review")
MODEL_NAME_CHARACTERS_MAX = 200


@dataclass(frozen=True)
class CompactionPolicy:
    """When and how sessions shrink. Thresholds, target, floor and shares are 0..1 (pressure: tokens / window).

    `decision` says whether a summary is applied at once or waits for a person; `summary_share` is of the tokens of the
    span it stands for; `compaction_model` "" is the session's own.
    """

    sleep_threshold: float = 0.70
    emergency_threshold: float = 0.80
    warning_threshold: float = 0.85
    target: float = 0.50
    preserve_messages: int = 20
    preserve_share: float = 0.20
    mask_over_bytes: int = 512
    retention_floor: float = 0.85
    summary_share: float = 0.20
    idle_minutes: int = 10
    decision: str = _APPLY
    has_scheduled: bool = True
    has_emergency: bool = True
    has_masking: bool = True
    has_journal: bool = True
    has_summaries: bool = True
    has_roll_ups: bool = True
    roll_up_compact_tokens: int = 120
    roll_up_detailed_tokens: int = 600
    compaction_model: str = ""

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> Self:
        """The defaults with what a profile chose. Unknown names are passed over: a later release may have had them."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in chosen.items() if name in known})

    def as_record(self) -> dict[str, Any]:
        """Every number by its name, as a compaction keeps the policy it was made under."""
        return asdict(self)


#: (least, most) of every number, both included.
BOUNDS: dict[str, tuple[float, float]] = {
    "sleep_threshold": (0.05, 1.0),
    "emergency_threshold": (0.05, 1.0),
    "warning_threshold": (0.05, 1.0),
    "target": (0.05, 0.95),
    "preserve_messages": (1, 500),
    "preserve_share": (0.0, 0.9),
    "mask_over_bytes": (64, 1_048_576),
    "retention_floor": (0.0, 1.0),
    "summary_share": (0.02, 0.9),
    "idle_minutes": (1, 10_080),
    "roll_up_compact_tokens": (32, 2_000),
    "roll_up_detailed_tokens": (32, 8_000),
}
DEFAULT_POLICY = CompactionPolicy()
POLICY_FIELDS = tuple(field.name for field in fields(CompactionPolicy))


@dataclass(frozen=True)
class PolicyProblem:
    """What is wrong with a policy: the field's name, a stable `code`, a `detail` for people."""

    field: str
    code: str
    detail: str


def problems_of_policy(chosen: object) -> list[PolicyProblem]:
    """Everything wrong with the numbers a profile chooses; nothing when they can be stored."""
    if not isinstance(chosen, Mapping):
        return [PolicyProblem("", "not_an_object", "A compaction policy is an object: names and their values.")]
    problems = [problem for name, value in chosen.items() for problem in _problems_of(name, value)]
    return problems or list(_problems_together(CompactionPolicy.of(chosen)))


def _problems_of(name: object, value: Any) -> Iterator[PolicyProblem]:
    if name not in POLICY_FIELDS:
        yield PolicyProblem(str(name)[:40], "unknown_field", f"Known are: {', '.join(POLICY_FIELDS)}.")
        return
    name = str(name)
    default = getattr(DEFAULT_POLICY, name)
    if name in BOUNDS:
        yield from _problems_of_number(name, value, is_whole=isinstance(default, int))
    elif isinstance(default, bool) and not isinstance(value, bool):
        yield PolicyProblem(name, "not_a_truth", "Either true or false is needed.")
    elif name == "decision" and value not in DECISION_POLICIES:
        yield PolicyProblem(name, "unknown_choice", f"Known are: {', '.join(DECISION_POLICIES)}.")
    elif name == "compaction_model" and not _is_model_name(value):
        yield PolicyProblem(name, "bad_name", f"A model's name of at most {MODEL_NAME_CHARACTERS_MAX} characters.")


def _problems_of_number(name: str, value: Any, *, is_whole: bool) -> Iterator[PolicyProblem]:
    least, most = BOUNDS[name]
    is_number = isinstance(value, int if is_whole else (int, float)) and not isinstance(value, bool)
    # NaN is the only number that is not itself; whole numbers of hundreds of digits have no float
    if not is_number or value != value:
        yield PolicyProblem(name, "not_a_number", "A whole number is needed." if is_whole else "A number is needed.")
    elif not least <= value <= most:
        yield PolicyProblem(name, "out_of_range", f"From {least:g} to {most:g}.")


def _is_model_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MODEL_NAME_CHARACTERS_MAX and value.isprintable()


def _problems_together(policy: CompactionPolicy) -> Iterator[PolicyProblem]:
    if policy.target >= policy.sleep_threshold:
        yield PolicyProblem("target", "not_below_threshold", "The target lies below the sleep threshold.")
    if policy.emergency_threshold < policy.sleep_threshold:
        detail = "An emergency begins at the sleep threshold or above it."
        yield PolicyProblem("emergency_threshold", "below_threshold", detail)
