"""Whether texts are near-duplicates, by the cosine of their vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.assembly.near_duplicates import NearDuplicates


def direction(degrees: float) -> "np.ndarray":
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def likeness(threshold: float = 0.97, **degrees: float) -> NearDuplicates:
    vectors = {key: direction(value) for key, value in degrees.items()}
    return NearDuplicates(vectors, threshold, lambda _: "The door code is 4711.")


@pytest.mark.parametrize(("degrees", "is_near"), [(0, True), (14, True), (15, False), (90, False), (180, False)])
def test_near_means_above_the_threshold(degrees: float, is_near: bool) -> None:
    # the cosine of 14 degrees is .9703
    assert (likeness(a=0, b=degrees).twin_of("b", ["a"]) == "a") is is_near


def test_a_threshold_of_one_leaves_everything() -> None:
    assert not likeness(1.0, a=33, b=33).twin_of("a", ["b"])


def test_item_is_not_near_itself_and_unknown_ones_are_like_nothing() -> None:
    pair = likeness(a=0, b=0)
    assert not pair.twin_of("a", ["a"])
    assert not pair.twin_of("a", ["unknown"])
    assert not pair.twin_of("unknown", ["a", "b"])
    assert NearDuplicates({}, 0.97).repeats(["a"]) == set()


def test_first_of_several_near_ones_is_named() -> None:
    alike = likeness(a=0, b=1, c=2, d=90)
    assert alike.twin_of("a", ["d", "unknown", "a", "c", "b"]) == "c"


def test_of_equal_ones_the_best_stays() -> None:
    assert likeness(a=0, b=90, c=1, d=2).repeats(["d", "a", "b", "c", "unknown"]) == {"a", "c"}


def test_near_duplicate_of_a_removed_text_stays() -> None:
    # b is near a, c is near b but not near a
    assert likeness(a=0, b=10, c=20).repeats(["a", "b", "c"]) == {"b"}


def test_with_tokens_a_longer_better_one_does_not_hide_a_shorter() -> None:
    pair = likeness(a=0, b=0)
    assert pair.repeats(["a", "b"], {"a": 50, "b": 10}) == set()
    assert pair.repeats(["a", "b"], {"a": 10, "b": 10}) == {"b"}


@given(st.lists(st.integers(0, 359), min_size=1, max_size=12), st.floats(0.5, 1))
def test_remaining_texts_differ_and_removed_ones_resemble_a_remaining_one(degrees: list[int], threshold: float) -> None:
    names = [f"i{place}" for place in range(len(degrees))]
    alike = likeness(threshold, **dict(zip(names, degrees, strict=True)))
    gone = alike.repeats(names)
    stays = [name for name in names if name not in gone]
    assert not any(alike.twin_of(name, stays) for name in stays)
    assert all(alike.twin_of(name, stays) for name in gone)
