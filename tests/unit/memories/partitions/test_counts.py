"""Counts of states are added up to the totals of a tenant."""

from memories.services.partitions.counts import MemoryTally, tally_memories


def test_expired_memories_are_taken_from_what_is_unarchived() -> None:
    counted = [
        ("unarchived", "fact", 10, 100),
        ("unarchived", "preference", 12, 60),
        ("unarchived", "episode", 3, 30),
        ("expired", "preference", 4, 20),
        ("expired", "episode", 3, 30),
        ("archived", "", 7, 0),
        ("pinned", "", 2, 0),
    ]
    tally = tally_memories(counted)
    assert tally == MemoryTally(
        live=18,
        tokens=140,
        pinned=2,
        archived=7,
        expired=7,
        kinds={"fact": 10, "preference": 8},
    )
    assert list(tally.kinds) == ["fact", "preference"]


def test_nothing_counted_is_nothing() -> None:
    assert tally_memories([]) == MemoryTally()
