"""The names that pages show for kinds of erased rows."""

from compaction.services.erasure.row_labels import row_label


def test_label_replaces_the_name_of_the_table_and_keeps_that_rows_are_redacted() -> None:
    assert row_label("runs") == "compaction and roll-up jobs"
    assert row_label("uncompared memories") == "pending comparisons of memories"
    assert row_label("feedback, redacted") == "votes, redacted"
    assert row_label("partition summaries, redacted") == "partition summaries, redacted"
