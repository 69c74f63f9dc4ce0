"""The figures of the overviews: backlogs, their age, and activity, each from one query for all pages."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compaction.models import Compaction, Run
from compaction.pipeline.backlog import failed_run_backlogs
from context.models import Receipt
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.console import heartbeats
from memory_platform.console.action_items import action_items
from memory_platform.console.activity_charts import activity_curves
from memory_platform.web.time_ranges import SPANS
from tests.integration.compaction.pipeline.test_pages_runs import failed
from tests.integration.page_helpers import HTMX, client_of, page, store_memories_for_pages, text_of
from tests.integration.session_scripts import applied_at_once, make_long_session
from tests.users import new_operator

NOW = datetime(2026, 6, 15, 12, 30, tzinfo=UTC)
DAYS = next(span for span in SPANS if span.name == "30d")


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def given(tenant: Tenant, at: datetime, *, took: float, used: int, allowed: int) -> None:
    with tenant_scope(tenant.pk):
        Receipt.objects.create(
            tenant=tenant,
            created_at=at,
            request={},
            profile={},
            budget_profile={},
            budget={"max_tokens": allowed},
            tokens_used=used,
            blocks=[],
            omitted=[],
            candidates=[],
            plan={},
            timings={"total": took},
            text_sha256="",
        )


def values_of(charts: Any, title: str) -> dict[datetime, tuple[float | None, ...]]:
    chart = next(chart for chart in charts if chart.title == title)
    return {row.x: tuple(row.values) for row in chart.rows}


def counts(tenant: Tenant) -> dict[str, int]:
    with tenant_scope(tenant.pk):
        return {need.name: need.backlog.count for need in action_items([tenant.pk])[tenant.pk]}


def test_curves_bin_contexts_by_day_with_percentiles_and_the_share_of_the_budget(tenant: Tenant) -> None:
    today, yesterday = datetime(2026, 6, 15, tzinfo=UTC), datetime(2026, 6, 14, tzinfo=UTC)
    for took in (10.0, 20.0, 30.0):
        given(tenant, yesterday + timedelta(hours=3), took=took, used=50, allowed=200)
    given(tenant, NOW, took=7.0, used=300, allowed=400)
    given(tenant, NOW - timedelta(days=40), took=7.0, used=1, allowed=1)
    with tenant_scope(tenant.pk):
        charts = activity_curves(tenant.pk, DAYS, now=NOW)
    assert len(values_of(charts, "Contexts served")) == 30
    assert values_of(charts, "Contexts served")[yesterday] == (3,)
    assert values_of(charts, "Latency")[yesterday] == (20.0, 29.0)
    assert values_of(charts, "Latency")[yesterday - timedelta(days=1)] == (None, None)
    assert values_of(charts, "Budget used")[yesterday] == (25.0,)
    assert values_of(charts, "Tokens served")[today] == (300,)
    assert {chart.title: chart.caption for chart in charts if chart.shape == "bars"} == {
        "Contexts served": "4 contexts",
        "Tokens served": "450 tokens",
        "Memories stored": "0 memories",
        "Saved by compaction": "0 tokens",
    }
    assert sum(values[0] or 0 for values in values_of(charts, "Contexts served").values()) == 4


def test_contexts_of_agents_have_a_latency_on_the_overview(client: Client, tenant: Tenant, api: Any) -> None:
    store_memories_for_pages(tenant, ("A bike was sold.", "agent=shop", "fact"))
    ids = [api.post("/api/v1/context", {"query": "Which bike?"}, format="json").json()["id"] for _ in range(3)]
    took = sorted(api.get(f"/api/v1/context/{each}").json()["timings"]["total"] for each in ids)
    with tenant_scope(tenant.pk):
        charts = activity_curves(tenant.pk, DAYS, now=timezone.now())
    (median, highest) = next(each for each in values_of(charts, "Latency").values() if each != (None, None))
    assert median == pytest.approx(took[1])
    assert took[1] <= highest <= took[2]
    shown = text_of(client.get(page("tenant-overview", tenant)))
    assert 'aria-label="Latency, in ms. The table below has the values."' in shown
    assert f'<td class="num" data-value="{median}">{median:.1f}</td>' in shown


def test_curves_of_memories_and_savings_are_of_this_tenant_alone(tenant: Tenant, other_tenant: Tenant) -> None:
    for each in (tenant, other_tenant):
        store_memories_for_pages(each, ("A bike was sold.", "agent=shop", "fact"), now=NOW - timedelta(hours=1))
    compaction = applied_at_once(make_long_session(tenant))
    with tenant_scope(tenant.pk):
        Compaction.objects.for_tenant(tenant.pk).update(compacted_at=NOW)
        charts = activity_curves(tenant.pk, DAYS, now=NOW)
    today = datetime(2026, 6, 15, tzinfo=UTC)
    assert values_of(charts, "Memories stored")[today] == (1,)
    assert values_of(charts, "Saved by compaction")[today] == (compaction.tokens_before - compaction.tokens_after,)


@pytest.mark.parametrize("span", SPANS, ids=lambda span: span.name)
def test_stretches_of_a_range_touch_and_end_with_the_one_under_way(span: Any) -> None:
    begins = span.starts_at(NOW)
    assert len(begins) == span.steps
    assert begins[-1] <= NOW < begins[-1] + span.step
    assert {later - earlier for earlier, later in pairwise(begins)} == {span.step}


def test_nothing_needs_anybody_in_an_empty_tenant(client: Client, tenant: Tenant) -> None:
    assert set(counts(tenant).values()) == {0}
    assert "Nothing needs attention." in text_of(client.get(page("tenant-overview", tenant)))


def test_backlogs_are_counted_with_their_age_and_link_to_their_page(client: Client, tenant: Tenant) -> None:
    failed(tenant)
    (memory,) = store_memories_for_pages(tenant, ("A text nobody can embed.", "agent=shop", "fact"))
    with tenant_scope(tenant.pk):
        Memory.objects.filter(pk=memory.pk).update(embedding_state="failed", embedding_error="Refused.")
    found = counts(tenant)
    assert {name for name, count in found.items() if count} == {"sessions", "runs", "embeddings"}
    assert set(found.values()) == {0, 1}
    text = text_of(client.get(page("tenant-overview", tenant)))
    assert "1 session above its warning threshold" in text
    assert f"{page('jobs', tenant)}?kind=runs&amp;state=failed" in text
    assert f"{page('memories', tenant)}?state=failed" in text
    jobs = text_of(client.get(page("jobs", tenant)))
    assert "1 failed" in jobs
    assert "Refused." in jobs


def test_failure_before_a_successful_run_is_no_action_item(client: Client, tenant: Tenant) -> None:
    run = failed(tenant)
    with tenant_scope(tenant.pk):
        later = timezone.now()
        assert failed_run_backlogs([tenant.pk])[tenant.pk].count == 1
        again = Run.objects.create(
            tenant=tenant, kind="compaction", session=run.session, compaction=run.compaction, created_at=later
        )
        Run.objects.filter(pk=again.pk).finish("done", later)
        assert failed_run_backlogs([tenant.pk]) == {}
    assert client.get(page("jobs", tenant) + "?kind=runs&state=failed").context["table"].rows == []
    assert len(client.get(page("jobs", tenant)).context["table"].rows) == 2


def test_other_range_is_a_fragment_and_is_in_the_address(client: Client, tenant: Tenant) -> None:
    part = client.get(page("tenant-overview", tenant) + "?range=90d", headers=HTMX)
    assert "<html" not in text_of(part)
    assert 'aria-current="true">90 days' in text_of(part)
    refused = client.get(page("tenant-overview", tenant) + "?range=century")
    assert (refused.status_code, refused.context["span"].name) == (422, "7d")


def test_tenants_are_listed_with_what_waits_in_the_order_of_the_address(tenant: Tenant, other_tenant: Tenant) -> None:
    failed(other_tenant)
    client = client_of(new_operator("twice", "viewer", tenant, other_tenant))

    def names(query: str) -> list[str]:
        return [line.tenant.name for line in client.get(reverse("overview") + query).context["table"].rows]

    assert names("") == names("?sort=-runs") == ["Globex", "Acme"]
    assert names("?sort=tenant") == names("?sort=runs") == ["Acme", "Globex"]
    assert "<html" not in text_of(client.get(reverse("overview"), headers=HTMX))


def test_query_count_of_all_tenants_does_not_grow(
    tenant: Tenant, other_tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    client = client_of(new_operator("twice", "viewer", tenant, other_tenant))
    with django_assert_max_num_queries(40) as few:
        client.get(reverse("overview"))
    failed(other_tenant)
    failed(tenant)
    with django_assert_max_num_queries(len(few)):
        client.get(reverse("overview"))


def test_workers_and_the_scheduler_are_away_without_a_sign_and_back_with_one(client: Client, tenant: Tenant) -> None:
    def states() -> dict[str, bool]:
        return {part.name: part.state.is_ok for part in client.get(reverse("health")).context["parts"]}

    cache.delete_many([heartbeats.WORKER, heartbeats.BEAT])
    heartbeats._written.clear()
    assert (states()["workers"], states()["beat"], states()["summariser"]) == (False, False, True)
    heartbeats.record_heartbeat(heartbeats.WORKER)
    cache.set(heartbeats.BEAT, timezone.now().timestamp() - 2 * heartbeats.BEAT_AWAY_AFTER_SECONDS)
    assert (states()["workers"], states()["beat"]) == (True, False)
    cache.delete_many([heartbeats.WORKER, heartbeats.BEAT])


def test_unavailable_components_are_on_one_line_of_the_overview(client: Client, tenant: Tenant) -> None:
    cache.delete_many([heartbeats.WORKER, heartbeats.BEAT])
    assert "Workers unavailable" in text_of(client.get(reverse("health-summary"), headers=HTMX))
    assert client.get(reverse("health-summary"))["Location"] == reverse("health")


def test_last_run_of_scheduled_work_is_reported(client: Client, tenant: Tenant) -> None:
    class Task:
        name = "compaction.tasks.sweep_sessions"

    heartbeats._note_start(task_id="1")
    heartbeats._record_run(task_id="1", task=Task(), state="FAILURE")
    rows = {row.name: row for row in client.get(page("jobs", tenant)).context["scheduled"]}
    compacted, rolled_up = rows["Compact idle sessions"], rows["Roll up changed partitions"]
    assert compacted.last is not None
    assert compacted.last.is_failed
    assert (compacted.interval, rolled_up.interval) == ("every minute", "every hour")
    assert "Update partition counts" not in rows
