"""The inclusion budget: the smallest if all budgets were tested, and never one whose context excludes the item."""

from hypothesis import given
from hypothesis import strategies as st

from context.services.workbench.inclusion_budget import InclusionPoint, smallest_inclusion_budget


@given(st.integers(0, 500), st.integers(1, 900))
def test_smallest_budget_is_found_where_more_never_hurts(above: int, gap: int) -> None:
    found = smallest_inclusion_budget(
        lambda budget: budget >= above + gap, above=above, highest=above + 1000, tested_max=1000
    )
    assert found == InclusionPoint(above + gap, is_smallest=True)


@given(st.sets(st.integers(101, 300), min_size=1))
def test_every_budget_is_looked_at_where_there_are_few(standing: set[int]) -> None:
    found = smallest_inclusion_budget(standing.__contains__, above=100, highest=300, tested_max=200)
    assert found == InclusionPoint(min(standing), is_smallest=True)


@given(st.sets(st.integers(101, 4000), min_size=1))
def test_extracted_facts_occur_in_the_text(standing: set[int]) -> None:
    found = smallest_inclusion_budget(standing.__contains__, above=100, highest=4000, tested_max=50)
    assert found is None or found.budget in standing
    if found and found.is_smallest:
        assert found.budget == min(standing)


def test_distant_budget_is_found_by_binary_search_and_marked_as_such() -> None:
    found = smallest_inclusion_budget(lambda budget: budget >= 5_000, above=100, highest=32_000, tested_max=50)
    assert found == InclusionPoint(5_000, is_smallest=False)


def test_what_never_enters_is_none() -> None:
    nowhere: set[int] = set()
    assert smallest_inclusion_budget(nowhere.__contains__, above=10, highest=4_000, tested_max=100) is None
    assert smallest_inclusion_budget({10, 11}.__contains__, above=10, highest=10, tested_max=100) is None


def test_no_budget_is_packed_twice() -> None:
    asked: list[int] = []

    def enters(budget: int) -> bool:
        asked.append(budget)
        return budget >= 700

    smallest_inclusion_budget(enters, above=100, highest=2_000, tested_max=900)
    assert len(asked) == len(set(asked))


def test_search_ends_when_its_time_is_over() -> None:
    asked: list[int] = []

    def enters(budget: int) -> bool:
        asked.append(budget)
        return False

    assert (
        smallest_inclusion_budget(enters, above=0, highest=4_000, tested_max=600, is_over=lambda: len(asked) >= 20)
        is None
    )
    assert len(asked) == 20
