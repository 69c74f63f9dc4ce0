"""Which texts count as the same when an agent sends back what it was given."""

import pytest

from memories.services.store.content import recalled_hash


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
