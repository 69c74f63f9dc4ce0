"""The cache of the rows that control contexts: valid for one revision, bounded, by tenant."""

from uuid import UUID, uuid4

from context.assembly.settings_cache import SettingsCache

TENANT = UUID(int=1)


class Source:
    """Counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self) -> int:
        self.reads += 1
        return self.reads


def test_a_value_is_read_once_for_each_revision() -> None:
    cache, source = SettingsCache(), Source()
    assert [cache.get(TENANT, revision, "memo", source.read) for revision in (3, 3, 4, 4)] == [1, 1, 2, 2]


def test_without_a_revision_nothing_is_kept() -> None:
    cache, source = SettingsCache(), Source()
    assert [cache.get(TENANT, None, "memo", source.read) for _ in range(2)] == [1, 2]
    assert len(cache) == 0


def test_tenants_and_keys_have_their_own_values() -> None:
    cache, source = SettingsCache(), Source()
    places = [(TENANT, "memo"), (TENANT, "profile"), (uuid4(), "memo")]
    assert [cache.get(tenant, 1, key, source.read) for tenant, key in places] == [1, 2, 3]
    assert [cache.get(tenant, 1, key, source.read) for tenant, key in places] == [1, 2, 3]


def test_none_is_a_value() -> None:
    cache, reads = SettingsCache(), []
    for _ in range(2):
        assert cache.get(TENANT, 1, "memo", lambda: reads.append(1)) is None
    assert len(reads) == 1


def test_the_least_recently_used_entry_is_evicted_first() -> None:
    cache, source = SettingsCache(entries_max=2), Source()
    for key in ("a", "b", "a", "c"):
        cache.get(TENANT, 1, key, source.read)
    assert len(cache) == 2
    assert cache.get(TENANT, 1, "a", source.read) == 1
    assert cache.get(TENANT, 1, "b", source.read) == 4


def test_an_earlier_revision_read_late_is_not_served_to_a_later_one() -> None:
    cache, source = SettingsCache(), Source()
    cache.get(TENANT, 2, "memo", source.read)
    cache.get(TENANT, 1, "memo", source.read)
    assert cache.get(TENANT, 2, "memo", source.read) == 3
