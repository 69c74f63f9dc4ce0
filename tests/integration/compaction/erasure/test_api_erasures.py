"""The endpoints and commands of erasures."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from compaction.erasure import retention
from compaction.erasure.actions import request_erasure
from compaction.erasure.orchestrator import ATTEMPTS_MAX, run_erasure
from compaction.models import Erasure, Session
from memories.models import Memory, Tenant
from memories.store.actions.edit import archive_memory
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.compaction.erasure.planting import CANARY, PERSON, places_with, plant
from tests.sessions import new_session
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db


def test_erasure_is_counted_requested_run_and_read(tenant: Tenant, other_tenant: Tenant) -> None:
    memory = plant(tenant)
    client = api_client(new_key(tenant, "admin"))
    counted = client.post("/api/v1/erasures", {"partition": PERSON, "dry_run": True}, HTTP_IDEMPOTENCY_KEY="a")
    assert counted.status_code == 202
    assert client.post("/api/v1/erasures", {"partition": PERSON, "dry_run": True}, HTTP_IDEMPOTENCY_KEY="a").json() == (
        counted.json()
    )
    run_erasure(tenant.pk, counted.json()["id"], now=timezone.now())
    assert counted["Location"] == f"http://testserver/api/v1/erasures/{counted.json()['id']}"
    dry = client.get(counted["Location"]).json()
    assert (dry["state"], dry["erased"], dry["is_receipt_valid"]) == ("done", {}, None)
    assert dry["expected"]["memories"] == 4
    assert client.get(f"/api/v1/memories/{memory.pk}").status_code == 200
    requested = client.post("/api/v1/erasures", {"partition": PERSON}).json()
    run_erasure(tenant.pk, requested["id"], now=timezone.now())
    done = client.get(f"/api/v1/erasures/{requested['id']}").json()
    assert done["erased"] == dry["expected"]
    assert done["is_receipt_valid"] is True
    assert client.get(f"/api/v1/memories/{memory.pk}").status_code == 404
    assert [row["id"] for row in client.get("/api/v1/erasures").json()["results"]] == [requested["id"], dry["id"]]
    stranger = api_client(new_key(other_tenant, "admin"))
    assert stranger.get(f"/api/v1/erasures/{requested['id']}").status_code == 404
    assert stranger.get("/api/v1/erasures").json()["results"] == []


WRONG_TARGETS = [
    ({}, 400, "one_target", ""),
    ({"partition": "user=sam", "memory_id": "5d7f0a52-1d0f-4d0e-9f0a-3a4f2a1b7c11"}, 400, "one_target", ""),
    ({"partition": ""}, 400, "is_the_tenant", "partition"),
    ({"partition": "user=nobody"}, 404, "not_found", "partition"),
    ({"memory_id": "5d7f0a52-1d0f-4d0e-9f0a-3a4f2a1b7c11"}, 404, "not_found", "memory_id"),
    ({"tenant": "Globex"}, 400, "wrong_name", "tenant"),
    ({"tenant": True}, 400, "not_text", "tenant"),
    ({"partition": "user=sam", "dry_run": "yes"}, 400, "not_a_boolean", "dry_run"),
]


def test_wrong_target_is_refused_and_nothing_is_queued(tenant: Tenant) -> None:
    make_memory(tenant, partition="user=sam")
    for body, status, code, field in WRONG_TARGETS:
        answer = api_client(new_key(tenant, "admin")).post("/api/v1/erasures", body)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)
        assert answer.json()["errors"][0]["field"] == field
    with tenant_scope(tenant.pk):
        assert not Erasure.objects.exists()


@pytest.mark.parametrize("scopes", [("read", "write"), ("admin", "user=sam")])
def test_keys_without_the_whole_tenant_or_the_scope_are_refused(tenant: Tenant, scopes: tuple[str, ...]) -> None:
    make_memory(tenant, partition="user=sam")
    scope, partition = (scopes[:1], scopes[1]) if "=" in scopes[-1] else (scopes, "")
    client = api_client(new_key(tenant, *scope, partition=partition))
    for path in ("/api/v1/erasures", "/api/v1/retention-policies"):
        assert client.get(path).status_code == 403
        assert client.post(path, {"partition": "user=sam"}).status_code == 403
    assert client.delete("/api/v1/retention-policies/1").status_code == 403


def test_policy_erases_by_age_in_its_partition_only(tenant: Tenant) -> None:
    now = timezone.now()
    old = make_memory(tenant, "An old note.", partition="user=sam/topic=a", now=FACTORY_NOW)
    young = make_memory(tenant, "A young note.", partition="user=sam", now=now)
    elsewhere = make_memory(tenant, "Another old note.", partition="user=kim", now=FACTORY_NOW)
    client = api_client(new_key(tenant, "admin"))
    policy = {"partition": "user=sam", "days": 30, "age_from": "created"}
    assert client.post("/api/v1/retention-policies", policy | {"days": 60}).status_code == 200
    policy_id = client.post("/api/v1/retention-policies", policy).json()["id"]
    with tenant_scope(tenant.pk):
        new_session(tenant, created_at=FACTORY_NOW)
    listed = client.get("/api/v1/retention-policies").json()["policies"]
    assert [(row["partition"], row["days"], row["age_from"]) for row in listed] == [("user=sam", 30, "created")]
    (erasure,) = retention.erasures_of_policies(now=now)
    assert retention.erasures_of_policies(now=now) == []  # one is queued
    assert run_erasure(tenant.pk, erasure.pk, now=now) == "done"
    with tenant_scope(tenant.pk):
        assert set(Memory.objects.values_list("pk", flat=True)) == {young.pk, elsewhere.pk}
        assert Session.objects.count() == 1  # of another person
    assert client.get(f"/api/v1/erasures/{erasure.pk}").json()["erased"]["memories"] == 1
    assert retention.erasures_of_policies(now=now) == []
    assert old.pk not in (young.pk, elsewhere.pk)
    assert client.delete(f"/api/v1/retention-policies/{policy_id}").status_code == 204
    assert client.delete(f"/api/v1/retention-policies/{policy_id}").status_code == 404


def test_policy_of_archived_memories_leaves_live_ones(tenant: Tenant) -> None:
    now = timezone.now()
    archived, live = (make_memory(tenant, f"Note {n}.", now=FACTORY_NOW) for n in range(2))
    with tenant_scope(tenant.pk):
        archive_memory(memory=archived, by=TESTER, now=FACTORY_NOW)
    client = api_client(new_key(tenant, "admin"))
    policy = {"days": 30, "age_from": "archived"}
    assert client.post("/api/v1/retention-policies", policy).json()["partition"] == ""
    (erasure,) = retention.erasures_of_policies(now=now)
    run_erasure(tenant.pk, erasure.pk, now=now)
    with tenant_scope(tenant.pk):
        assert list(Memory.objects.values_list("pk", flat=True)) == [live.pk]


def test_dry_runs_are_deleted_after_a_day(tenant: Tenant) -> None:
    make_memory(tenant, partition="user=sam")
    now = timezone.now()
    client = api_client(new_key(tenant, "admin"))
    client.post("/api/v1/erasures", {"partition": "user=sam", "dry_run": True})
    assert retention.delete_past_dry_runs(now=now) == 0
    assert retention.delete_past_dry_runs(now=now + timedelta(days=2)) == 1


def test_command_counts_erases_and_verifies(tenant: Tenant) -> None:
    plant(tenant)
    out = StringIO()
    call_command("erase", tenant.name, partition=PERSON, stdout=out, stderr=StringIO())
    assert "Nothing was erased" in out.getvalue()
    assert places_with(CANARY)
    retention.delete_past_dry_runs(now=timezone.now() + timedelta(days=2))
    call_command("erase", tenant.name, partition=PERSON, yes=True, stdout=out, stderr=StringIO())
    assert "is valid." in out.getvalue()
    assert places_with(CANARY) == set()
    listed = StringIO()
    call_command("verify_erasures", target=PERSON, stdout=listed)
    assert "1 receipt, 0 not valid." in listed.getvalue()
    with tenant_scope(tenant.pk):
        Erasure.objects.filter(is_dry_run=False).update(counts={}, receipt={"rows": {}})
    with pytest.raises(CommandError, match="Not valid: 1 receipt"):
        call_command("verify_erasures", stdout=StringIO())


def test_erasure_is_refused_if_a_row_has_changed_since_its_dry_run(tenant: Tenant) -> None:
    client = api_client(new_key(tenant, "admin"))
    memory = plant(tenant)
    session = client.post("/api/v1/sessions", {"partition": PERSON}).json()["id"]
    targets = [{"partition": PERSON}, {"memory_id": str(memory.pk)}, {"tenant": tenant.name}]

    def dry_runs() -> list[str]:
        return [client.post("/api/v1/erasures", {**target, "dry_run": True})["ETag"] for target in targets]

    def refused(etags: list[str]) -> list[bool]:
        answers = [
            client.post("/api/v1/erasures", target, headers={"If-Match": etag})
            for target, etag in zip(targets, etags, strict=True)
        ]
        assert {answer.status_code for answer in answers} <= {202, 412}
        with tenant_scope(tenant.pk):
            Erasure.objects.for_tenant(tenant.pk).filter(is_dry_run=False).delete()
        return [answer.status_code == 412 for answer in answers]

    etags = dry_runs()
    assert dry_runs() == etags
    assert refused(etags) == [False] * 3
    client.patch(f"/api/v1/memories/{memory.pk}", {"confidence": 0.1})
    assert refused(etags) == [True] * 3
    etags = dry_runs()
    client.delete(f"/api/v1/memories/{memory.pk}")
    assert refused(etags) == [True] * 3
    etags = dry_runs()
    client.post("/api/v1/memories", {"content": "Late.", "partition": PERSON})
    assert refused(etags) == [True, False, True]
    etags = dry_runs()
    message = {"messages": [{"role": "user", "content": "Late."}]}
    assert client.post(f"/api/v1/sessions/{session}/messages", message).status_code == 201
    assert refused(etags) == [True, False, True]


def test_command_continues_a_failed_erasure(tenant: Tenant) -> None:
    plant(tenant)
    with tenant_scope(tenant.pk):
        failed = request_erasure(tenant=tenant, partition=PERSON, is_enqueued=False, by=TESTER, now=timezone.now())
        Erasure.objects.filter(pk=failed.pk).update(state="failed", error_code="interrupted", attempts=ATTEMPTS_MAX)
    out = StringIO()
    call_command("erase", tenant.name, resume=failed.pk, stdout=out, stderr=StringIO())
    assert f"Receipt {failed.pk} is valid." in out.getvalue()
    assert places_with(CANARY) == set()


def test_command_names_the_end_of_the_claim_of_a_killed_one(tenant: Tenant) -> None:
    plant(tenant)
    now = timezone.now()
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, partition=PERSON, is_enqueued=False, by=TESTER, now=now)
        Erasure.objects.for_tenant(tenant.pk).claim(erasure.pk, now=now, until=now + timedelta(hours=1))
    named = f"after {now + timedelta(hours=1):%Y-%m-%d %H:%M:%S} UTC; from then on, --resume {erasure.pk} works too."
    with pytest.raises(CommandError, match=named):
        call_command("erase", tenant.name, resume=erasure.pk, stdout=StringIO(), stderr=StringIO())
    with tenant_scope(tenant.pk):
        Erasure.objects.for_tenant(tenant.pk).update(claimed_until=now - timedelta(seconds=1))
    call_command("erase", tenant.name, resume=erasure.pk, stdout=StringIO(), stderr=StringIO())
    assert places_with(CANARY) == set()
