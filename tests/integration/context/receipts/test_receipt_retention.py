"""Receipt retention: by age and by number, tenant by tenant, in batches."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context import tasks
from context.feedback.actions import record_feedback
from context.models import Feedback, Receipt
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.receipts import retention
from context.receipts.retention import prune_receipts_of_tenants
from memories.models import AuditEntry, Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    make_empty_tenant,
    new_row,
    store,
)

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def shop(**numbers: Any) -> Tenant:
    """A tenant with one memory, whose default profile has these settings."""
    tenant = make_empty_tenant()
    store(tenant, [new_row("The shop opens at nine.")], is_embedded=False)
    if numbers:
        with tenant_scope(tenant.pk):
            save_budget_profile(
                tenant_id=tenant.pk, changes=numbers, edited_from=0, by=SYSTEM, now=CONTEXT_NOW - 400 * DAY
            )
    return tenant


def assemble_contexts(tenant: Tenant, *days_ago: float) -> None:
    for days in days_ago:
        assemble_test_context(tenant, "When does the shop open?", now=CONTEXT_NOW - timedelta(days=days))


def ages(tenant: Tenant) -> list[float]:
    with tenant_scope(tenant.pk):
        return [(CONTEXT_NOW - row.created_at) / DAY for row in Receipt.objects.for_tenant(tenant.pk).newest_first()]


def test_receipts_past_their_days_go() -> None:
    tenant = shop(receipt_days=30)
    assemble_contexts(tenant, 31, 30, 29, 1)
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 1
    assert ages(tenant) == [1, 29, 30]
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 0
    assert prune_receipts_of_tenants(now=CONTEXT_NOW + DAY) == 1


def test_oldest_receipts_beyond_the_number_go() -> None:
    tenant = shop(receipt_count=2)
    assemble_contexts(tenant, 3, 1, 2, 4)
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 2
    assert ages(tenant) == [1, 2]


def test_default_keeps_ninety_days() -> None:
    tenant = shop()
    assemble_contexts(tenant, 91, 90)
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 1
    assert ages(tenant) == [90]


def test_profile_of_the_whole_tenant_decides_and_each_tenant_for_itself() -> None:
    tenant, other = shop(receipt_days=10), shop(receipt_days=300)
    with tenant_scope(tenant.pk):
        for name, days, path in (("brief", 5, ""), ("elsewhere", 1, "user=alex")):
            create_budget_profile(
                tenant_id=tenant.pk, name=name, changes={"receipt_days": days}, by=SYSTEM, now=CONTEXT_NOW - DAY
            )
            assign_budget_profile(
                tenant_id=tenant.pk, profile_name=name, partition_path=path, by=SYSTEM, now=CONTEXT_NOW - DAY
            )
    assemble_contexts(tenant, 6, 4, 2)
    assemble_contexts(other, 200)
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 1
    assert (ages(tenant), ages(other)) == ([2, 4], [200])


def test_batches_are_bounded_and_the_next_run_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PRUNE_BATCH", 2)
    monkeypatch.setattr(retention, "PRUNE_BATCHES_MAX", 2)
    tenant = shop(receipt_days=1, receipt_count=1)
    assemble_contexts(tenant, 9, 8, 7, 6, 5, 0.5, 0.4)
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 4
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 2
    assert ages(tenant) == [0.4]
    with tenant_scope(tenant.pk):
        entries = AuditEntry.objects.for_tenant(tenant.pk).filter(verb="prune_receipts")
        assert [entry.target_ids for entry in entries] == [["2 receipts"]] * 3
        assert {entry.actor_kind for entry in entries} == {"system"}


def test_votes_outlive_the_receipt_they_were_given_on() -> None:
    tenant = shop(receipt_days=1)
    context = assemble_test_context(tenant, "shop", now=CONTEXT_NOW - 2 * DAY)
    with tenant_scope(tenant.pk):
        record_feedback(
            tenant_id=tenant.pk,
            receipt_id=context.id,
            feedback="POSITIVE",
            by=Actor.system("test"),
            now=CONTEXT_NOW - DAY,
        )
    assert prune_receipts_of_tenants(now=CONTEXT_NOW) == 1
    with tenant_scope(tenant.pk):
        (vote,) = Feedback.objects.for_tenant(tenant.pk)
    assert (vote.receipt_id, vote.weight) == (None, 1)


def test_content_of_a_receipt_is_not_read_to_delete_it() -> None:
    tenant = shop(receipt_days=1)
    assemble_contexts(tenant, 2, 3)
    with CaptureQueriesContext(connection) as queries:
        prune_receipts_of_tenants(now=CONTEXT_NOW)
    assert not [query for query in queries if '"candidates"' in query["sql"]]


def test_beat_prunes_every_hour() -> None:
    entry = settings.CELERY_BEAT_SCHEDULE["Delete old receipts"]
    assert entry == {"task": tasks.prune_receipts_task.name, "schedule": 3600.0}
    assert tasks.prune_receipts_task() == 0
