"""Erasures of a memory, a partition and a tenant: what is deleted, what stays, and what the receipt contains."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from compaction.erasure import orchestrator
from compaction.erasure.actions import request_erasure
from compaction.erasure.effects import chosen_ids
from compaction.erasure.orchestrator import ATTEMPTS_MAX, erased_target_hash, is_receipt_valid, run_erasure
from compaction.erasure.parts import Part
from compaction.models import Compaction, Erasure, Message, Session
from context.models import Receipt
from memories.models import AuditEntry, Memory, MemoryVersion, PartitionCount, PartitionSummary, Tenant
from memories.services.time_limits import TimeIsUpError, work_until
from memories.store.actions import store
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.postgres.base import APPS, has_tenant
from tests.concurrency import run_concurrently
from tests.factories import TESTER, make_memory, make_tenant
from tests.integration.compaction.erasure.planting import CANARY, FACT, KEPT, PERSON, places_with, plant
from tests.users import api_client, new_key, new_shared_tenant

pytestmark = pytest.mark.django_db


def erase(tenant: Tenant, **target: Any) -> Erasure:
    """Request an erasure and run it until it ends."""
    now = timezone.now()
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, **target, is_enqueued=False, by=TESTER, now=now)
    run_erasure(tenant.pk, erasure.pk, now=now)
    return reread(erasure)


def reread(erasure: Erasure) -> Erasure:
    with tenant_scope(erasure.tenant_id):
        return Erasure.objects.get(pk=erasure.pk)


def rows_of(model: Any, tenant: Tenant) -> list[Any]:
    with tenant_scope(tenant.pk):
        return list(model.objects.for_tenant(tenant.pk))


def test_partition_goes_from_every_table_and_the_dry_run_counted_it(tenant: Tenant) -> None:
    plant(tenant)
    assert len(places_with(CANARY)) > 20
    dry = erase(tenant, partition=PERSON, is_dry_run=True)
    assert len(places_with(CANARY)) > 20
    assert (dry.state, dry.counts, dry.receipt) == ("done", {}, None)
    erasure = erase(tenant, partition=PERSON)
    assert erasure.state == "done"
    assert erasure.counts == erasure.expected == dry.expected
    expected = {"memories": 4, "sessions": 1, "messages": 3, "memory versions": 1, "partitions": 1, "receipts": 3}
    assert expected.items() <= erasure.counts.items()
    # Only the dry run still names it; it is deleted after a day.
    assert places_with(CANARY) == {"compaction_erasure"}


def test_memory_of_an_erased_session_goes_from_another_partition_too(tenant: Tenant) -> None:
    plant(tenant)
    session = next(row for row in rows_of(Session, tenant) if row.partition_path == PERSON)
    make_memory(tenant, "Filed elsewhere.", partition="user=sam", session=str(session.pk))
    erasure = erase(tenant, partition=PERSON)
    assert erasure.counts == erasure.expected
    assert "Filed elsewhere." not in {row.content for row in rows_of(Memory, tenant)}


def test_rows_recorded_while_an_erasure_runs_are_erased_too(tenant: Tenant) -> None:
    plant(tenant)
    client, now = api_client(new_key(tenant, "write")), timezone.now()
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, partition=PERSON, is_enqueued=False, by=TESTER, now=now)
    answers: list[Any] = []

    def request_context(at: Erasure) -> None:
        if not answers and "receipts" in at.counts and at.step != "receipts":
            headers = {"Idempotency-Key": "late"}
            answers.append(client.post("/api/v1/context", {"query": "song"}, format="json", headers=headers).json())

    run_erasure(tenant.pk, erasure.pk, now=now, progress=request_context)
    assert CANARY in str(answers)
    assert [row.query for row in rows_of(Receipt, tenant)] == ["tea"]
    assert places_with(CANARY) == set()


def test_what_other_people_and_operators_wrote_stays_without_the_quotation(tenant: Tenant) -> None:
    plant(tenant)
    erase(tenant, partition=PERSON)
    assert {row.content for row in rows_of(Memory, tenant)} == {"Somebody else likes tea.", "Tea is hot."}
    (session,) = rows_of(Session, tenant)
    assert session.directive == KEPT
    messages = {row.content for row in rows_of(Message, tenant)}
    assert messages == {KEPT, "", f"[CONTEXT SUMMARY]\n{KEPT}"}
    (compaction,) = rows_of(Compaction, tenant)
    assert (compaction.summary_text, compaction.statements[0]["text"]) == (KEPT, "[erased]")
    assert session.current_id == compaction.pk
    (summary,) = rows_of(PartitionSummary, tenant)
    assert (summary.content, summary.origin) == (KEPT, "operator")
    assert summary.tokens_o200k_base < 20
    with tenant_scope(tenant.pk):
        counts = dict(PartitionCount.objects.for_tenant(tenant.pk).values_list("path", "subtree_rows"))
    assert counts == {"": 2, "user=sam": 1}


def test_one_memory_goes_with_its_versions_and_quotations_and_others_of_the_person_stay(tenant: Tenant) -> None:
    memory = plant(tenant)
    dry = erase(tenant, memory_id=memory.pk, is_dry_run=True)
    erasure = erase(tenant, memory_id=memory.pk)
    assert erasure.counts == erasure.expected == dry.expected
    assert places_with(FACT) == set()
    assert {row.content for row in rows_of(Memory, tenant)} == {
        *("Somebody else likes tea.", "Tea is hot.", "Another memory of the same person."),
    }
    assert not rows_of(MemoryVersion, tenant)
    assert len(rows_of(Session, tenant)) == 2
    assert {row.content for row in rows_of(Message, tenant)} == {KEPT, "", f"[CONTEXT SUMMARY]\n{KEPT}"}


def test_messages_that_a_journal_cites_go_with_its_memory(tenant: Tenant) -> None:
    plant(tenant)
    message = next(row for row in rows_of(Message, tenant) if row.sequence == 0)
    metadata = {"type": "journal", "message_ids": [str(message.pk)]}
    memory = make_memory(tenant, "A model's own words.", partition=PERSON, metadata=metadata)
    erase(tenant, memory_id=memory.pk)
    assert next(row for row in rows_of(Message, tenant) if row.pk == message.pk).content == "[erased]"


def test_tenant_goes_from_every_table_and_no_other_tenant_does(tenant: Tenant) -> None:
    other = make_tenant()
    plant(tenant)
    plant(other)
    before = {model: len(rows_of(model, other)) for model in tenant_models()}
    erasure = erase(tenant)
    assert erasure.state == "done"
    assert erasure.counts == erasure.expected
    with admin_write_scope():
        left = {model for model in tenant_models() if model.objects.filter(tenant_id=tenant.pk).exists()}
        assert not Tenant.objects.filter(pk=tenant.pk).exists()
    assert left == {Erasure}
    assert {model: len(rows_of(model, other)) for model in tenant_models()} == before
    assert is_receipt_valid(erasure)


def tenant_models() -> list[Any]:
    return [model for app in APPS for model in apps.get_app_config(app).get_models() if has_tenant(model)]


class _Killed(BaseException):
    """A worker that dies."""


def dying_after(batches: int) -> Callable[[Erasure], None]:
    left = iter(range(batches))

    def progress(_: Erasure) -> None:
        if next(left, None) is None:
            raise _Killed

    return progress


@pytest.mark.parametrize("target", ["partition", "tenant"])
def test_killed_erasure_continues_where_it_was(tenant: Tenant, target: str) -> None:
    plant(tenant)
    now = timezone.now()
    with tenant_scope(tenant.pk):
        scope = {"partition": PERSON} if target == "partition" else {}
        erasure = request_erasure(tenant=tenant, **scope, is_enqueued=False, by=TESTER, now=now)
    for deaths in range(1, 12):
        with pytest.raises(_Killed):
            run_erasure(tenant.pk, erasure.pk, now=now, progress=dying_after(3))
        assert run_erasure(tenant.pk, erasure.pk, now=now) == ""  # another worker has it
        now += timedelta(hours=1)
        assert reread(erasure).attempts == deaths
    assert run_erasure(tenant.pk, erasure.pk, now=now) == "done"
    done = reread(erasure)
    assert done.counts == done.expected
    assert is_receipt_valid(done)
    assert places_with(CANARY) == set()


def test_erasure_out_of_time_continues_and_fails_only_after_many_attempts_that_erased_nothing(tenant: Tenant) -> None:
    plant(tenant)
    now = timezone.now()
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, partition=PERSON, is_enqueued=False, by=TESTER, now=now)

    def time_is_up(_: Erasure) -> None:
        raise TimeIsUpError

    for _ in range(3):
        assert run_erasure(tenant.pk, erasure.pk, now=now, progress=time_is_up) == "queued"
        assert reread(erasure).attempts == 0
    for _ in range(ATTEMPTS_MAX - 1):
        assert run_erasure(tenant.pk, erasure.pk, now=now, time_limit=timedelta()) == "queued"
    assert run_erasure(tenant.pk, erasure.pk, now=now, time_limit=timedelta()) == "failed"
    assert (reread(erasure).error_code, len(places_with(CANARY)) > 0) == ("interrupted", True)


@pytest.fixture
def counting(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Erasure:
    """An erasure of a person; counting takes longer than a claim without renewals lasts."""
    plant(tenant)
    monkeypatch.setattr(orchestrator, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(orchestrator, "RENEWAL_SECONDS", 0.1)
    with tenant_scope(tenant.pk):
        return request_erasure(tenant=tenant, partition=PERSON, is_enqueued=False, by=TESTER, now=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_erasure_that_counts_for_long_keeps_its_claim(
    tenant: Tenant, counting: Erasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, counted = list[Any](), orchestrator.count_rows

    def count_for_long(parts: Sequence[Part]) -> dict[str, int]:
        monkeypatch.setattr(orchestrator, "count_rows", counted)
        time.sleep(1.5)
        found.extend(run_concurrently([lambda: run_erasure(tenant.pk, counting.pk, now=timezone.now())] * 2))
        return counted(parts)

    monkeypatch.setattr(orchestrator, "count_rows", count_for_long)
    assert run_erasure(tenant.pk, counting.pk, now=timezone.now()) == "done"
    assert found == ["", ""]
    assert is_receipt_valid(reread(counting))


@pytest.mark.django_db(transaction=True)
def test_erasure_that_lost_its_claim_neither_takes_it_back_nor_erases(
    tenant: Tenant, counting: Erasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_another, counted = timezone.now() + timedelta(minutes=5), orchestrator.count_rows

    def count_while_another_claims(parts: Sequence[Part]) -> dict[str, int]:
        run_concurrently([claim_for_another])
        time.sleep(0.5)
        return counted(parts)

    def claim_for_another() -> None:
        with tenant_scope(tenant.pk):
            Erasure.objects.for_tenant(tenant.pk).update(claimed_until=of_another)

    monkeypatch.setattr(orchestrator, "count_rows", count_while_another_claims)
    assert run_erasure(tenant.pk, counting.pk, now=timezone.now()) == ""
    assert (reread(counting).claimed_until, reread(counting).counts) == (of_another, {})


def test_another_run_continues_within_a_minute_of_a_death_while_counting(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tenant)
    now, counted = timezone.now(), orchestrator.count_rows
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, partition=PERSON, is_enqueued=False, by=TESTER, now=now)
    monkeypatch.setattr(orchestrator, "count_rows", lambda _: dying_after(0)(erasure))
    with pytest.raises(_Killed):
        run_erasure(tenant.pk, erasure.pk, now=now)
    monkeypatch.setattr(orchestrator, "count_rows", counted)
    assert run_erasure(tenant.pk, erasure.pk, now=now + timedelta(seconds=40)) == ""
    assert run_erasure(tenant.pk, erasure.pk, now=now + timedelta(seconds=60)) == "done"


def test_choosing_of_rows_ends_when_the_time_is_up(tenant: Tenant) -> None:
    plant(tenant)
    part = Part(Memory.objects.for_tenant(tenant.pk), ("content",), choose=list)
    with tenant_scope(tenant.pk), work_until(lambda: True), pytest.raises(TimeIsUpError):
        chosen_ids(part)


def test_receipt_names_nothing_and_notices_a_change(tenant: Tenant) -> None:
    plant(tenant)
    erasure = erase(tenant, partition=PERSON)
    assert (erasure.partition_path, erasure.memory_id) == ("", None)
    assert erasure.receipt is not None
    assert erasure.receipt["target_hmac"] == erased_target_hash(PERSON)
    assert CANARY not in str(erasure.receipt)
    assert is_receipt_valid(erasure)
    erasure.receipt["rows"]["memories"] += 1
    assert not is_receipt_valid(erasure)


def test_audit_log_names_who_erased_but_not_what(tenant: Tenant) -> None:
    plant(tenant)
    erasure = erase(tenant, partition=PERSON)
    entries = [row for row in rows_of(AuditEntry, tenant) if row.target_kind == "erasure"]
    assert sorted(row.verb for row in entries) == ["erase", "request_erasure"]
    assert {row.target_ids[0] for row in entries} == {str(erasure.pk)}


@pytest.mark.django_db(transaction=True)
def test_write_into_a_partition_that_is_erased_at_that_moment_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = new_shared_tenant("Acme")
    make_memory(tenant, "Soon gone.", partition=PERSON)
    client, found = api_client(new_key(tenant, "write")), store.ensure_partitions
    erased: list[Any] = []

    def erased_once_found(*args: Any) -> Any:
        partitions = found(*args)
        if not erased:
            erased.extend(run_concurrently([lambda: erase(tenant, partition=PERSON)]))
        return partitions

    monkeypatch.setattr(store, "ensure_partitions", erased_once_found)
    response = client.post("/api/v1/memories", {"content": "Comes later.", "partition": PERSON}, format="json")
    assert (response.status_code, erased[0].state) == (201, "done")
    assert [row.content for row in rows_of(Memory, tenant)] == ["Comes later."]
