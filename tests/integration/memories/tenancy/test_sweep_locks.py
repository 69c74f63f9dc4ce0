"""Locks of sweeps: one owner, which alone gives the lock back."""

from django.core.cache import cache

from memories.tenancy.sweep_locks import sweep_lock

NAME = "test.sweep"


def test_second_sweep_does_nothing_and_the_next_one_runs() -> None:
    with sweep_lock(NAME) as first, sweep_lock(NAME) as second:
        assert first is not None
        assert second is None
        assert first.renew()
    with sweep_lock(NAME) as third:
        assert third is not None


def test_sweep_whose_lock_expired_notices_and_leaves_the_lock_of_the_next() -> None:
    with sweep_lock(NAME) as first:
        assert first is not None
        cache.delete(NAME)  # as it expires
        with sweep_lock(NAME) as second:
            assert second is not None
            assert not first.renew()
            assert second.renew()
        cache.set(NAME, "another owner", 10)
    assert cache.get(NAME) == "another owner"
    cache.delete(NAME)
