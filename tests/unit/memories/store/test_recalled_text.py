"""Which texts count as recalled when an agent sends back what it received, and in which partitions."""

import pytest

from memories.services.partitions.paths import MAX_PATH_BYTES
from memories.services.store.content import recalled_hash
from memories.services.store.recalled_text import context_partition, repeats_recalled_text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Alex likes tea.", "alex likes TEA"),
        ("Alex likes tea", "  Alex\n likes\ttea .. "),
        ("ﬁle", "FILE"),
        ("Straße", "STRASSE"),
        ("Caf\u00e9", "cafe\u0301"),
    ],
)
def test_text_that_reads_the_same_is_recognised(first: str, second: str) -> None:
    assert recalled_hash(first) == recalled_hash(second)


@pytest.mark.parametrize(("first", "second"), [("Alex likes tea.", "Alex likes tea?"), ("a b", "ab"), ("1.5", "15")])
def test_other_text_is_another(first: str, second: str) -> None:
    assert recalled_hash(first) != recalled_hash(second)


@pytest.mark.parametrize(
    ("path", "shown_in", "stored_in"),
    [
        ("user=u1", "user=u1", "user=u1"),
        ("user=u1/run=2", "user=u1", "user=u1/run=1"),
        ("user=u1/run=2", "user=u1", "user=u1"),
        ("user=u1", "", "user=u1"),
        ("", "", "user=u1"),
        ("user=u1", "", ""),
        ("agent=a/user=u1", "agent=a", "agent=b/user=u1"),
        ("project=x", "project=x", "project=x/topic=tea"),
        ("user=u1/run=2", "//user=u1", "user=u1/run=1"),
        ("agent=a/user=u1/run=2", "//agent=a/user=u1", "user=u1/agent=a"),
        ("agent=a/user=u1", "agent=a//user=u1", "agent=a/user=u1"),
    ],
)
def test_text_for_the_partition_of_a_context_and_below_repeats_it(path: str, shown_in: str, stored_in: str) -> None:
    assert repeats_recalled_text(path, shown_in=shown_in, stored_in=stored_in)


@pytest.mark.parametrize(
    ("path", "shown_in", "stored_in"),
    [
        ("user=u2", "user=u1", "user=u1"),
        ("", "user=u1", "user=u1"),
        ("user=u11", "user=u1", "user=u1"),
        ("agent=a/user=u1", "user=u1", "user=u1"),
        ("user=u1", "user=u1/run=2", "user=u1/run=2"),
        ("user=u2", "", "user=u1"),
        ("agent=a/user=u2", "agent=a", "agent=a/user=u1"),
        ("user=u%2F2", "", "user=u"),
        ("", "//agent=a", "agent=a"),
        ("agent=b", "//agent=a", "agent=a"),
        ("agent=a", "//agent=a/user=u1", "agent=a/user=u1"),
        ("agent=b/user=u1", "agent=a//user=u1", "agent=a/user=u1"),
        ("agent=ab", "//agent=a", "agent=a"),
    ],
)
def test_text_for_another_partition_or_user_repeats_nothing(path: str, shown_in: str, stored_in: str) -> None:
    assert not repeats_recalled_text(path, shown_in=shown_in, stored_in=stored_in)


def test_partition_of_a_context_has_its_segments_in_one_order() -> None:
    assert context_partition("", {}) == ""
    assert context_partition("agent=a", {}) == "agent=a"
    assert context_partition("agent=a", {"user": "u/1", "run": "2"}) == "agent=a//run=2/user=u%2F1"
    assert context_partition("", {"user": "//"}) == "//user=%2F%2F"


def test_partition_of_a_context_that_is_too_long_for_an_index_is_none() -> None:
    assert context_partition("x" * MAX_PATH_BYTES, {}) is not None
    assert context_partition("x" * MAX_PATH_BYTES, {"user": "u"}) is None
