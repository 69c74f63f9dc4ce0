"""Two orders compared: kinds of change, distances, overlap, and lines that end at the middle of their rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.receipts.results import Anchor
from context.services.diff import RankChange, rank_changes, rank_overlap, unmoved_keys
from context.workbench.preview_diff import ROW_HEIGHT_PX, SLOPE_WIDTH_PX, STUB_PX, slope_line

ORDERS = st.lists(st.integers(0, 20), unique=True, max_size=15)


def test_each_kind_of_change_is_reported_with_its_steps() -> None:
    changes = rank_changes("abcde", "cbxda")
    kinds = {change.key: (change.kind, change.steps) for change in changes}
    assert kinds == {
        "c": ("up", 2),
        "b": ("same", 0),
        "x": ("in", 0),
        "d": ("same", 0),
        "a": ("down", 4),
        "e": ("out", 0),
    }
    assert [change.key for change in changes] == list("cbxdae")


def test_overlap_is_the_share_that_both_contain() -> None:
    assert rank_overlap(rank_changes("abc", "bcd")) == 0.5
    assert rank_overlap(rank_changes("abc", "cab")) == 1.0
    assert rank_overlap(rank_changes("", "")) == 1.0
    assert rank_overlap(rank_changes("", "a")) == 0.0


def test_lines_begin_and_end_in_the_middle_of_their_rows() -> None:
    anchor = Anchor("memory", "1", 1)
    moved, came, went = (
        slope_line(RankChange(anchor, before, after), before, after) for before, after in ((2, 1), (None, 2), (1, None))
    )
    half = ROW_HEIGHT_PX // 2
    assert (moved.x1, moved.y1, moved.x2, moved.y2) == (0, ROW_HEIGHT_PX + half, SLOPE_WIDTH_PX, half)
    assert (came.x1, came.x2, came.y1, came.mark_x) == (
        SLOPE_WIDTH_PX - STUB_PX,
        SLOPE_WIDTH_PX,
        ROW_HEIGHT_PX + half,
        SLOPE_WIDTH_PX - STUB_PX,
    )
    assert (went.x1, went.x2, went.y1, went.mark_x) == (0, STUB_PX, half, STUB_PX)


@given(ORDERS, ORDERS)
def test_every_item_appears_once_and_is_reversed_from_the_other_side(left: list[int], right: list[int]) -> None:
    forward, backward = rank_changes(left, right), rank_changes(right, left)
    assert sorted(change.key for change in forward) == sorted(set(left) | set(right))
    swapped = {"in": "out", "out": "in", "up": "down", "down": "up", "same": "same"}
    assert {change.key: swapped[change.kind] for change in forward} == {change.key: change.kind for change in backward}
    assert rank_overlap(forward) == rank_overlap(backward)


def test_stylesheet_has_the_same_height_of_a_row() -> None:
    from pathlib import Path

    css = Path("static/css/profiles.css").read_text()
    assert f"height: {ROW_HEIGHT_PX}px;" in css


@pytest.mark.parametrize(
    ("prior", "now", "count"),
    [("abcd", "abcd", 4), ("abcd", "xabcd", 4), ("abcde", "eabcd", 4), ("abcd", "dcba", 1), ("abcdef", "xbdace", 3)],
)
def test_blocks_that_only_make_way_did_not_move(prior: str, now: str, count: int) -> None:
    assert len(unmoved_keys(rank_changes(prior, now))) == count


@given(ORDERS, ORDERS)
def test_unmoved_blocks_are_in_the_same_order_on_both_sides(prior: list[int], now: list[int]) -> None:
    kept = unmoved_keys(rank_changes(prior, now))
    assert [key for key in prior if key in kept] == [key for key in now if key in kept] == kept
    assert bool(kept) == bool(set(prior) & set(now))
