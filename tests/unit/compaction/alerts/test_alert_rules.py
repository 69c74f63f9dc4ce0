"""The kinds of alert rules, and how much worse an evaluation is than the one before."""

import pytest

from compaction.services.alerts.rules import RULE_KINDS, MeasuredRun, largest_loss


def test_every_default_threshold_is_one_that_can_be_set() -> None:
    assert all(1 <= kind.threshold <= kind.threshold_max for kind in RULE_KINDS.values())
    assert all(len(name) <= 32 for name in RULE_KINDS)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("contradictions", 1.0, "1 pair"),
        ("contradictions", 2.0, "2 pairs"),
        ("worse_evaluation", 2.54, "2.5 points"),
        ("index_backlog", 1_234_567.0, "1,234,567 vectors"),
    ],
)
def test_value_is_written_with_its_unit(kind: str, value: float, text: str) -> None:
    assert RULE_KINDS[kind].written(value) == text


def run(recall: dict[int, float], group: str = "golden") -> MeasuredRun:
    return MeasuredRun((group,), recall)


def test_loss_is_that_of_the_newest_run_against_the_one_before() -> None:
    assert largest_loss([run({250: 0.5, 1000: 0.8}), run({250: 0.6, 1000: 0.9}), run({250: 0.1, 1000: 0.1})]) == 10.0


def test_loss_compares_only_runs_of_one_group_and_their_shared_budgets() -> None:
    assert largest_loss([run({250: 0.5}), run({250: 0.9}, "upload")]) == 0
    assert largest_loss([run({250: 0.5}), run({1000: 0.9})]) == 0
    assert largest_loss([run({250: 0.5, 500: 0.2}), run({250: 0.9, 1000: 1.0})]) == 40.0


def test_better_run_is_no_loss_and_the_worst_group_counts() -> None:
    runs = [run({250: 0.9}), run({250: 0.7}, "other"), run({250: 0.5}), run({250: 0.8}, "other")]
    assert largest_loss(runs) == 10.0
    assert largest_loss(runs[::2]) == 0
    assert largest_loss([]) == 0
