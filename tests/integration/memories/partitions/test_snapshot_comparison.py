"""Comparison of two points in time: what was added, changed and removed, counted and listed by the database."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import Memory, Tenant
from memories.partitions.snapshot_comparison import SnapshotDiff, diff_points_in_time
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory

pytestmark = pytest.mark.django_db


def at(hours: float) -> datetime:
    return FACTORY_NOW + timedelta(hours=hours)


def compare(tenant: Tenant, before: PointInTime, after: PointInTime, **options: Any) -> SnapshotDiff:
    with tenant_scope(tenant.pk):
        return diff_points_in_time(tenant_id=tenant.pk, before=before, after=after, **{"reach": ""} | options)


def texts_by_kind(found: SnapshotDiff) -> dict[str, list[tuple[str | None, str | None]]]:
    """Return the texts before and after of each list, sorted."""
    return {
        kind: sorted((row.before and row.before.content, row.after and row.after.content) for row in rows)
        for kind, rows in found.changes.items()
    }


def edit(memory: Memory, hours: float, **changes: Any) -> None:
    with tenant_scope(memory.tenant_id):
        update_memory(memory=memory, changes=changes, by=TESTER, now=at(hours))


def archive(memory: Memory, hours: float) -> None:
    with tenant_scope(memory.tenant_id):
        archive_memory(memory=memory, by=TESTER, now=at(hours))


@pytest.fixture
def changed_memories(tenant: Tenant, other_tenant: Tenant) -> dict[str, Memory]:
    """Hour 0 and hour 4, and every kind of change in between."""
    names = ("kept", "edited", "edited twice", "archived", "restored")
    memories = {name: make_memory(tenant, name, now=at(0)) for name in names}
    memories["moved"] = make_memory(tenant, "moved", now=at(0), partition="user=alex")
    make_memory(tenant, "expired", now=at(0), expires_at=at(2))
    edit(memories["edited"], 1, content="edited text")
    for hour in (1, 2):
        edit(memories["edited twice"], hour, content=f"edit {hour}")
    archive(memories["archived"], 2)
    archive(memories["restored"], 1)
    with tenant_scope(tenant.pk):
        restore_memory(memory=memories["restored"], by=TESTER, now=at(2))
    edit(memories["moved"], 3, partition=parse_partition("user=sam"))
    make_memory(tenant, "new", now=at(3))
    make_memory(tenant, "imported", now=at(3), created_at=at(-9))
    archive(make_memory(tenant, "in between", now=at(1)), 3)
    make_memory(other_tenant, "foreign", now=at(3))
    return memories


def test_everything_that_happened_is_reported(tenant: Tenant, changed_memories: dict[str, Memory]) -> None:
    found = compare(tenant, PointInTime.recorded(at(0)), PointInTime.recorded(at(4)))
    assert texts_by_kind(found) == {
        "added": [(None, "imported"), (None, "new")],
        "changed": [
            ("edited", "edited text"),
            ("edited twice", "edit 2"),
            ("moved", "moved"),
            ("restored", "restored"),
        ],
        "removed": [("archived", None), ("expired", None)],
    }
    assert found.counts == {"added": 2, "changed": 4, "removed": 2}
    assert found.follows == []
    (twice,) = [row for row in found.changes["changed"] if row.memory_id == changed_memories["edited twice"].pk]
    assert twice.before is not None
    assert twice.after is not None
    assert (twice.before.version, twice.after.version) == (1, 3)


def test_comparison_reads_backwards_and_against_now_and_valid_time(
    tenant: Tenant, changed_memories: dict[str, Memory]
) -> None:
    back = compare(tenant, PointInTime.recorded(at(4)), PointInTime.recorded(at(0)))
    assert back.counts == {"added": 2, "changed": 4, "removed": 2}
    assert texts_by_kind(back)["removed"] == [("imported", None), ("new", None)]
    forward = compare(tenant, PointInTime.recorded(at(0)), PointInTime.recorded(at(4)))
    assert texts_by_kind(compare(tenant, PointInTime.recorded(at(0)), PointInTime.now(at(4)))) == texts_by_kind(forward)
    assert texts_by_kind(compare(tenant, PointInTime.valid(at(0)), PointInTime.valid(at(4))))["added"] == [
        (None, "new")
    ]
    same = compare(tenant, PointInTime.recorded(at(4)), PointInTime.now(at(4)))
    assert same.counts == {"added": 0, "changed": 0, "removed": 0}
    assert same.changes == {"added": [], "changed": [], "removed": []}


@pytest.mark.parametrize(
    ("reach", "expected"),
    [("user=alex", ("removed", ("moved", None))), ("user=sam", ("added", (None, "moved"))), ("user=nobody", None)],
)
def test_comparison_ends_where_the_reach_ends(
    tenant: Tenant, changed_memories: dict[str, Memory], reach: str, expected: Any
) -> None:
    found = texts_by_kind(compare(tenant, PointInTime.recorded(at(0)), PointInTime.recorded(at(4)), reach=reach))
    kind, row = expected or ("added", None)
    assert found == {"added": [], "changed": [], "removed": []} | ({kind: [row]} if row else {})


def store_many(tenant: Tenant, count: int, hours: float) -> None:
    rows = [NewMemory(f"text {number} of {hours}") for number in range(count)]
    with tenant_scope(tenant.pk):
        store_memories(tenant=tenant, rows=rows, by=TESTER, now=at(hours))


def test_lists_are_bounded_and_read_page_by_page(tenant: Tenant) -> None:
    store_many(tenant, 3, 0)
    store_many(tenant, 12, 2)
    moments = PointInTime.recorded(at(1)), PointInTime.recorded(at(3))
    first = compare(tenant, *moments, limit=5)
    assert (first.counts["added"], len(first.changes["added"]), first.follows) == (12, 5, ["added"])
    seen, behind = [], None
    for expected in (5, 5, 2):
        page = compare(tenant, *moments, kind="added", behind=behind, limit=5)
        rows = page.changes["added"]
        assert (len(rows), page.follows) == (expected, ["added"] if expected == 5 and len(seen) < 7 else [])
        seen += [row.memory_id for row in rows]
        behind = seen[-1]
    assert len(set(seen)) == 12
    assert seen == sorted(seen)
    assert compare(tenant, *moments, kind="removed").changes["added"] == []


def test_queries_do_not_grow_with_the_rows(tenant: Tenant, changed_memories: dict[str, Memory]) -> None:
    def count() -> int:
        with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
            diff_points_in_time(
                tenant_id=tenant.pk,
                before=PointInTime.recorded(at(0)),
                after=PointInTime.valid(at(4)),
                reach="",
                limit=100,
            )
        return len(queries)

    few = count()
    store_many(tenant, 150, 3)
    assert count() == few == 5
