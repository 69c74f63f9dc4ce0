"""Rules on real rows: what each finds. An alert opens once, stays open and closes automatically."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compaction.alerts import orchestrator
from compaction.alerts.conditions import measure
from compaction.alerts.orchestrator import KEPT, after_measurement, delete_old_alerts, evaluate_alerts
from compaction.models import Alert, AlertDelivery, AlertDestination, AlertRule, ProviderBreaker
from compaction.services.alerts import rules
from compaction.tasks import delete_old_alerts_task, evaluate_alerts_task
from memories.models import Memory, MemoryPair, Tenant
from memories.search import vector_index
from memories.search.queries.nearest import VectorIndex
from memories.tenancy.scopes import tenant_scope
from memory_platform.schedule import BEAT_SCHEDULE
from tests.factories import make_memory
from tests.integration.alert_helpers import (
    add_destination,
    alerts_of,
    deliveries_of,
    make_contradiction,
    set_rule,
    switch_provider_off,
)
from tests.integration.scoring_helpers import finished_evaluation
from tests.sessions import new_session

pytestmark = pytest.mark.django_db

NOW = timezone.now()
MINUTE = timedelta(minutes=1)


def evaluation(tenant: Tenant, recall: float, ago: timedelta, **fields: Any) -> None:
    result = {"report": {"total": {"measures": {"recall": {"value": recall}}}}}
    finished_evaluation(tenant, {}, shares=[], results={"250": result}, finished_at=NOW - ago, **fields)


def worse_evaluation(tenant: Tenant) -> None:
    evaluation(tenant, 0.80, 2 * MINUTE)
    evaluation(tenant, 0.75, MINUTE)
    evaluation(tenant, 0.10, timedelta(), profile_name="another")


def full_session(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        new_session(tenant, max_context_tokens=1000, context_tokens=990)
        new_session(tenant, max_context_tokens=1000, context_tokens=10)


def waiting_memory(tenant: Tenant, error: str = "") -> None:
    memory = make_memory(tenant, now=NOW - 30 * MINUTE)
    with tenant_scope(tenant.pk):
        values = {"embedding_state": "pending", "embedding_error": error}
        Memory.objects.for_tenant(tenant.pk).with_id(memory.pk).update(**values)


@pytest.mark.parametrize(
    ("kind", "make", "value"),
    [
        (rules.CONTRADICTIONS, lambda tenant: make_contradiction(tenant, now=NOW), 1.0),
        (rules.FULL_SESSIONS, full_session, 1.0),
        (rules.WORSE_EVALUATION, worse_evaluation, 5.0),
        (rules.EMBEDDER_FAILS, lambda tenant: waiting_memory(tenant, "HTTP 503"), 1.0),
        (rules.SUMMARISER_FAILS, lambda tenant: switch_provider_off(tenant, until=NOW - MINUTE), 1.0),
        (rules.EMBEDDING_BACKLOG, waiting_memory, 30.0),
    ],
)
def test_rule_measures_its_tenant_alone_in_few_queries(
    tenant: Tenant, other_tenant: Tenant, kind: str, make: Callable[[Tenant], Any], value: float
) -> None:
    make(tenant)
    for each, expected in ((tenant, value), (other_tenant, 0.0)):
        with tenant_scope(each.pk), CaptureQueriesContext(connection) as queries:
            assert measure(kind, each.pk, now=NOW) == expected
        assert len(queries) <= (3 if kind == rules.FULL_SESSIONS else 1)


def test_index_rule_counts_the_vectors_that_the_index_lacks(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        make_memory(tenant, is_embedded=True)
    monkeypatch.setattr(vector_index, "vector_index", lambda _model: VectorIndex(rows=0, bound=0))
    for each, expected in ((tenant, 3.0), (other_tenant, 0.0)):
        with tenant_scope(each.pk):
            assert measure(rules.INDEX_BACKLOG, each.pk, now=NOW) == expected


def test_provider_without_calls_is_ignored_after_a_day(tenant: Tenant) -> None:
    switch_provider_off(tenant, until=NOW - timedelta(days=2))
    with tenant_scope(tenant.pk):
        assert measure(rules.SUMMARISER_FAILS, tenant.pk, now=NOW) == 0
        ProviderBreaker.objects.update(open_until=NOW, failures=0)
        assert measure(rules.SUMMARISER_FAILS, tenant.pk, now=NOW) == 0


def test_alert_opens_once_stays_open_and_closes_by_itself(tenant: Tenant) -> None:
    set_rule(tenant, rules.CONTRADICTIONS, now=NOW)
    add_destination(tenant, "ops@example.com", now=NOW)
    make_contradiction(tenant, now=NOW)
    assert len(evaluate_alerts(now=NOW)) == 1
    make_contradiction(tenant, now=NOW)
    assert evaluate_alerts(now=NOW + MINUTE) == []
    (alert,) = alerts_of(tenant)
    assert (alert.opened_at, alert.closed_at, alert.value) == (NOW, None, 2.0)
    add_destination(tenant, "late@example.com", now=NOW + MINUTE, sends_closing=False)
    assert evaluate_alerts(now=NOW + MINUTE) == [], "the alert is already open"
    with tenant_scope(tenant.pk):
        MemoryPair.objects.all().delete()
    assert len(evaluate_alerts(now=NOW + 2 * MINUTE)) == 1
    assert evaluate_alerts(now=NOW + 3 * MINUTE) == []
    (alert,) = alerts_of(tenant)
    assert (alert.closed_at, alert.value) == (NOW + 2 * MINUTE, 2.0)
    assert [delivery.event for delivery in deliveries_of(tenant)] == ["opened", "closed"]
    make_contradiction(tenant, now=NOW)
    assert len(evaluate_alerts(now=NOW + 4 * MINUTE)) == 2
    assert len(alerts_of(tenant)) == 2


def test_alert_opens_only_at_the_threshold(tenant: Tenant) -> None:
    set_rule(tenant, rules.CONTRADICTIONS, 2, now=NOW)
    make_contradiction(tenant, now=NOW)
    evaluate_alerts(now=NOW)
    assert alerts_of(tenant) == []
    make_contradiction(tenant, now=NOW)
    evaluate_alerts(now=NOW)
    assert [alert.threshold for alert in alerts_of(tenant)] == [2]


@pytest.mark.parametrize(
    ("value", "is_open", "events"),
    [(2.0, False, []), (3.0, False, ["opened"]), (3.0, True, []), (9.0, True, [""]), (2.9, True, ["closed"])],
)
def test_alert_opens_at_the_threshold_and_closes_below_it(value: float, is_open: bool, events: list[str]) -> None:
    rule = AlertRule(kind=rules.CONTRADICTIONS, threshold=3)
    alert = Alert(kind=rule.kind, threshold=3, value=3.0) if is_open else None
    assert [event for _, event in after_measurement(rule, alert, value)] == events


def test_rule_that_is_off_finds_nothing_and_closes_its_alert(tenant: Tenant) -> None:
    make_contradiction(tenant, now=NOW)
    assert evaluate_alerts(now=NOW) == []
    set_rule(tenant, rules.CONTRADICTIONS, now=NOW)
    evaluate_alerts(now=NOW)
    set_rule(tenant, rules.CONTRADICTIONS, is_enabled=False, now=NOW + MINUTE)
    (alert,) = alerts_of(tenant)
    assert alert.closed_at == NOW + MINUTE
    evaluate_alerts(now=NOW + 2 * MINUTE)
    assert len(alerts_of(tenant)) == 1


def test_closing_is_sent_only_to_destinations_that_want_it(tenant: Tenant) -> None:
    set_rule(tenant, rules.SUMMARISER_FAILS, now=NOW)
    add_destination(tenant, "all@example.com", now=NOW)
    add_destination(tenant, "openings@example.com", now=NOW, sends_closing=False)
    switch_provider_off(tenant, until=NOW)
    evaluate_alerts(now=NOW)
    evaluate_alerts(now=NOW + timedelta(days=2))
    sent = [(delivery.event, delivery.destination.label) for delivery in deliveries_of(tenant)]
    assert sorted(sent) == [
        ("closed", "all@example.com"),
        ("opened", "all@example.com"),
        ("opened", "openings@example.com"),
    ]


def test_database_refuses_a_second_open_alert_of_a_rule(tenant: Tenant) -> None:
    row = {"tenant": tenant, "kind": rules.CONTRADICTIONS, "threshold": 1, "value": 1, "opened_at": NOW}
    with tenant_scope(tenant.pk):
        Alert.objects.create(**row, closed_at=NOW)
        Alert.objects.create(**row)
    with pytest.raises(IntegrityError, match="alert_is_open_once"), tenant_scope(tenant.pk):
        Alert.objects.create(**row)


def test_tenant_evaluated_longest_ago_is_first_and_a_failing_one_does_not_stop_others(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (tenant, other_tenant):
        set_rule(each, rules.CONTRADICTIONS, now=NOW)
        make_contradiction(each, now=NOW)

    def failing(kind: str, tenant_id: Any, *, now: datetime) -> float:
        if tenant_id == tenant.pk:
            raise OperationalError("statement timeout")
        return measure(kind, tenant_id, now=now)

    with monkeypatch.context() as patched:
        patched.setattr(orchestrator, "measure", failing)
        evaluate_alerts(now=NOW)
    assert (len(alerts_of(tenant)), len(alerts_of(other_tenant))) == (0, 1)
    monkeypatch.setattr(orchestrator, "TENANTS_MAX", 1)
    evaluate_alerts(now=NOW + MINUTE)
    assert len(alerts_of(tenant)) == 1


def test_scheduled_tasks_exist_and_evaluation_enqueues_deliveries(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    named = {entry["task"] for entry in BEAT_SCHEDULE.values()}
    assert {evaluate_alerts_task.name, delete_old_alerts_task.name, "compaction.tasks.sweep_alert_deliveries"} <= named
    set_rule(tenant, rules.CONTRADICTIONS, now=NOW)
    add_destination(tenant, "ops@example.com", now=NOW)
    make_contradiction(tenant, now=NOW)
    sent: list[Any] = []
    monkeypatch.setattr("compaction.tasks.deliver_alert_task.delay", lambda *ids: sent.append(ids))
    with django_capture_on_commit_callbacks(execute=True):
        assert evaluate_alerts_task() == 1
    (delivery,) = deliveries_of(tenant)
    assert sent == [(str(tenant.pk), str(delivery.pk))]


def test_old_rows_are_deleted_and_open_alerts_stay(tenant: Tenant) -> None:
    old, recent = NOW - KEPT - MINUTE, NOW - KEPT + MINUTE
    row = {"tenant": tenant, "threshold": 1, "value": 1, "opened_at": old}
    destination = add_destination(tenant, "ops@example.com", now=old)
    removed = add_destination(tenant, "former@example.com", now=old)
    with tenant_scope(tenant.pk):
        AlertDestination.objects.filter(pk=removed.pk).update(removed_at=old)
        Alert.objects.create(**row, kind=rules.CONTRADICTIONS)
        Alert.objects.create(**row, kind=rules.CONTRADICTIONS, closed_at=recent)
        closed = Alert.objects.create(**row, kind=rules.FULL_SESSIONS, closed_at=old)
        for alert, finished in ((closed, old), (None, recent)):
            AlertDelivery.objects.create(
                tenant=tenant, destination=destination, alert=alert, event="opened" if alert else "test", state="done",
                due_at=old, created_at=old, finished_at=finished,
            )  # fmt: skip
    assert delete_old_alerts(now=NOW) == 3
    assert len(alerts_of(tenant)) == 2
    assert [delivery.event for delivery in deliveries_of(tenant)] == ["test"]
    with tenant_scope(tenant.pk):
        assert [row.label for row in AlertDestination.objects.all()] == ["ops@example.com"]
        assert not AlertRule.objects.exists()
