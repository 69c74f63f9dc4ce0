"""What happens to vectors that the index does not contain yet."""

import pytest

from memories.services.search.index_upkeep import TailStep, next_tail_step


@pytest.mark.parametrize(
    ("tail", "former_tail", "indexed", "step"),
    [
        (0, 0, 100_000, TailStep.WAIT),
        (1, 0, 100_000, TailStep.INSERT),
        (4_999, 4_999, 0, TailStep.INSERT),
        (5_000, 4_999, 0, TailStep.REBUILD),
        (24_999, 24_999, 100_000, TailStep.INSERT),
        (25_000, 24_999, 100_000, TailStep.REBUILD),
        # a load is going on
        (500, 0, 100_000, TailStep.INSERT),
        (501, 0, 100_000, TailStep.WAIT),
        (20_000, 10_000, 100_000, TailStep.WAIT),
        (30_000, 10_000, 100_000, TailStep.INSERT),
        (100_000, 80_000, 100_000, TailStep.REBUILD),
        (5_000, 0, 5_000, TailStep.REBUILD),
    ],
)
def test_tail_is_put_into_the_index_in_the_cheapest_way(
    tail: int, former_tail: int, indexed: int, step: TailStep
) -> None:
    assert next_tail_step(tail=tail, former_tail=former_tail, indexed=indexed, can_rebuild=True) is step


def test_tail_is_inserted_where_nothing_can_be_rebuilt() -> None:
    assert next_tail_step(tail=50_000, former_tail=50_000, indexed=0, can_rebuild=False) is TailStep.INSERT
