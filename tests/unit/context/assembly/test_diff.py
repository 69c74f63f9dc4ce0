"""The difference between two contexts, by anchors alone."""

from hypothesis import given
from hypothesis import strategies as st

from context.services.diff import AnchorDiff, diff_anchors

anchors = st.lists(st.integers(0, 12))


def test_added_and_kept_come_in_the_new_order_and_removed_in_the_old() -> None:
    assert diff_anchors(["a", "b", "c", "d"], ["d", "e", "b", "f"]) == (["e", "f"], ["a", "c"], ["d", "b"])


def test_edited_memory_is_added_and_removed() -> None:
    first, second = ({"type": "memory", "id": "m", "version": version} for version in (1, 2))
    assert diff_anchors([first], [second]) == AnchorDiff(added=[second], removed=[first], kept=[])


def test_anchor_depends_on_its_values_not_on_the_order_of_its_names() -> None:
    assert diff_anchors([{"id": "m", "version": [1]}], [{"version": [1], "id": "m"}]).kept


def test_nothing_against_nothing_is_nothing() -> None:
    assert diff_anchors([], []) == ([], [], [])


@given(anchors, anchors)
def test_every_anchor_is_in_exactly_one_list_and_once(prior: list[int], now: list[int]) -> None:
    added, removed, kept = diff_anchors(prior, now)
    assert set(added) | set(kept) == set(now)
    assert set(removed) | set(kept) == set(prior)
    listed = [*added, *removed, *kept]
    assert len(listed) == len(set(listed))
    assert added == [anchor for anchor in dict.fromkeys(now) if anchor in added]
    assert removed == [anchor for anchor in dict.fromkeys(prior) if anchor in removed]


@given(anchors)
def test_the_same_context_keeps_everything(now: list[int]) -> None:
    assert diff_anchors(now, now) == ([], [], list(dict.fromkeys(now)))
