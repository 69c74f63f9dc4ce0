"""Locks of sweeps have one owner, and only the owner releases the lock."""

from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache

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


@pytest.mark.parametrize("change", ["renew", "release"])
def test_owner_cannot_change_between_the_check_and_the_change(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, taken_over = RedisCache.get, []

    def read_and_lose_the_lock(self: RedisCache, key: str, *args: Any, **kwargs: Any) -> Any:
        value = read(self, key, *args, **kwargs)
        self.set(key, "another owner", 10)
        taken_over.append(key)
        return value

    with sweep_lock(NAME) as lock:
        assert lock is not None
        with monkeypatch.context() as patched:
            patched.setattr(RedisCache, "get", read_and_lose_the_lock)
            assert getattr(lock, change)()
    assert taken_over == []
    assert cache.get(NAME) is None
