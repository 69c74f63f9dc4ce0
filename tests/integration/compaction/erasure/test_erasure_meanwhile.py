"""Work that runs while an erasure does: nothing of it brings an erased text back, and no count is lost."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.erasure import effects
from compaction.erasure.actions import request_erasure
from compaction.erasure.orchestrator import run_erasure
from compaction.models import Erasure
from compaction.pipeline import orchestrator
from compaction.pipeline.journal import store_journal_entries
from compaction.rollups import rollups
from compaction.rollups.rollups import roll_up_changed_partitions, roll_up_partition
from compaction.sessions import context
from context.evaluation.actions.evaluations import request_evaluation
from context.evaluation.corpora import copy_golden_questions
from context.evaluation.staging import load_staged_corpus
from context.models import EvaluationRun, GoldenMemory, GoldenQuestion
from memories.models import Memory, Partition, PartitionSummary, Tenant
from memories.services.partitions.paths import parse_partition
from memories.store.actions.bulk import move_memories
from memories.tenancy.audit import ChangedValue, record_audit
from memories.tenancy.scopes import tenant_scope
from tests.factories import TESTER, make_memory
from tests.integration.compaction.erasure.planting import CANARY, FACT, PERSON, QUOTING, places_with
from tests.integration.compaction_helpers import (
    compact,
    conversation,
    full_session,
    review,
    set_policy,
    stored_compactions,
    stored_runs,
)
from tests.integration.session_helpers import append, assert_recounted, assistant, open_session, stored_session, user
from tests.sessions import new_compaction, new_session
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db(transaction=True)

Act = Callable[[], object]


def erase(tenant: Tenant, progress: Callable[[Erasure], None] = lambda _: None, **target: Any) -> None:
    now = timezone.now()
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, **target, is_enqueued=False, by=TESTER, now=now)
    assert run_erasure(tenant.pk, erasure.pk, now=now, progress=progress) == "done"


def once(act: Act) -> Act:
    """Return a function that calls `act` the first time only."""
    left = [act]
    return lambda: left.pop()() if left else None


def in_own_connection(act: Act) -> None:
    try:
        act()
    finally:
        connection.close()


def erase_in_thread(tenant: Tenant, **target: Any) -> None:
    """Erase as another worker does, with its own connection."""
    thread = threading.Thread(target=in_own_connection, args=[lambda: erase(tenant, **target)])
    thread.start()
    thread.join()


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.mark.parametrize("decision", ["apply", "review"])
def test_summary_that_is_drafted_meanwhile_is_made_again(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, decision: str
) -> None:
    set_policy(tenant, retention_floor=0.0, decision=decision)
    make_memory(tenant, FACT, partition=PERSON)
    session = open_session(admin, max_context_tokens=4_000)
    append(admin, session, user(QUOTING), assistant("Noted."), *conversation(40))
    compact(admin, session, 202, wait=False)
    drafts: list[str] = []

    def note_step(step: str) -> None:
        if step == "checked":
            drafts.append(step)
            if len(drafts) == 1:
                erase_in_thread(tenant, partition=PERSON)

    monkeypatch.setattr(orchestrator, "note_step", note_step)
    (run,) = stored_runs(tenant)
    done = orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now())
    assert (done.state, len(drafts)) == ({"apply": "applied", "review": "proposed"}[decision], 2)
    assert places_with(CANARY) == set()
    with tenant_scope(tenant.pk):
        assert_recounted(stored_session(tenant, session["id"]))


def test_edit_of_the_current_summary_is_not_lost_by_a_draft(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(tenant, retention_floor=0.0, decision="apply")
    session = full_session(admin)
    compact(admin, session)
    append(admin, session, *conversation(40, start=40))
    compact(admin, session, 202, wait=False)
    current = next(row for row in stored_compactions(tenant) if row.state == "applied")
    text = f"{current.summary_text}\nInes was promoted to head of the museum on 4 May 2026."
    edit = once(lambda: review(admin, {"id": current.pk}, "edit", text=text))
    monkeypatch.setattr(orchestrator, "note_step", lambda step: edit() if step == "checked" else None)
    (run,) = (row for row in stored_runs(tenant) if row.state == "queued")
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).state == "applied"
    latest = stored_session(tenant, session["id"]).current
    assert latest is not None
    assert latest.pk != current.pk
    assert "promoted to head of the museum" in latest.summary_text


def test_messages_appended_while_a_session_is_redacted_are_counted(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_memory(tenant, FACT, partition=PERSON)
    session = open_session(admin)
    append(admin, session, user(QUOTING))
    count = effects.recount_context
    threads: list[threading.Thread] = []

    def recount_then_append(row: Any) -> Any:
        columns = count(row)
        thread = threading.Thread(target=in_own_connection, args=[lambda: append(admin, session, user("And more."))])
        thread.start()
        thread.join(1)
        threads.append(thread)
        return columns

    monkeypatch.setattr(effects, "recount_context", recount_then_append)
    erase(tenant, partition=PERSON)
    for thread in threads:
        thread.join()
    with tenant_scope(tenant.pk):
        assert_recounted(stored_session(tenant, session["id"]))


def test_roll_up_that_read_an_erased_memory_reads_again(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = make_memory(tenant, FACT, partition="team=birds/topic=songs")
    make_memory(tenant, "The choir meets on Mondays.", partition="team=birds/topic=songs")
    write, erased = rollups._write, once(lambda: erase_in_thread(tenant, memory_id=memory.pk))

    def write_then_erase(*arguments: Any) -> Any:
        written = write(*arguments)
        erased()
        return written

    monkeypatch.setattr(rollups, "_write", write_then_erase)
    done = roll_up_partition(tenant.pk, partition_id(tenant, "team=birds"), "detailed", now=timezone.now())
    assert done.summary is not None
    assert "Mondays" in done.summary.content
    assert places_with(CANARY) == set()


def test_roll_up_that_ends_before_the_memories_are_deleted_is_deleted(tenant: Tenant) -> None:
    memory = make_memory(tenant, FACT, partition="team=birds/topic=songs")
    place = partition_id(tenant, "team=birds")

    def roll_up_late(at: Erasure) -> None:
        if "memories" not in at.counts:
            roll_up_partition(tenant.pk, place, "detailed", now=timezone.now())

    erase(tenant, roll_up_late, memory_id=memory.pk)
    assert places_with(CANARY) == set()


def test_responses_and_acts_of_the_time_of_the_erasure_go_too(tenant: Tenant) -> None:
    make_memory(tenant, "Sings.", partition=PERSON)
    client, now = api_client(new_key(tenant, "write")), timezone.now()
    session = open_session(client, partition=PERSON)

    def post(path: str, body: dict[str, Any]) -> None:
        response = client.post(f"/api/v1/{path}", body, format="json", headers={"Idempotency-Key": path})
        assert response.status_code == 201, response.content

    def write() -> None:
        post("memories", {"content": f"Short {CANARY}.", "partition": PERSON})
        post(f"sessions/{session['id']}/messages", {"messages": [user(f"Message {CANARY}.")]})

    def act() -> None:
        with tenant_scope(tenant.pk):
            change = ChangedValue("x", "partition", PERSON, "")
            record_audit("x", "x", ["x"], tenant_id=tenant.pk, changes=[change], by=TESTER, now=now)

    # after the stored responses, and later the acts, were chosen
    at_steps = {"receipts": once(write), "memories": once(act)}
    erase(tenant, lambda at: at_steps.get(at.step, int)(), partition=PERSON)
    assert places_with(CANARY) == set()


def test_texts_of_the_partitions_that_a_memory_left_are_erased_too(tenant: Tenant) -> None:
    make_memory(tenant, "The choir meets on Mondays.", partition="team=birds/topic=songs")
    memory = make_memory(tenant, FACT, partition="team=birds/topic=songs")
    assert roll_up_changed_partitions(now=timezone.now()) == 4
    move(tenant, memory, PERSON)
    erase(tenant, partition=PERSON)
    assert places_with(CANARY) == set()


def test_roll_ups_follow_a_memory_that_left(tenant: Tenant) -> None:
    memory = make_memory(tenant, FACT, partition="team=birds/topic=songs")
    assert roll_up_changed_partitions(now=timezone.now()) == 4
    move(tenant, memory, "user=sam")
    roll_up_changed_partitions(now=timezone.now())
    with tenant_scope(tenant.pk):
        current = PartitionSummary.objects.for_tenant(tenant.pk).current()
        assert set(current.values_list("partition__path", flat=True)) == {"user=sam"}


def test_context_of_a_session_that_is_erased_meanwhile_is_not_found(
    admin: APIClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_session(admin, partition=PERSON)
    append(admin, session, user("Hello."))
    read = context.read_session_conversation

    def read_then_erase(*arguments: Any) -> Any:
        conversation = read(*arguments)
        erase_in_thread(tenant, partition=PERSON)
        return conversation

    monkeypatch.setattr(context, "read_session_conversation", read_then_erase)
    assert admin.post(f"/api/v1/sessions/{session['id']}/context", {}).status_code == 404


@pytest.mark.parametrize("scope", ["memory", "tenant"])
def test_copies_of_memories_for_a_comparison_of_models_go_too(tenant: Tenant, scope: str) -> None:
    memory, now = make_memory(tenant, FACT, partition="user=sam", is_embedded=True), timezone.now()
    with tenant_scope(tenant.pk):
        question = GoldenQuestion.objects.create(tenant=tenant, text="Who?", partition_path="user=sam", created_at=now)
        GoldenMemory.objects.create(tenant=tenant, question=question, memory=memory)
        values = {"corpus_kind": EvaluationRun.Corpus.GOLDEN_COPY, "is_enqueued": False}
        run = request_evaluation(tenant_id=tenant.pk, **values, by=TESTER, now=now)
        copy = copy_golden_questions(tenant.pk, now=now, most=10)
    load_staged_corpus(run.pk, copy, now=now, loaded=lambda _: None)
    erase(tenant, **({"memory_id": memory.pk} if scope == "memory" else {}))
    assert places_with(CANARY) == set()
    with tenant_scope(tenant.pk):
        states = list(EvaluationRun.objects.for_tenant(tenant.pk).values_list("state", flat=True))
    assert states == (["cancelled"] if scope == "memory" else [])


def test_erased_fact_of_a_journal_is_not_stored(tenant: Tenant) -> None:
    entry = {"text": "[erased]", "status": "new", "memory_id": None, "message_ids": []}
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        compaction = new_compaction(session, journal=[entry])
        assert store_journal_entries(compaction, session, {}, by=TESTER, now=timezone.now()) == []
    assert compaction.journal[0]["status"] == "invalid"


def partition_id(tenant: Tenant, path: str) -> int:
    with tenant_scope(tenant.pk):
        return int(Partition.objects.for_tenant(tenant.pk).get(path=path).pk)


def move(tenant: Tenant, memory: Memory, path: str) -> None:
    with tenant_scope(tenant.pk):
        seen, to = {memory.pk: memory.version}, parse_partition(path)
        move_memories(tenant_id=tenant.pk, seen=seen, to=to, by=TESTER, now=timezone.now())
