"""The next step for the tail of a vector index, the vectors that it does not contain yet (ADR-0123)."""

from enum import StrEnum

#: A smaller tail does not justify a rebuild.
REBUILD_ROWS_MIN = 5_000
#: A rebuild of all vectors takes a fifth of the time of insertions: worthwhile for a tail of this share of the index,
REBUILD_SHARE = 0.25
#: and for a tail as large as the index while more is being loaded, because another rebuild will follow soon.
GROWING_REBUILD_SHARE = 1.0
#: A growing tail is not shortened up to this size, which a search reads in about 9 ms.
GROWING_TAIL_MAX = 20_000
#: More new vectors than this between two checks mean that a load is in progress.
GROWTH_ROWS = 500


class TailStep(StrEnum):
    """The next step for the tail."""

    REBUILD = "rebuild"
    INSERT = "insert"
    WAIT = "wait"


def next_tail_step(*, tail: int, former_tail: int, indexed: int, can_rebuild: bool) -> TailStep:
    """Return the cheapest step for a tail of that many vectors; `former_tail` is its length at the previous check."""
    is_growing = tail > former_tail + GROWTH_ROWS
    share = GROWING_REBUILD_SHARE if is_growing else REBUILD_SHARE
    if can_rebuild and tail >= max(REBUILD_ROWS_MIN, share * indexed):
        return TailStep.REBUILD
    return TailStep.WAIT if not tail or (is_growing and tail <= GROWING_TAIL_MAX) else TailStep.INSERT
