"""Rows that affect every context, cached in the process until the tenant's revision changes (ADR-0116).

The profiles, their assignments, the embedding model, the memo and the partition summaries change rarely. Triggers on
their tables count every change in `Tenant.settings_revision`, in the transaction of the change. Authentication reads
that number with the key, so checking it needs no query, and no process serves rows that another one has replaced.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar
from uuid import UUID

#: Maximum entries of a process; the least recently used one is evicted first.
ENTRIES_MAX = 2_000

_Value = TypeVar("_Value")


class SettingsCache:
    """Rows that were read, by tenant and key, each with the revision that was current before the read."""

    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        self._entries: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._entries_max = entries_max
        self._lock = Lock()

    def get(self, tenant_id: UUID, revision: int | None, key: Hashable, read: Callable[[], _Value]) -> _Value:
        """Return what `read` returned for this key at this revision, else read it; None for `revision` always reads.

        The revision must have been read earlier than the rows: changes since then are read again with the next
        revision.
        """
        if revision is None:
            return read()
        place = (tenant_id, key)
        with self._lock:
            known = self._entries.get(place)
            if known is not None and known[0] == revision:
                self._entries.move_to_end(place)
                value: _Value = known[1]
                return value
        value = read()
        with self._lock:
            self._entries[place] = (revision, value)
            self._entries.move_to_end(place)
            while len(self._entries) > self._entries_max:
                self._entries.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._entries)


settings_cache = SettingsCache()
