"""`Idempotency-Key`: a repeated POST takes effect once."""

import time
from datetime import timedelta
from threading import Barrier, Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import IdempotencyRecord, Tenant
from memories.store.api import memories as endpoints
from memories.tenancy import idempotency
from memories.tenancy.api import claims, endpoint
from memories.tenancy.api import idempotency as idempotent_api
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import BULK, CONTEXT, CONTEXTS, MEMORIES, all_stored_memories, assert_problem
from tests.users import api_client, new_key, new_shared_tenant

ONCE = {"Idempotency-Key": "order-17"}
#: Only a test that would never end waits as long.
WAIT_MAX_SECONDS = 120


def records(tenant: Tenant) -> list[IdempotencyRecord]:
    with tenant_scope(tenant.pk):
        return list(IdempotencyRecord.objects.for_tenant(tenant.pk))


def test_repetition_gets_the_first_answer(api: APIClient, tenant: Tenant) -> None:
    first = api.post(MEMORIES, {"content": "One", "kind": "fact"}, headers=ONCE)
    again = api.post(MEMORIES, {"kind": "fact", "content": "One"}, headers=ONCE)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (again["ETag"], again["Location"]) == (first["ETag"], first["Location"])
    assert (first.headers.get("Idempotent-Replayed"), again["Idempotent-Replayed"]) == (None, "true")
    assert len(all_stored_memories(tenant)) == 1


def test_another_body_or_address_is_a_conflict(api: APIClient, tenant: Tenant) -> None:
    api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    assert_problem(api.post(MEMORIES, {"content": "Two"}, headers=ONCE), 409, "idempotency_key_reused")
    assert_problem(api.post(BULK, {"memories": [{"content": "One"}]}, headers=ONCE), 409, "idempotency_key_reused")
    assert len(all_stored_memories(tenant)) == 1


def test_bulk_and_context_are_answered_again_too(api: APIClient) -> None:
    rows = {"memories": [{"content": "One"}, {"content": ""}]}
    assert api.post(BULK, rows, headers=ONCE).json() == api.post(BULK, rows, headers=ONCE).json()
    body, once = {"query": "One"}, {"Idempotency-Key": "another"}
    first = api.post(CONTEXT, body, headers=once).json()
    assert api.post(CONTEXT, body, headers=once).json() == first
    assert len(api.get(CONTEXTS).json()["results"]) == 1


def test_idempotency_keys_of_two_agents_are_independent(api: APIClient, tenant: Tenant) -> None:
    api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    other = api_client(new_key(tenant, "write"))
    assert other.post(MEMORIES, {"content": "Two"}, headers=ONCE).json()["content"] == "Two"


def test_a_refused_request_frees_its_key(api: APIClient, tenant: Tenant) -> None:
    assert_problem(api.post(MEMORIES, {"content": ""}, headers=ONCE), 400, "blank", "content")
    assert records(tenant) == []
    assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).status_code == 201


def test_a_failed_request_frees_its_key(api: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("boom")

    with monkeypatch.context() as patched:
        patched.setattr(endpoints, "store_memories", fail)
        assert_problem(api.post(MEMORIES, {"content": "One"}, headers=ONCE), 500, "internal_error")
    assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).status_code == 201


def test_a_request_still_running_is_a_conflict_and_a_dead_one_is_taken_over(api: APIClient, tenant: Tenant) -> None:
    api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.for_tenant(tenant.pk).update(status=None, answer=None)
    response = api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    assert_problem(response, 409, "idempotency_key_in_use")
    assert response["Retry-After"] == "1"
    with time_machine.travel(timezone.now() + timedelta(seconds=10)):
        assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json()["status"] == "existing"


def test_answers_are_kept_for_a_day(api: APIClient) -> None:
    first = api.post(MEMORIES, {"content": "One"}, headers=ONCE).json()
    with time_machine.travel(timezone.now() + timedelta(hours=23)):
        assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json() == first
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        assert api.post(MEMORIES, {"content": "Two"}, headers=ONCE).status_code == 201


@pytest.mark.parametrize("name", ["", " ", "x" * 256, "schlüssel"])
def test_bad_idempotency_key_is_refused(api: APIClient, tenant: Tenant, name: str) -> None:
    response = api.post(MEMORIES, {"content": "One"}, headers={"Idempotency-Key": name})
    assert_problem(response, 400, "bad_idempotency_key", "Idempotency-Key")
    assert all_stored_memories(tenant) == []


def taken_over(tenant: Tenant) -> IdempotencyRecord:
    """Return the claim of the running request, which another request has taken over."""
    (running,) = records(tenant)
    later = timezone.now() + timedelta(seconds=2 * idempotency.CLAIM_SECONDS)
    names = ("tenant_id", "api_key_id", "idempotency_key", "request_hash")
    with tenant_scope(tenant.pk):
        return idempotency.claim_idempotency_key(**{name: getattr(running, name) for name in names}, now=later)


@pytest.mark.django_db(transaction=True)
def test_request_whose_claim_was_taken_over_gets_the_answer_that_was_stored_first_and_writes_nothing(
    api: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = endpoints.store_memories

    def answer_first() -> None:
        other = taken_over(tenant)
        with tenant_scope(tenant.pk):
            assert idempotency.store_response(other, status=201, body={"id": "first"}, headers={}) is None
        connection.close()

    def store_late(**arguments: Any) -> Any:
        thread = Thread(target=answer_first)
        thread.start()
        thread.join()
        return store(**arguments)

    with monkeypatch.context() as patched:
        patched.setattr(endpoints, "store_memories", store_late)
        late = api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    again = api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    assert [answer.json() for answer in (late, again)] == [{"id": "first"}] * 2
    assert [answer["Idempotent-Replayed"] for answer in (late, again)] == ["true"] * 2
    assert all_stored_memories(tenant) == []


@pytest.mark.parametrize("age", [0, 2 * idempotency.CLAIM_SECONDS])
def test_request_that_was_partly_done_is_never_run_again(api: APIClient, tenant: Tenant, age: int) -> None:
    api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.for_tenant(tenant.pk).update(status=None, answer=None)
    (record,) = records(tenant)
    with tenant_scope(tenant.pk):
        idempotency.mark_partly_done(record)
        idempotency.release_idempotency_key(record)
    with time_machine.travel(timezone.now() + timedelta(seconds=age)):
        answer = api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    assert_problem(answer, 409, "idempotency_outcome_unknown" if age else "idempotency_key_in_use")
    with tenant_scope(tenant.pk):
        assert idempotency.store_response(record, status=200, body={"id": "late"}, headers={}) is None
    assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json() == {"id": "late"}


def test_claim_that_was_taken_over_is_not_released(api: APIClient, tenant: Tenant) -> None:
    api.post(MEMORIES, {"content": "One"}, headers=ONCE)
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.for_tenant(tenant.pk).update(status=None, answer=None)
        (failed,) = IdempotencyRecord.objects.for_tenant(tenant.pk)
    taken_over(tenant)
    with tenant_scope(tenant.pk):
        idempotency.release_idempotency_key(failed)
    assert len(records(tenant)) == 1


def test_response_is_stored_although_the_claim_was_deleted(api: APIClient, tenant: Tenant) -> None:
    first = api.post(MEMORIES, {"content": "One"}, headers=ONCE).json()
    (record,) = records(tenant)
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.filter(pk=record.pk).delete()
        answer = {"status": 201, "body": first, "headers": {}}
        assert idempotency.store_response(record, **answer) is None
    assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json() == first


def test_answer_that_is_stored_while_an_old_claim_is_read_is_not_replaced(api: APIClient, tenant: Tenant) -> None:
    first = api.post(MEMORIES, {"content": "One"}, headers=ONCE).json()
    (record,) = records(tenant)
    record.status, record.answer = None, None  # as read before
    with tenant_scope(tenant.pk):
        assert not idempotency._reclaim(record, record.request_hash, timezone.now() + timedelta(minutes=1))
    assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).json() == first


def test_claim_begins_when_it_is_made_and_not_with_its_request(
    api: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = timezone.now()
    monkeypatch.setattr(endpoint, "timezone", SimpleNamespace(now=lambda: began - timedelta(minutes=1)))
    assert api.post(MEMORIES, {"content": "One"}, headers=ONCE).status_code == 201
    assert records(tenant)[0].created_at >= began


@pytest.mark.django_db(transaction=True)
def test_claim_of_a_slow_request_is_renewed_and_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "RENEWAL_SECONDS", 0.1)
    monkeypatch.setattr(idempotent_api, "claim_keeper", claims.ClaimKeeper())
    tenant = new_shared_tenant("Slow")
    key = new_key(tenant, "write")
    store = endpoints.store_memories
    runs, answers, is_running, may_end = [], [], Event(), Event()

    def store_slowly(**arguments: Any) -> Any:
        runs.append(1)
        is_running.set()
        assert may_end.wait(WAIT_MAX_SECONDS)
        return store(**arguments)

    def post() -> None:
        answers.append(api_client(key).post(MEMORIES, {"content": "One"}, headers=ONCE))
        connection.close()

    monkeypatch.setattr(endpoints, "store_memories", store_slowly)
    first = Thread(target=post)
    first.start()
    assert is_running.wait(WAIT_MAX_SECONDS)
    try:
        wait_until_an_expired_claim_is_renewed(tenant)
        response = api_client(key).post(MEMORIES, {"content": "One"}, headers=ONCE)
    finally:
        may_end.set()
        first.join()
    assert_problem(response, 409, "idempotency_key_in_use")
    assert [answer.status_code for answer in answers] == [201]
    assert len(runs) == 1


def wait_until_an_expired_claim_is_renewed(tenant: Tenant) -> None:
    """Make the claim of the running request as old as that of a dead process."""
    expired = timezone.now() - timedelta(seconds=2 * idempotency.CLAIM_SECONDS)
    with tenant_scope(tenant.pk):
        IdempotencyRecord.objects.for_tenant(tenant.pk).update(created_at=expired)
    deadline = time.monotonic() + WAIT_MAX_SECONDS
    while records(tenant)[0].created_at == expired:
        assert time.monotonic() < deadline, "not renewed"
        time.sleep(0.02)


@pytest.mark.django_db(transaction=True)
def test_of_concurrent_requests_one_is_run() -> None:
    tenant = new_shared_tenant("Concurrent")
    key = new_key(tenant, "write")
    barrier, answers = Barrier(4), []

    def post() -> None:
        barrier.wait()
        answers.append(api_client(key).post(MEMORIES, {"content": "One"}, headers=ONCE))
        connection.close()

    threads = [Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} <= {201, 409}
    ids = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    assert len(ids) == 1
    assert len(all_stored_memories(tenant)) == 1
