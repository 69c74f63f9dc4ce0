"""The kinds of alert rules, and what each measures (ADR-0156)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

CONTRADICTIONS, FULL_SESSIONS, WORSE_EVALUATION = "contradictions", "full_sessions", "worse_evaluation"
EMBEDDER_FAILS, SUMMARISER_FAILS = "embedder_fails", "summariser_fails"
EMBEDDING_BACKLOG, INDEX_BACKLOG = "embedding_backlog", "index_backlog"


@dataclass(frozen=True)
class RuleKind:
    """A kind of rule: its alert is open while the measured value is at least the threshold, both in the same unit.

    `units` are singular and plural of that unit. `page` is the name of the console page that shows the cause, with
    further arguments after slashes, and its query.
    """

    name: str
    title: str
    description: str
    units: tuple[str, str]
    threshold: int
    threshold_max: int
    page: str
    has_threshold: bool = True

    @property
    def unit(self) -> str:
        """The unit in plural."""
        return self.units[1]

    def written(self, value: float) -> str:
        """Return a value with its unit: 1 pair, 2.5 points, 12,000 vectors."""
        number = f"{value:,.1f}".removesuffix(".0")
        return f"{number} {self.units[number != '1']}"


_KINDS = (
    RuleKind(
        CONTRADICTIONS,
        "Contradictions",
        "Pairs of memories that contradict each other",
        ("pair", "pairs"),
        threshold=1,
        threshold_max=1_000,
        page="hygiene-list/contradiction",
    ),
    RuleKind(
        FULL_SESSIONS,
        "Full sessions",
        "Sessions above the warning threshold of their policy",
        ("session", "sessions"),
        threshold=1,
        threshold_max=200,
        page="sessions?state=over&sort=-pressure",
    ),
    RuleKind(
        WORSE_EVALUATION,
        "Evaluation regression",
        "Percentage points of evidence recall lost since the last run of the same corpus and profile",
        ("point", "points"),
        threshold=2,
        threshold_max=100,
        page="evaluations",
    ),
    RuleKind(
        EMBEDDER_FAILS,
        "Embedding failures",
        "Memories without a vector because the embedding provider failed",
        ("memory", "memories"),
        threshold=1,
        threshold_max=1_000_000,
        page="jobs",
    ),
    RuleKind(
        SUMMARISER_FAILS,
        "Summary failures",
        "Summary providers switched off after three consecutive failures",
        ("provider", "providers"),
        threshold=1,
        threshold_max=1,
        page="jobs",
        has_threshold=False,
    ),
    RuleKind(
        EMBEDDING_BACKLOG,
        "Embedding backlog",
        "Minutes that the oldest memory without a vector has waited",
        ("minute", "minutes"),
        threshold=10,
        threshold_max=10_080,
        page="jobs",
    ),
    RuleKind(
        INDEX_BACKLOG,
        "Index backlog",
        "Vectors that the index does not contain yet",
        ("vector", "vectors"),
        threshold=20_000,
        threshold_max=10_000_000,
        page="embeddings",
    ),
)
#: In the order of the page.
RULE_KINDS: Mapping[str, RuleKind] = {kind.name: kind for kind in _KINDS}


@dataclass(frozen=True)
class MeasuredRun:
    """A finished evaluation: the values that must be equal in two compared runs, and evidence recall 0..1 by budget."""

    group: tuple[str, ...]
    recall: Mapping[int, float]


def largest_loss(runs: Iterable[MeasuredRun]) -> float:
    """Return the largest loss of mean recall, in percentage points, of a group's newest run against the one before.

    `runs` are sorted newest first. Only budgets of both runs count; 0 without a loss or a pair of runs.
    """
    newest: dict[tuple[str, ...], MeasuredRun] = {}
    compared: set[tuple[str, ...]] = set()
    loss = 0.0
    for run in runs:
        later = newest.setdefault(run.group, run)
        if later is run or run.group in compared:
            continue
        compared.add(run.group)
        shared = later.recall.keys() & run.recall.keys()
        if shared:
            lost = sum(run.recall[budget] - later.recall[budget] for budget in shared) / len(shared)
            loss = max(loss, 100 * lost)
    return round(loss, 2)


class StoredRule(Protocol):
    """A rule as it is stored."""

    kind: str
    is_enabled: bool
    threshold: int


def state_of_rules(rules: Iterable[StoredRule]) -> str:
    """Return a text that identifies the state of the rules, so that a form can name the state that it shows."""
    return ",".join(sorted(f"{rule.kind}:{rule.is_enabled:d}:{rule.threshold}" for rule in rules))
