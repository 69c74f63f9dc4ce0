"""The order of included blocks (ADR-0050)."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.ordering import ORDERINGS, order_items

#: items A..G and shorter -> u_curve, head_tail
GOLDEN = [
    ("", "", ""),
    ("A", "A", "A"),
    ("AB", "AB", "AB"),
    ("ABC", "ACB", "ACB"),
    ("ABCD", "ADBC", "ACDB"),
    ("ABCDE", "AEBDC", "ACEDB"),
    ("ABCDEFG", "AGBFCED", "ACEGFDB"),
]


@pytest.mark.parametrize(("items", "u_curve", "head_tail"), GOLDEN)
def test_golden_table(items, u_curve, head_tail):
    assert order_items(items, "top_down") == list(items)
    assert order_items(items, "u_curve") == list(u_curve)
    assert order_items(items, "head_tail") == list(head_tail)


@pytest.mark.parametrize("ordering", ORDERINGS)
@given(items=st.lists(st.integers()), previous=st.lists(st.integers()))
def test_nothing_is_added_or_lost(ordering, items, previous):
    assert sorted(order_items(items, ordering, previous)) == sorted(items)


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_the_given_list_is_left_alone(ordering):
    items = [3, 1, 2]
    order_items(items, ordering, previous=[2])
    assert items == [3, 1, 2]


@given(st.lists(st.integers(), min_size=2, unique=True))
def test_head_tail_puts_the_best_two_at_the_ends(items):
    ordered = order_items(items, "head_tail")
    assert (ordered[0], ordered[-1]) == (items[0], items[1])


def test_stable_keeps_the_earlier_order_and_appends_the_new():
    assert order_items("ABCDE", "stable", previous="DXBA") == list("DBACE")


def test_stable_without_an_earlier_context_is_top_down():
    assert order_items("CAB", "stable") == list("CAB")


def test_stable_keeps_a_growing_context_a_prefix():
    first = order_items("ABC", "stable")
    assert order_items("XAYBC", "stable", previous=first)[:3] == first


@dataclass(frozen=True)
class Block:
    anchor: tuple[str, str, int]


def test_stable_reads_the_anchor_of_a_block():
    one, two, edited = Block(("memory", "1", 1)), Block(("memory", "2", 1)), Block(("memory", "2", 2))
    assert order_items([one, two], "stable", [two.anchor, one.anchor]) == [two, one]
    assert order_items([edited, one], "stable", [two.anchor, one.anchor]) == [one, edited]


def test_stable_reads_anchors_that_are_mappings():
    first = {"anchor": {"type": "memory", "id": "1", "version": 1}}
    second = {"anchor": {"type": "memory", "id": "2", "version": 1}}
    assert order_items([first, second], "stable", [second["anchor"], first["anchor"]]) == [second, first]


def test_unknown_ordering_is_refused():
    with pytest.raises(ValueError, match="unknown ordering 'random'; known: top_down"):
        order_items([], "random")
