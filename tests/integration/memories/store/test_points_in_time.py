"""Reading any point in time: the version of each memory at that time, by valid and by recorded time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.models import Memory, MemoryLink, MemoryVersion, Tenant, TenantMemo
from memories.partitions.actions import link_memories, set_tenant_memo, unlink_memories
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant

pytestmark = pytest.mark.django_db


def at(hours: float) -> datetime:
    return FACTORY_NOW + timedelta(hours=hours)


def stored_versions(tenant: Tenant, moment: PointInTime) -> set[tuple[UUID, int]]:
    """Return (memory, version) of every row of both tables at that time, none twice; inside a scope."""
    heads = Memory.objects.for_tenant(tenant.pk).at(moment).values_list("pk", "version")
    versions = MemoryVersion.objects.for_tenant(tenant.pk).at(moment).values_list("memory_id", "version")
    rows = [*heads, *versions]
    assert len({pk for pk, _ in rows}) == len(rows)
    return set(rows)


# --- A table of histories: changes, their times, and the version that is valid at each hour --------------------------

Step = tuple[str, float, dict[str, float]]


def live_through(tenant: Tenant, steps: list[Step]) -> Memory:
    """Hours count from NOW."""
    (_, hour, options), *rest = steps
    times = {name: at(value) for name, value in options.items()}
    memory = make_memory(tenant, "version 1", now=at(hour), **times)
    for number, (verb, hour, options) in enumerate(rest, start=2):
        with tenant_scope(tenant.pk):
            match verb:
                case "edit":
                    changes = {name: at(value) for name, value in options.items()} | {"content": f"edit {number}"}
                    update_memory(memory=memory, changes=changes, by=TESTER, now=at(hour))
                case "archive":
                    archive_memory(memory=memory, by=TESTER, now=at(hour))
                case "restore":
                    restore_memory(memory=memory, by=TESTER, now=at(hour))
    return memory


#: name -> (steps, version by hour in valid time, in recorded time); 0 is none.
HISTORIES: dict[str, tuple[list[Step], dict[float, int], dict[float, int]]] = {
    "stored": ([("store", 1, {})], {0: 0, 1: 1, 9: 1}, {0: 0, 1: 1, 9: 1}),
    "edited": (
        [("store", 1, {}), ("edit", 3, {}), ("edit", 5, {})],
        {0.9: 0, 1: 1, 2.9: 1, 3: 2, 4.9: 2, 5: 3},
        {0.9: 0, 1: 1, 2.9: 1, 3: 2, 4.9: 2, 5: 3},
    ),
    "back-dated": (
        [("store", 5, {"created_at": 1}), ("edit", 7, {})],
        {0.9: 0, 1: 1, 6.9: 1, 7: 2},
        {1: 0, 4.9: 0, 5: 1, 6.9: 1, 7: 2},
    ),
    "said to be of later": ([("store", 2, {"created_at": 4})], {1.9: 0, 2: 1, 4: 1}, {1.9: 0, 2: 1, 4: 1}),
    "archived": ([("store", 1, {}), ("archive", 3, {})], {1: 1, 2.9: 1, 3: 0, 9: 0}, {1: 1, 2.9: 1, 3: 0, 9: 0}),
    "restored, with a gap": (
        [("store", 1, {}), ("archive", 3, {}), ("restore", 5, {})],
        {2.9: 1, 3: 0, 4.9: 0, 5: 2, 9: 2},
        {2.9: 1, 3: 0, 4.9: 0, 5: 2, 9: 2},
    ),
    "edited, archived, restored, archived": (
        [("store", 1, {}), ("edit", 2, {}), ("archive", 3, {}), ("restore", 4, {}), ("archive", 5, {})],
        {1: 1, 2: 2, 3: 0, 4: 3, 4.9: 3, 5: 0},
        {1: 1, 2: 2, 3: 0, 4: 3, 4.9: 3, 5: 0},
    ),
    "expired": ([("store", 1, {"expires_at": 3})], {1: 1, 2.9: 1, 3: 0, 9: 0}, {1: 1, 2.9: 1, 3: 0, 9: 0}),
    "expired before it was recorded": (
        [("store", 5, {"created_at": 1, "expires_at": 6})],
        {1: 1, 5: 1, 5.9: 1, 6: 0},
        {1: 0, 5: 1, 5.9: 1, 6: 0},
    ),
    "given longer when it had expired": (
        [("store", 1, {"expires_at": 3}), ("edit", 5, {"expires_at": 8})],
        {2.9: 1, 3: 0, 4.9: 0, 5: 2, 7.9: 2, 8: 0},
        {2.9: 1, 3: 0, 4.9: 0, 5: 2, 7.9: 2, 8: 0},
    ),
    "archived after it had expired": (
        [("store", 1, {"expires_at": 3}), ("archive", 5, {}), ("restore", 6, {})],
        {2.9: 1, 3: 0, 5: 0, 6: 0},
        {2.9: 1, 3: 0, 5: 0, 6: 0},
    ),
    "edited by a clock that is behind": (
        [("store", 3, {}), ("edit", 1, {})],
        {1: 0, 2.9: 0, 3: 2},
        {1: 0, 2.9: 0, 3: 2},
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_read_back(tenant: Tenant, name: str) -> None:
    steps, valid, recorded = HISTORIES[name]
    memory = live_through(tenant, steps)
    with tenant_scope(tenant.pk):
        for kind, expected in ((PointInTime.valid, valid), (PointInTime.recorded, recorded)):
            found = {hour: dict(stored_versions(tenant, kind(at(hour)))).get(memory.pk, 0) for hour in expected}
            assert found == expected, kind.__name__


def test_present_is_what_is_live_and_no_superseded_row(tenant: Tenant) -> None:
    memory = live_through(tenant, HISTORIES["edited"][0])
    live_through(make_tenant(), HISTORIES["edited"][0])
    gone = live_through(tenant, [("store", 1, {}), ("archive", 3, {})])
    with tenant_scope(tenant.pk):
        assert stored_versions(tenant, PointInTime.now(at(6))) == {(memory.pk, 3)}
        assert stored_versions(tenant, PointInTime.recorded(at(2))) == {(memory.pk, 1), (gone.pk, 1)}


# --- Any history, compared with a simple model -----------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """One version as a list of spans."""

    version: int
    valid_from: datetime
    recorded_from: datetime
    expires_at: datetime | None
    ended_at: datetime | None = None

    def holds(self, begins: datetime, moment: datetime) -> bool:
        is_begun = begins <= moment and (self.ended_at is None or moment < self.ended_at)
        return is_begun and (self.expires_at is None or moment < self.expires_at)

    def ended(self, now: datetime) -> "Span":
        return replace(self, ended_at=max(now, self.valid_from, self.recorded_from))


@dataclass
class MemoryHistory:
    """A memory and its spans."""

    memory: Memory
    spans: list[Span]

    def act(self, verb: str, now: datetime, lasts: int | None) -> None:
        last = self.spans[-1]
        options = {"memory": self.memory, "by": TESTER, "now": now}
        if verb == "archive" and last.ended_at is None:
            archive_memory(**options)
            self.spans[-1] = last.ended(now)
        elif verb == "restore" and last.ended_at is not None:
            restore_memory(**options)
            begin = max(now, last.ended_at)
            self.spans.append(Span(last.version + 1, begin, begin, last.expires_at))
        elif verb == "edit" and last.ended_at is None:
            self._edit(last, now, None if lasts is None else max(now, self.memory.created_at) + timedelta(hours=lasts))

    def _edit(self, last: Span, now: datetime, expires_at: datetime | None) -> None:
        changes = {"content": f"{self.memory.pk} text {len(self.spans)}", "expires_at": expires_at}
        update_memory(memory=self.memory, changes=changes, by=TESTER, now=now)
        self.spans[-1] = done = last.ended(now)
        assert done.ended_at is not None
        self.spans.append(Span(last.version + 1, done.ended_at, done.ended_at, expires_at))


HOURS = st.integers(0, 12)
LASTS = st.none() | st.integers(1, 6)
ACTS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["edit", "archive", "restore"]), HOURS, LASTS), max_size=8)
STARTS = st.lists(st.tuples(HOURS, st.integers(-6, 3), LASTS), min_size=1, max_size=3)
_texts = count()


def begin(tenant: Tenant, hour: int, ago: int, lasts: int | None) -> MemoryHistory:
    now, created_at = at(hour), at(hour + ago)
    expires_at = None if lasts is None else max(now, created_at) + timedelta(hours=lasts)
    text = f"story {next(_texts)}"
    row = NewMemory(text, created_at=created_at, expires_at=expires_at)
    (result,) = store_memories(tenant=tenant, rows=[row], by=TESTER, now=now)
    assert result.memory is not None
    return MemoryHistory(result.memory, [Span(1, min(created_at, now), now, expires_at)])


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(starts=STARTS, acts=ACTS)
def test_any_history_is_read_back_at_every_hour(db: None, starts: list, acts: list) -> None:
    tenant = make_tenant()
    with tenant_scope(tenant.pk):
        histories = [begin(tenant, *start) for start in starts]
        for index, verb, hour, lasts in acts:
            histories[index % len(histories)].act(verb, at(hour), lasts)
        # All changes happen on a full hour, so nothing can differ between two of them.
        for hour in map(at, range(-7, 21)):
            assert stored_versions(tenant, PointInTime.valid(hour)) == expected_versions(
                histories, hour, lambda span: span.valid_from
            )
            assert stored_versions(tenant, PointInTime.recorded(hour)) == expected_versions(
                histories, hour, lambda span: span.recorded_from
            )


def expected_versions(
    histories: list[MemoryHistory], moment: datetime, begins: Callable[[Span], datetime]
) -> set[tuple[UUID, int]]:
    return {
        (story.memory.pk, span.version)
        for story in histories
        for span in story.spans
        if span.holds(begins(span), moment)
    }


# --- Rows with a single interval -------------------------------------------------------------------------------------


def test_memo_and_links_are_read_by_recorded_time(tenant: Tenant) -> None:
    source, target = make_memory(tenant), make_memory(tenant)
    with tenant_scope(tenant.pk):
        for hour in (1, 3):
            set_tenant_memo(tenant=tenant, content=f"memo of {hour}", by=TESTER, now=at(hour))
        link = link_memories(source=source, target=target, kind="about", by=TESTER, now=at(2))
        unlink_memories(link=link, by=TESTER, now=at(4))
        for moment in (PointInTime.valid, PointInTime.recorded):
            memos = TenantMemo.objects.for_tenant(tenant.pk)
            found = [[memo.content for memo in memos.at(moment(at(hour)))] for hour in (0.9, 1, 2.9, 3, 9)]
            assert found == [[], ["memo of 1"], ["memo of 1"], ["memo of 3"], ["memo of 3"]]
            links = MemoryLink.objects.for_tenant(tenant.pk)
            assert [links.at(moment(at(hour))).count() for hour in (1.9, 2, 3.9, 4)] == [0, 1, 1, 0]
        assert TenantMemo.objects.for_tenant(tenant.pk).at(PointInTime.now(at(0))).get().content == "memo of 3"
        assert MemoryLink.objects.for_tenant(tenant.pk).at(PointInTime.now(at(0))).count() == 0
