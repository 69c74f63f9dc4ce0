"""The compaction policy of a budget profile (ADR-0067). A profile stores only what differs from the defaults."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from context.services.profiles.fields import tuned, tuned_fields
from memories.services.store.drafts import FieldProblem

REVIEW = "review"
DECISIONS = {"apply": "applies immediately", REVIEW: "waits for review"}
MODEL_NAME_CHARACTERS_MAX = 200
_TOKENS, _MESSAGES, _MINUTES = ("token", "tokens"), ("message", "messages"), ("minute", "minutes")
_WINDOW = ("% of the window",) * 2


@dataclass(frozen=True)
class CompactionPolicy:
    """When and how sessions are compacted. Thresholds, target, floor and shares are 0..1; the first two are pressures.

    `decision` says whether a summary is applied immediately or waits for a person; `summary_share` is of the tokens of
    its span; `compaction_model` "" is the session's own.
    """

    sleep_threshold: float = tuned(
        0.70, (0.05, 1.0), label="Idle threshold", units=_WINDOW, hint="Sessions above it are compacted when idle."
    )
    emergency_threshold: float = tuned(
        0.80, (0.05, 1.0), label="Emergency threshold", units=_WINDOW, hint="Compacts before the next context."
    )
    warning_threshold: float = tuned(
        0.85, (0.05, 1.0), label="Warning threshold", units=_WINDOW, hint="Shown on pages and in contexts."
    )
    target: float = tuned(
        0.50, (0.05, 0.95), label="Target", units=_WINDOW, hint="Pressure after compaction; below the first threshold."
    )
    preserve_messages: int = tuned(20, (1, 500), label="Preserved messages", units=_MESSAGES)
    preserve_share: float = tuned(
        0.20, (0.0, 0.9), label="Preserved share", units=_WINDOW, hint="The larger of the two applies."
    )
    mask_over_bytes: int = tuned(
        512,
        (64, 1_048_576),
        label="Masking threshold",
        units=("byte", "bytes"),
        hint="Reversible; the original stays readable.",
    )
    retention_floor: float = tuned(
        0.85,
        (0.0, 1.0),
        label="Minimum retention",
        units=("%", "%"),
        hint="Summaries below it, or not measured, wait for review. 0: no review.",
    )
    summary_share: float = tuned(0.20, (0.02, 0.9), label="Summary share", units=("% of its messages",) * 2)
    idle_minutes: int = tuned(10, (1, 10_080), label="Idle time", units=_MINUTES)
    decision: str = tuned("apply", label="Decision", choices=DECISIONS)
    has_scheduled: bool = tuned(True, label="Scheduled compaction")
    has_emergency: bool = tuned(True, label="Emergency compaction")
    has_masking: bool = tuned(True, label="Tool output masking")
    has_journal: bool = tuned(True, label="Journal", hint="Stores lasting facts as memories.")
    has_summaries: bool = tuned(True, label="Session summaries", hint="When off, only tool outputs are masked.")
    has_roll_ups: bool = tuned(True, label="Hourly roll-ups")
    roll_up_compact_tokens: int = tuned(120, (32, 2_000), label="Compact roll-up", units=_TOKENS)
    roll_up_detailed_tokens: int = tuned(600, (32, 8_000), label="Detailed roll-up", units=_TOKENS)
    compaction_model: str = tuned("", label="Summary model", hint="Leave empty to use the session's model.")

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> Self:
        """Return the defaults with the choices of a profile; unknown names, of a later release, are ignored."""
        return cls(**{name: value for name, value in chosen.items() if name in POLICY_FIELDS})

    def as_record(self) -> dict[str, Any]:
        """Return all settings by name, in the form in which a compaction stores its policy."""
        return asdict(self)


#: The description of every number by its name.
POLICY_FIELDS = tuned_fields(CompactionPolicy)
DEFAULT_POLICY = CompactionPolicy()


def problems_of_policy(chosen: object) -> list[FieldProblem]:
    """Return every problem of the numbers of a profile; none if they can be stored."""
    if not isinstance(chosen, Mapping):
        return [FieldProblem("", "not_an_object", "A compaction policy must be an object of setting names and values.")]
    problems = [problem for name, value in chosen.items() for problem in _problems_of(name, value)]
    return problems or list(_problems_together(CompactionPolicy.of(chosen)))


def _problems_of(name: object, value: Any) -> Iterator[FieldProblem]:
    if name not in POLICY_FIELDS:
        yield FieldProblem(str(name)[:40], "unknown_field", f"Known are: {', '.join(POLICY_FIELDS)}.")
        return
    name = str(name)
    field = POLICY_FIELDS[name]
    if field.bounds:
        yield from _problems_of_number(name, value)
    elif isinstance(field.default, bool) and not isinstance(value, bool):
        yield FieldProblem(name, "not_a_boolean", "Must be true or false.")
    elif field.choices and value not in tuple(field.choices):
        yield FieldProblem(name, "invalid_choice", f"Known are: {', '.join(field.choices)}.")
    elif isinstance(field.default, str) and not (
        isinstance(value, str) and len(value) <= MODEL_NAME_CHARACTERS_MAX and value.isprintable()
    ):
        yield FieldProblem(name, "bad_name", f"Must be a model name of at most {MODEL_NAME_CHARACTERS_MAX} characters.")


def _problems_of_number(name: str, value: Any) -> Iterator[FieldProblem]:
    field = POLICY_FIELDS[name]
    is_number = isinstance(value, int if field.is_whole else (int, float)) and not isinstance(value, bool)
    # NaN is the only number that does not equal itself; integers of hundreds of digits cannot be converted to float
    if not is_number or value != value:
        detail = "Must be a whole number." if field.is_whole else "Must be a number."
        yield FieldProblem(name, "not_a_number", detail)
    elif not field.least <= value <= field.most:
        yield FieldProblem(name, "out_of_range", f"From {field.least:g} to {field.most:g}.")


def _problems_together(policy: CompactionPolicy) -> Iterator[FieldProblem]:
    if policy.target >= policy.sleep_threshold:
        yield FieldProblem("target", "not_below_threshold", "The target must be below the sleep threshold.")
    if policy.emergency_threshold < policy.sleep_threshold:
        detail = "The emergency threshold must not be below the sleep threshold."
        yield FieldProblem("emergency_threshold", "below_threshold", detail)
