"""Precision and recall of the warning that nothing stored answers."""

from context.services.evaluation.no_answer import NoAnswerCounts


def test_precision_counts_wrong_warnings_and_recall_missed_ones() -> None:
    counts = NoAnswerCounts.of(answered=[True, False, False], lacking=[True, True, True, False])
    assert (counts.lacking, counts.warned, counts.right) == (4, 4, 3)
    assert (counts.precision, counts.recall) == (0.75, 0.75)


def test_without_warnings_there_is_no_precision() -> None:
    counts = NoAnswerCounts.of(answered=[False], lacking=[False])
    assert counts.precision is None
    assert counts.recall == 0
