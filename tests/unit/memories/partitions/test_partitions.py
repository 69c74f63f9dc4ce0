"""Partition paths: parsing, canonical form, subtrees."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.partitions.paths import (
    MAX_DEPTH,
    PartitionError,
    PartitionPath,
    is_within,
    parse_partition,
    partition_from_ids,
    subtree_bounds,
)

KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12)
PARTITIONS = st.lists(st.tuples(KEYS, VALUES), max_size=MAX_DEPTH).map(lambda segments: PartitionPath(tuple(segments)))


def test_the_empty_path_is_the_root():
    root = parse_partition("")
    assert (root.path, root.depth, root.segments, root.ancestors()) == ("", 0, (), ())


def test_segments_keep_their_order():
    partition = parse_partition("user=alex/topic=meetings")
    assert partition.segments == (("user", "alex"), ("topic", "meetings"))
    assert str(partition) == partition.path == "user=alex/topic=meetings"
    assert partition.depth == 2


def test_ancestors_run_from_the_root_down():
    assert [above.path for above in parse_partition("a=1/b=2/c=3").ancestors()] == ["", "a=1", "a=1/b=2"]


@pytest.mark.parametrize(
    ("given_path", "canonical", "value"),
    [
        ("a=x%2fy", "a=x%2Fy", "x/y"),
        ("a=x%2Fy", "a=x%2Fy", "x/y"),
        ("a=%41", "a=A", "A"),
        ("a=50%25", "a=50%25", "50%"),
        ("a=x%3Dy", "a=x%3Dy", "x=y"),
        ("a=%0A", "a=%0A", "\n"),
        ("a=%C2%85", "a=%C2%85", "\x85"),
        ("a=Jos%C3%A9", "a=José", "José"),
        ("a=Иван Петров", "a=Иван Петров", "Иван Петров"),
        ("a=..", "a=..", ".."),
    ],
)
def test_any_valid_encoding_becomes_canonical(given_path, canonical, value):
    partition = parse_partition(given_path)
    assert partition.path == canonical
    assert partition.segments == (("a", value),)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/", "bad_segment"),
        ("a=1/", "bad_segment"),
        ("/a=1", "bad_segment"),
        ("a=1//b=2", "bad_segment"),
        ("user", "bad_segment"),
        ("a=1=2", "bad_segment"),
        (None, "bad_segment"),
        ("=1", "bad_key"),
        ("A=1", "bad_key"),
        ("1a=1", "bad_key"),
        ("a b=1", "bad_key"),
        ("a\n=1", "bad_key"),
        ("ключ=1", "bad_key"),
        ("k" * 33 + "=1", "bad_key"),
        ("a=", "bad_value"),
        ("a=" + "x" * 129, "bad_value"),
        ("a=x\ny", "bad_value"),
        ("a=%00", "bad_value"),
        ("a=\ud800", "bad_encoding"),
        ("a=%", "bad_encoding"),
        ("a=%4", "bad_encoding"),
        ("a=%zz", "bad_encoding"),
        ("a=%FF", "bad_encoding"),
        ("a=%ED%A0%80", "bad_encoding"),
        ("/".join(f"k{n}=v" for n in range(MAX_DEPTH + 1)), "too_deep"),
        pytest.param("/".join(f"k{n}=" + "猫" * 128 for n in range(MAX_DEPTH)), "too_long", id="long"),
        pytest.param("a=b/" * 1_000_000, "too_long", id="endless"),
    ],
)
def test_invalid_paths_are_reported_with_a_reason(path, code):
    with pytest.raises(PartitionError) as caught:
        parse_partition(path)
    assert caught.value.code == code
    assert caught.value.detail


def test_the_longest_plain_path_is_accepted():
    path = "/".join("k" * 32 + "=" + "v" * 128 for _ in range(MAX_DEPTH))
    assert parse_partition(path).path == path


@given(PARTITIONS)
def test_canonical_text_parses_back(partition):
    assert parse_partition(partition.path) == partition
    assert not any(unicodedata.category(character) == "Cc" for character in partition.path)


def test_shorthand_ids_have_a_fixed_order():
    assert partition_from_ids(run_id="7", user_id="al/ex").path == "user=al%2Fex/run=7"
    assert partition_from_ids("u", "a", "r").path == "user=u/agent=a/run=r"
    assert partition_from_ids() == parse_partition("")


@pytest.mark.parametrize("value", ["", "x" * 129, "\x00", 7])
def test_shorthand_ids_are_checked(value):
    with pytest.raises(PartitionError):
        partition_from_ids(user_id=value)


@pytest.mark.parametrize(
    ("path", "prefix", "expected"),
    [
        ("", "", True),
        ("a=1", "", True),
        ("a=1", "a=1", True),
        ("a=1/b=2", "a=1", True),
        ("a=1", "a=1/b=2", False),
        ("a=12", "a=1", False),
        ("a=1-2", "a=1", False),
        ("", "a=1", False),
    ],
)
def test_within_is_by_whole_segments(path, prefix, expected):
    assert is_within(path, prefix) is expected


@given(PARTITIONS, PARTITIONS)
def test_bounds_agree_with_within(candidate, partition):
    low, high = (bound.encode() for bound in subtree_bounds(partition.path))
    is_in_range = low <= candidate.path.encode() < high
    assert (is_in_range or candidate == partition) == is_within(candidate.path, partition.path)


@given(PARTITIONS)
def test_every_partition_is_in_the_range_of_each_ancestor(partition):
    for above in partition.ancestors():
        low, high = (bound.encode() for bound in subtree_bounds(above.path))
        assert low <= partition.path.encode() < high


def test_neighbours_with_the_same_beginning_are_outside_the_bounds():
    low, high = subtree_bounds("user=al")
    assert not any(low <= path < high for path in ("user=al-2", "user=al.b", "user=alex", "user=al", "user=al!"))
    assert low <= "user=al/topic=x" < high
