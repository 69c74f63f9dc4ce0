"""When memories get vectors: in the request, from the worker or the sweep, and under concurrent changes."""

import base64
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from kombu.exceptions import OperationalError as BrokerError

from memories import tasks
from memories.embeddings import indexer
from memories.embeddings.actions import reembed_memories
from memories.embeddings.providers import EmbeddingError, EmbeddingVectors
from memories.embeddings.providers.hashed_embedder import HashedNgramEmbedder
from memories.models import IdempotencyRecord, Memory, MemoryEmbedding, RecalledText, StoredAct, Tenant
from memories.services.store.drafts import NewMemory
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.recall import delete_expired_records
from memories.tenancy.scopes import tenant_scope
from memory_platform.celery import app
from tests.factories import FACTORY_NOW, TESTER, make_key, make_memory, make_tenant, reread_memory
from tests.fakes.embedding_server import (
    DIMENSION,
    FAKE_EMBEDDING_API_KEY,
    FAKE_EMBEDDING_MODEL,
    EmbeddingServer,
    failing_embedding,
    running_embedding_server,
)

pytestmark = pytest.mark.django_db


class Interrupted(HashedNgramEmbedder):
    """Calls a function while it embeds."""

    def __init__(self, interruption: Callable[[], object]) -> None:
        self.interruption = interruption

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        self.interruption()
        return super().embed(texts)


@pytest.fixture
def server(settings: Any) -> Iterator[EmbeddingServer]:
    """A remote provider that the settings name."""
    with running_embedding_server() as server:
        settings.EMBEDDING_PROVIDER = "openai"
        settings.EMBEDDING_BASE_URL, settings.EMBEDDING_API_KEY = server.base_url, FAKE_EMBEDDING_API_KEY
        settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSION = FAKE_EMBEDDING_MODEL, DIMENSION
        yield server
        settings.EMBEDDING_PROVIDER = "hashed"


def store_ahead(tenant: Tenant, *texts: str, embedded: Sequence[str]) -> list[Memory]:
    """Store texts in one transaction; those of `embedded` already have vectors."""
    ahead = indexer.embed_ahead(tenant.pk, embedded)
    rows = [NewMemory(content=text) for text in texts]
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=rows, ahead=ahead, by=TESTER, now=FACTORY_NOW)
    return [result.memory for result in results if result.memory is not None]


def test_memories_with_vectors_made_before_are_stored_as_embedded(tenant: Tenant) -> None:
    kiln, lathe = store_ahead(tenant, "The kiln is red.", " The lathe is grey. ", embedded=["The kiln is red."])
    assert (kiln.embedding_state, lathe.embedding_state) == ("ready", "pending")
    assert [version for version, _ in vectors_of(kiln)] == [1]
    assert vectors_of(lathe) == []


def test_vectors_of_another_model_than_the_active_one_are_not_stored(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_ahead(tenant, "The kiln is red.", embedded=["The kiln is red."])
    other = HashedNgramEmbedder()
    other.name = "another-model"
    monkeypatch.setattr(indexer, "embedders_for_writing", lambda *_: [other])
    (press,) = store_ahead(tenant, "The press is blue.", embedded=["The press is blue."])
    assert press.embedding_state == "pending"
    assert vectors_of(press) == []


def vectors_of(memory: Memory) -> list[tuple[int, str]]:
    with tenant_scope(memory.tenant_id):
        rows = MemoryEmbedding.objects.for_tenant(memory.tenant_id).filter(memory=memory)
        return sorted(rows.values_list("version", "model"))


def edit(memory: Memory, content: str) -> Memory:
    with tenant_scope(memory.tenant_id):
        return update_memory(
            memory=memory, changes={"content": content}, by=TESTER, now=FACTORY_NOW + timedelta(hours=1)
        )


def test_vector_is_stored_with_its_model_and_dimension(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers tea.")
    assert memory.embedding_state == "pending"
    indexer.index_now(tenant.pk, [memory.pk])
    assert reread_memory(memory).embedding_state == "ready"
    with tenant_scope(tenant.pk):
        (row,) = MemoryEmbedding.objects.for_tenant(tenant.pk)
    assert (row.model, row.dimension, row.version) == ("wordllama-l2-supercat-256", 256, 1)
    assert np.linalg.norm(row.vector) == pytest.approx(1, abs=1e-2)


def test_indexing_again_does_nothing(tenant: Tenant) -> None:
    memory = make_memory(tenant, is_embedded=True)
    assert indexer.index_memories(tenant.pk, [memory.pk]) == 0
    assert indexer.index_memories(tenant.pk, [uuid4()]) == 0


def test_memory_of_another_tenant_is_not_embedded(tenant: Tenant, other_tenant: Tenant) -> None:
    memory = make_memory(other_tenant)
    assert indexer.index_memories(tenant.pk, [memory.pk]) == 0
    assert reread_memory(memory).embedding_state == "pending"


def test_edit_while_embedding_leaves_the_new_version_pending(tenant: Tenant) -> None:
    memory = make_memory(tenant, "before")
    indexer.index_memories(tenant.pk, [memory.pk], Interrupted(lambda: edit(memory, "after")))
    assert reread_memory(memory).embedding_state == "pending"
    assert [version for version, _ in vectors_of(memory)] == [1]
    indexer.index_memories(tenant.pk, [memory.pk])
    assert reread_memory(memory).embedding_state == "ready"
    assert [version for version, _ in vectors_of(memory)] == [1, 2]


def test_edit_while_embedding_again_leaves_the_copied_vector_pending(tenant: Tenant) -> None:
    memory, embedder = make_memory(tenant), HashedNgramEmbedder()
    indexer.index_memories(tenant.pk, [memory.pk], embedder)
    with tenant_scope(tenant.pk):
        reembed_memories(tenant=tenant, memory_ids=[memory.pk], by=TESTER, now=FACTORY_NOW)

    def change_kind() -> None:
        with tenant_scope(tenant.pk):
            changes, now = {"kind": "preference"}, FACTORY_NOW + timedelta(hours=1)
            update_memory(memory=memory, changes=changes, by=TESTER, now=now)

    indexer.index_memories(tenant.pk, [memory.pk], Interrupted(change_kind))
    assert [version for version, _ in vectors_of(memory)] == [1, 2]
    assert reread_memory(memory).embedding_state == "pending"
    assert indexer.index_memories(tenant.pk, [memory.pk], embedder) == 1


def test_second_worker_that_was_faster_is_no_error(tenant: Tenant) -> None:
    memory = make_memory(tenant)
    embedder = HashedNgramEmbedder()
    late = Interrupted(lambda: indexer.index_memories(tenant.pk, [memory.pk], embedder))
    indexer.index_memories(tenant.pk, [memory.pk], late)
    assert vectors_of(memory) == [(1, "hashed-ngram-512")]
    assert reread_memory(memory).embedding_state == "ready"


def test_memory_erased_while_embedding_is_passed_over(tenant: Tenant) -> None:
    gone, kept = make_memory(tenant), make_memory(tenant)

    def erase() -> None:
        with tenant_scope(tenant.pk):
            Memory.objects.filter(pk=gone.pk).delete()

    assert indexer.index_memories(tenant.pk, [gone.pk, kept.pk], Interrupted(erase)) == 1
    assert reread_memory(kept).embedding_state == "ready"


# --- A remote provider ---------------------------------------------------------------------------------------------


def queued() -> list[tuple[str, list[str]]]:
    """Take what is queued in the broker: names and arguments of tasks."""
    with app.connection_for_read() as connection:
        client: Any = getattr(connection.default_channel, "client")  # noqa: B009 - the Redis transport's own
        messages = [json.loads(raw) for raw in client.lrange("embedding", 0, -1)]
        client.delete("embedding")

    return [(message["headers"]["task"], json.loads(base64.b64decode(message["body"]))[0]) for message in messages]


@pytest.mark.django_db(transaction=True)
def test_write_with_a_remote_provider_enqueues_after_the_commit(server: EmbeddingServer) -> None:
    tenant = make_tenant()
    queued()
    with tenant_scope(tenant.pk):
        rows = [NewMemory("Alex prefers tea.")]
        memory = store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)[0].memory
        assert memory is not None
        assert queued() == []
    assert queued() == [("memories.tasks.embed_memory", [str(tenant.pk), str(memory.pk)])]
    indexer.index_now(tenant.pk, [memory.pk])
    assert (reread_memory(memory).embedding_state, server.requests) == ("pending", [])
    tasks.embed_memory.apply(args=(str(tenant.pk), str(memory.pk)), throw=True)
    assert reread_memory(memory).embedding_state == "ready"
    assert vectors_of(memory) == [(1, FAKE_EMBEDDING_MODEL)]


@pytest.mark.django_db(transaction=True)
def test_broker_that_is_away_does_not_fail_the_write(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise BrokerError("connection refused")

    monkeypatch.setattr(tasks.embed_memory, "apply_async", refuse)
    tenant = make_tenant()
    with caplog.at_level(logging.WARNING):
        memory = make_memory(tenant, "a secret text")
    assert memory.embedding_state == "pending"
    assert "broker is unavailable" in caplog.text
    assert "secret" not in caplog.text


def test_temporary_failure_leaves_the_memory_pending_with_its_reason(tenant: Tenant, server: EmbeddingServer) -> None:
    memory = make_memory(tenant)
    server.faults.append(failing_embedding(503))
    with pytest.raises(EmbeddingError):
        indexer.index_memories(tenant.pk, [memory.pk])
    assert (reread_memory(memory).embedding_state, reread_memory(memory).embedding_error) == (
        "pending",
        "The embedding endpoint returned the status 503.",
    )
    indexer.index_memories(tenant.pk, [memory.pk])
    assert (reread_memory(memory).embedding_state, reread_memory(memory).embedding_error) == ("ready", "")


def test_text_that_is_refused_fails_alone(tenant: Tenant, server: EmbeddingServer) -> None:
    memories = [make_memory(tenant, f"text {number}") for number in range(9)]
    server.refuses = "text 4"
    assert indexer.index_memories(tenant.pk, [memory.pk for memory in memories]) == 8
    states = [reread_memory(memory).embedding_state for memory in memories]
    assert states == ["ready"] * 4 + ["failed"] + ["ready"] * 4
    assert reread_memory(memories[4]).embedding_error == "The embedding endpoint returned the status 400."


def test_edited_text_that_had_failed_is_tried_again(tenant: Tenant, server: EmbeddingServer) -> None:
    memory = make_memory(tenant, "refused")
    server.refuses = "refused"
    indexer.index_memories(tenant.pk, [memory.pk])
    edit(memory, "fine")
    assert indexer.index_memories(tenant.pk, [memory.pk]) == 1


def test_task_is_retried_on_named_errors_with_backoff_and_jitter() -> None:
    task: Any = tasks.embed_memory
    assert EmbeddingError in task.autoretry_for
    assert Exception not in task.autoretry_for
    assert task.retry_backoff
    assert task.retry_jitter
    assert task.time_limit < app.conf.broker_transport_options.get("visibility_timeout", 3600)


# --- Sweeps --------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_sweep_is_running() -> Iterator[None]:
    cache.delete(indexer.EMBEDDING_SWEEP_LOCK)
    yield
    cache.delete(indexer.EMBEDDING_SWEEP_LOCK)


def test_sweep_embeds_what_was_left_behind_in_every_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    left = [make_memory(tenant), make_memory(other_tenant)]
    young = make_memory(tenant, now=FACTORY_NOW + timedelta(seconds=55))
    archived = make_memory(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=archived, by=TESTER, now=FACTORY_NOW)
    assert indexer.embed_pending_memories(now=FACTORY_NOW + timedelta(seconds=60)) == 2
    assert [reread_memory(memory).embedding_state for memory in left] == ["ready", "ready"]
    assert [reread_memory(memory).embedding_state for memory in (young, archived)] == ["pending", "pending"]


def test_sweep_takes_a_bounded_number_oldest_first(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "SWEEP_MAX", 2)
    monkeypatch.setattr(indexer, "SWEEP_BATCH", 1)
    newest, middle, oldest = (make_memory(tenant, now=FACTORY_NOW - timedelta(hours=hours)) for hours in range(3))
    with CaptureQueriesContext(connection) as queries:
        assert indexer.embed_pending_memories(now=FACTORY_NOW + timedelta(minutes=1)) == 2
    assert sum("ROW_NUMBER()" in query["sql"] for query in queries) == 1, "ordered once, not for each batch"
    assert [reread_memory(memory).embedding_state for memory in (newest, middle, oldest)] == [
        "pending",
        "ready",
        "ready",
    ]


def test_sweep_stops_at_a_provider_that_is_away(tenant: Tenant, other_tenant: Tenant, server: EmbeddingServer) -> None:
    make_memory(tenant)
    make_memory(other_tenant)
    server.faults.append(failing_embedding(503))
    assert indexer.embed_pending_memories(now=FACTORY_NOW + timedelta(minutes=1)) == 0
    assert len(server.requests) == 1


def test_one_sweep_runs_at_a_time(tenant: Tenant) -> None:
    make_memory(tenant)
    cache.add(indexer.EMBEDDING_SWEEP_LOCK, True, 10)
    assert indexer.embed_pending_memories(now=FACTORY_NOW + timedelta(minutes=1)) == 0
    cache.delete(indexer.EMBEDDING_SWEEP_LOCK)
    assert tasks.sweep_pending_embeddings.apply(throw=True).get() == 1


def test_old_records_are_forgotten_in_every_tenant(
    tenant: Tenant, other_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.store.recall.FORGET_BATCH", 2)  # three of a kind exceed a batch
    ages = [timedelta(hours=23), timedelta(hours=25), timedelta(days=29), timedelta(days=31)]
    for owner in (tenant, other_tenant):
        memory, (key, _) = make_memory(owner), make_key(owner)
        with tenant_scope(owner.pk):
            for number, age in enumerate(ages):
                RecalledText.objects.create(
                    tenant=owner, memory=memory, recalled_hash=str(number), recalled_at=FACTORY_NOW - age
                )
                IdempotencyRecord.objects.create(
                    tenant=owner,
                    api_key=key,
                    idempotency_key=str(number),
                    request_hash="h",
                    created_at=FACTORY_NOW - age,
                )
            for act, days, undone_at in (
                *(("change", 89, None), ("change", 91, None)),
                *(("replace", 91, None), ("replace", 91, FACTORY_NOW)),
            ):
                at = FACTORY_NOW - timedelta(days=days)
                StoredAct.objects.create(tenant=owner, act=act, at=at, undone_at=undone_at)
    assert delete_expired_records(now=FACTORY_NOW) == 2 * (1 + 3 + 3)
    with tenant_scope(tenant.pk):
        assert list(RecalledText.objects.values_list("recalled_hash", flat=True)) == ["0", "1", "2"]
        assert list(IdempotencyRecord.objects.values_list("idempotency_key", flat=True)) == ["0"]
        assert {*StoredAct.objects.values_list("act", "undone_at")} == {("change", None)}


def test_beat_names_tasks_that_exist() -> None:
    app.loader.import_default_modules()
    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in app.tasks
