"""Partition summaries by version and point in time; names for recorded times."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import AuditEntry, Memory, Partition, PartitionSummary, Snapshot, Tenant
from memories.partitions.actions import create_snapshot, delete_snapshot, save_summary, withdraw_summary
from memories.services.partitions.paths import parse_partition
from memories.services.store.moments import PointInTime
from memories.services.tokens import token_counts
from memories.store.readings import read_partition_summaries, read_summary
from memories.store.search_scope import SearchScope
from memories.tenancy.exceptions import Conflict, InvalidInput, StaleVersion
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory

pytestmark = pytest.mark.django_db


def at(hours: float) -> datetime:
    return FACTORY_NOW + timedelta(hours=hours)


def save(
    tenant: Tenant, content: str = "Alex likes tea.", hours: float = 0, path: str = "user=alex", **options: Any
) -> PartitionSummary:
    values: dict[str, Any] = {"style": "compact", "origin": "operator", "by": TESTER, "now": at(hours)} | options
    with tenant_scope(tenant.pk):
        return save_summary(tenant=tenant, partition=parse_partition(path), content=content, **values)


def withdraw(summary: PartitionSummary, hours: float) -> PartitionSummary:
    with tenant_scope(summary.tenant_id):
        return withdraw_summary(summary=summary, by=TESTER, now=at(hours))


def summaries(tenant: Tenant, path: str, *levels: int, reach: str = "", **options: Any) -> list[str]:
    values: dict[str, Any] = {"style": "compact", "moment": PointInTime.now(FACTORY_NOW)} | options
    scope = SearchScope(tenant.pk, reach, values["moment"])
    with tenant_scope(tenant.pk):
        found = read_partition_summaries(scope, path, levels=levels, style=values["style"])
    return [summary.content for summary in found]


# --- Summaries -----------------------------------------------------------------------------------------------------


def test_summary_makes_its_partition_and_counts_its_tokens(tenant: Tenant) -> None:
    saved = save(tenant, "  Alex likes tea. ", path="user=alex/topic=drinks")
    assert (saved.content, saved.version, saved.recorded_from, saved.recorded_to) == (
        "Alex likes tea.",
        1,
        FACTORY_NOW,
        None,
    )
    assert saved.token_counts == token_counts("Alex likes tea.")
    with tenant_scope(tenant.pk):
        assert saved.partition.path == "user=alex/topic=drinks"
        assert Partition.objects.for_tenant(tenant.pk).at(["", "user=alex"]).count() == 2
        (entry,) = AuditEntry.objects.for_tenant(tenant.pk).about(saved.summary_id)
        assert (entry.verb, entry.target_kind, entry.fields) == ("save_summary", "partition_summary", ["content"])


def test_new_text_supersedes_and_the_same_text_makes_no_version(tenant: Tenant) -> None:
    first = save(tenant, "one", 0)
    assert save(tenant, " one ", 1, origin="agent").pk == first.pk
    second = save(tenant, "two", 2, origin="rollup")
    assert (second.summary_id, second.version, second.origin) == (first.summary_id, 2, "rollup")
    with tenant_scope(tenant.pk):
        first.refresh_from_db()
    assert (first.recorded_to, second.recorded_from) == (at(2), at(2))
    other = save(tenant, "one at length", 3, style="detailed")
    assert (other.version, other.summary_id == first.summary_id) == (1, False)


def test_withdrawn_summary_continues_under_its_id(tenant: Tenant) -> None:
    first = save(tenant, "one", 0)
    assert withdraw(first, 2).recorded_to == at(2)
    withdraw(first, 5)
    again = save(tenant, "one", 1)
    assert (again.summary_id, again.version, again.recorded_from) == (first.summary_id, 2, at(2))
    withdraw(first, 5)
    assert summaries(tenant, "user=alex", 0) == ["one"]
    with tenant_scope(tenant.pk):
        verbs = AuditEntry.objects.for_tenant(tenant.pk).about(first.summary_id).values_list("verb", flat=True)
        assert sorted(verbs) == ["save_summary", "save_summary", "withdraw_summary"]


def test_clock_that_is_behind_never_makes_an_interval_end_before_it_began(tenant: Tenant) -> None:
    first = save(tenant, "one", 5)
    assert save(tenant, "two", 1).recorded_from == at(5)
    assert withdraw(save(tenant, "three", 7), 2).recorded_to == at(7)
    with tenant_scope(tenant.pk):
        first.refresh_from_db()
    assert first.recorded_to == at(5)


@pytest.mark.parametrize(
    ("options", "field", "code"),
    [
        ({"content": " \n"}, "content", "blank"),
        ({"content": "a\x00"}, "content", "null_character"),
        ({"content": "\ud800"}, "content", "lone_surrogate"),
        ({"content": "é" * 16_385}, "content", "too_long"),
        ({"style": "haiku"}, "style", "invalid_choice"),
        ({"origin": "elsewhere"}, "origin", "invalid_choice"),
    ],
)
def test_summary_that_cannot_be_kept_is_refused(tenant: Tenant, options: dict[str, str], field: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        save(tenant, **options)
    assert (caught.value.field, caught.value.code) == (field, code)
    with tenant_scope(tenant.pk):
        assert not PartitionSummary.objects.exists()


def test_summary_of_an_older_version_is_not_overwritten(tenant: Tenant) -> None:
    assert save(tenant, "one", if_version=0).version == 1
    for stale in (0, 2):
        with pytest.raises(StaleVersion):
            save(tenant, "two", if_version=stale)
    assert save(tenant, "two", if_version=1).version == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_count_versions_without_a_gap(tenant: Tenant) -> None:
    def write(number: int) -> int:
        try:
            return save(tenant, f"text {number}", number).version
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        assert sorted(threads.map(write, range(6))) == [1, 2, 3, 4, 5, 6]
    with tenant_scope(tenant.pk):
        rows = PartitionSummary.objects.for_tenant(tenant.pk)
        assert rows.current().count() == 1
        assert rows.values("summary_id").distinct().count() == 1


PATH = "team=a/user=alex/topic=x"


def test_summaries_come_from_the_root_down_at_the_wanted_levels(tenant: Tenant, other_tenant: Tenant) -> None:
    for path in (PATH, "team=a", "", "team=a/user=alex", "team=b", "team=a/user=sam"):
        save(tenant, f"summary of {path}", path=path)
    save(other_tenant, "foreign", path="team=a")
    save(tenant, "at length", path="team=a", style="detailed")
    assert summaries(tenant, PATH, 2, 0, 1) == [f"summary of {path}" for path in ("team=a", "team=a/user=alex", PATH)]
    assert summaries(tenant, PATH, 1, 7) == ["summary of team=a/user=alex"]
    assert summaries(tenant, "team=a", 0, 1, style="detailed") == ["at length"]
    assert summaries(tenant, "", 0) == summaries(tenant, PATH) == []
    assert summaries(tenant, "team=nobody", 0) == []


def test_summaries_above_the_reach_of_a_key_stay_unread(tenant: Tenant) -> None:
    saved = [save(tenant, f"summary of {path}", path=path) for path in ("team=a", "team=a/user=alex", PATH)]
    found = summaries(tenant, PATH, 0, 1, 2, reach="team=a/user=alex")
    assert found == ["summary of team=a/user=alex", f"summary of {PATH}"]
    with tenant_scope(tenant.pk):
        for summary, is_read in zip(saved, (False, True, True), strict=True):
            scope = SearchScope(tenant.pk, "team=a/user=alex", PointInTime.now(FACTORY_NOW))
            read = read_summary(scope, summary.summary_id)
            assert (read == summary) == is_read


@pytest.mark.parametrize("moment", [PointInTime.valid, PointInTime.recorded])
def test_summaries_are_read_as_they_were(tenant: Tenant, moment: Callable[[datetime], PointInTime]) -> None:
    saved = save(tenant, "one", 1)
    withdraw(save(tenant, "two", 3), 5)
    found = [summaries(tenant, "user=alex", 0, moment=moment(at(hour))) for hour in (0, 1, 3, 4.9, 5)]
    assert found == [[], ["one"], ["two"], ["two"], []]
    with tenant_scope(tenant.pk):
        scopes = [SearchScope(tenant.pk, "", moment(at(hour))) for hour in (0, 2, 4, 9)]
        read = [read_summary(scope, saved.summary_id) for scope in scopes]
        assert [summary and summary.content for summary in read] == [None, "one", "two", None]
        with CaptureQueriesContext(connection) as queries:
            read_partition_summaries(SearchScope(tenant.pk, "", moment(at(1))), PATH, levels=[0, 1, 2], style="compact")
    assert len(queries) == 1


# --- Snapshots -----------------------------------------------------------------------------------------------------


def snapshot(tenant: Tenant, name: str, hours: float = 0, **options: Any) -> Snapshot:
    with tenant_scope(tenant.pk):
        return create_snapshot(tenant=tenant, name=name, by=TESTER, now=at(hours), **options)


def test_snapshot_names_now_or_an_earlier_time(tenant: Tenant) -> None:
    first = snapshot(tenant, " before the import ", 3)
    assert (first.name, first.recorded_at, first.created_at, first.created_by) == (
        "before the import",
        at(3),
        at(3),
        TESTER.label,
    )
    assert snapshot(tenant, "earlier", 3, recorded_at=at(1)).recorded_at == at(1)
    assert snapshot(tenant, "this moment", 3, recorded_at=at(3)).recorded_at == at(3)
    with tenant_scope(tenant.pk):
        (entry,) = AuditEntry.objects.for_tenant(tenant.pk).about(first.pk)
        assert (entry.verb, entry.fields) == ("create_snapshot", ["name", "recorded_at"])


@pytest.mark.parametrize(
    ("name", "recorded_at", "field", "code"),
    [
        ("  ", None, "name", "blank"),
        ("x" * 101, None, "name", "too_long"),
        ("a\x00b", None, "name", "null_character"),
        ("future", at(1), "recorded_at", "in_the_future"),
    ],
)
def test_snapshot_that_cannot_be_is_refused(
    tenant: Tenant, name: str, recorded_at: datetime | None, field: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        snapshot(tenant, name, recorded_at=recorded_at)
    assert (caught.value.field, caught.value.code) == (field, code)


def test_name_is_unique_in_a_tenant_and_free_again_when_forgotten(tenant: Tenant, other_tenant: Tenant) -> None:
    first = snapshot(tenant, "same")
    snapshot(other_tenant, "same")
    with pytest.raises(Conflict) as caught:
        snapshot(tenant, "same", 1)
    assert (caught.value.code, caught.value.field) == ("duplicate", "name")
    memory = make_memory(tenant)
    for _ in range(2):
        with tenant_scope(tenant.pk):
            delete_snapshot(snapshot=first, by=TESTER, now=at(2))
    assert snapshot(tenant, "same", 3).recorded_at == at(3)
    with tenant_scope(tenant.pk):
        assert Memory.objects.get() == memory
        verbs = AuditEntry.objects.for_tenant(tenant.pk).about(first.pk).order_by("at").values_list("verb", flat=True)
        assert list(verbs) == ["create_snapshot", "delete_snapshot"]
