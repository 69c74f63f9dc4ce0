"""Which words of a query a row must contain to be ranked."""

from memories.services.search.planner import (
    MATCHED_ROWS_MAX,
    NEWEST_ROWS,
    TextQuery,
    match_all,
    match_rarest,
    significant_lexemes,
)


def test_stop_words_are_queried_only_if_there_are_no_other_words() -> None:
    assert significant_lexemes(["=the", "dog"]) == ["dog"]
    assert significant_lexemes(["=of", "=the"]) == ["=of", "=the"]
    assert significant_lexemes([]) == []


def test_rare_words_are_all_matched() -> None:
    asked = match_rarest(["b", "a"], {"a": 2, "b": MATCHED_ROWS_MAX - 2})
    assert asked == TextQuery(["b", "a"], ["a", "b"])
    assert not asked.has_dropped


def test_words_beyond_the_limit_rank_but_do_not_match() -> None:
    asked = match_rarest(["common", "less", "rare"], {"common": MATCHED_ROWS_MAX, "less": 10})
    assert (asked.lexemes, asked.matched, asked.newest) == (["common", "less", "rare"], ["rare", "less"], None)
    assert asked.has_dropped


def test_common_words_alone_are_matched_in_the_newest_rows() -> None:
    asked = match_rarest(["x", "y"], {"x": MATCHED_ROWS_MAX + 2, "y": MATCHED_ROWS_MAX + 1})
    assert asked == TextQuery(["x", "y"], ["x", "y"], NEWEST_ROWS)
    assert asked.has_dropped
    assert match_rarest(["x"], {"x": MATCHED_ROWS_MAX}).newest is None


def test_equally_common_words_are_taken_in_a_fixed_order() -> None:
    common = dict.fromkeys("abc", MATCHED_ROWS_MAX - 1)
    assert match_rarest(["c", "a", "b"], common).matched == match_rarest(["b", "c", "a"], common).matched == ["a"]


def test_empty_query_matches_nothing() -> None:
    assert match_rarest([], {}) == match_all([]) == TextQuery([], [])
