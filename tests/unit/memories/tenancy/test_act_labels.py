"""The words for changes."""

from collections import Counter

from memories.services.tenancy.act_labels import ACT_LABELS


def test_no_two_changes_have_the_same_label() -> None:
    assert [label for label, count in Counter(ACT_LABELS.values()).items() if count > 1] == []
