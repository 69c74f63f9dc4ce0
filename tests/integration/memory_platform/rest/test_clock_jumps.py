"""A clock that jumps forward or back: what expires early or late, and that nothing is stored twice."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.models import Run
from compaction.pipeline import orchestrator
from memories.models import IdempotencyRecord, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction_helpers import compact, full_session, stored_runs
from tests.integration.rest_helpers import MEMORIES, all_stored_memories, assert_problem
from tests.users import api_client

pytestmark = pytest.mark.django_db

ONCE = {"Idempotency-Key": "order-17"}
HOUR = timedelta(hours=1)


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_repeated_request_is_answered_as_before(api: APIClient, tenant: Tenant, jump: timedelta) -> None:
    first = api.post(MEMORIES, {"content": "One"}, headers=ONCE).json()
    with time_machine.travel(timezone.now() + jump):
        assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json() == first
    assert len(all_stored_memories(tenant)) == 1


def test_claim_of_a_dead_request_lasts_until_a_clock_that_was_set_back_has_caught_up(
    api: APIClient, tenant: Tenant
) -> None:
    api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.for_tenant(tenant.pk).update(status=None, answer=None)
    now = timezone.now()
    with time_machine.travel(now - HOUR):
        assert_problem(api.post(MEMORIES, {"content": "One"}, headers=ONCE), 409, "idempotency_key_in_use")
    with time_machine.travel(now + timedelta(seconds=11)):
        assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json()["status"] == "existing"


def test_expired_memory_is_hidden_and_not_deleted(api: APIClient) -> None:
    now = timezone.now()
    body = {"content": "The code is 17.", "expires_at": (now + timedelta(minutes=30)).isoformat()}
    created = api.post(MEMORIES, body).json()
    is_listed = []
    for jump in (HOUR, -HOUR):
        with time_machine.travel(now + jump):
            is_listed.append(created["id"] in api.get(MEMORIES).content.decode())
    assert is_listed == [False, True]


def test_run_of_a_worker_is_not_taken_over_when_the_clock_is_set_back(admin: APIClient, tenant: Tenant) -> None:
    session = full_session(admin, lookups=2)
    compact(admin, session, 202, wait=False)
    run = stored_runs(tenant)[0]
    now = timezone.now()
    with tenant_scope(tenant.pk):
        assert Run.objects.for_tenant(tenant.pk).claim(run.pk, now=now, until=now + orchestrator.COMPACTION_LEASE)
    almost = orchestrator.COMPACTION_LEASE - timedelta(seconds=1)
    for jump in (-HOUR, timedelta(0), almost):  # even for a worker whose clock is ahead
        assert orchestrator.run_compaction(tenant.pk, run.pk, now=now + jump).state == ""
    late = orchestrator.run_compaction(tenant.pk, run.pk, now=now + HOUR)
    assert late.state in {"applied", "proposed"}


def test_session_of_a_browser_ends_early_and_never_late(operator: User) -> None:
    client = Client()
    client.force_login(operator)
    is_signed_out = []
    for jump in (-HOUR, timedelta(days=30)):
        with time_machine.travel(timezone.now() + jump):
            is_signed_out.append(reverse("sign-in") in client.get(reverse("overview"))["Location"])
    assert is_signed_out == [False, True]
