"""Re-embedding with a real Celery worker over real HTTP, killed midway, while others write and search."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from memories import tasks
from memories.embeddings.actions import start_reembedding
from memories.embeddings.indexer import index_memories, index_now
from memories.models import EmbeddingModel, Memory, MemoryEmbedding, MemoryVersion, Tenant
from memories.services.store.drafts import NewMemory
from memories.store.actions.edit import update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.scopes import tenant_scope
from memory_platform.celery import app
from memory_platform.embedded.environment import EmbeddingEndpoint
from tests.factories import TESTER, make_tenant
from tests.fakes.embedding_server import (
    DIMENSION,
    FAKE_EMBEDDING_API_KEY,
    FAKE_EMBEDDING_MODEL,
    EmbeddingAnswer,
    EmbeddingServer,
    Fault,
    running_embedding_server,
    slow_embedding,
)
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

ROOT = Path(__file__).resolve().parents[4]
FIRST = "wordllama-l2-supercat-256"
TEXTS = [f"Shelf {number} of the store room holds {number * 7} boxes." for number in range(400)]
WAIT_SECONDS = 200
BATCH = 100
#: By each writer; each text is searched for at the end.
WRITE_PAUSE_SECONDS = 0.5


@pytest.fixture
def server(settings: Any) -> Iterator[EmbeddingServer]:
    with running_embedding_server() as server:
        settings.EMBEDDING_ENDPOINTS = (
            EmbeddingEndpoint(FAKE_EMBEDDING_MODEL, DIMENSION, server.base_url, FAKE_EMBEDDING_API_KEY),
        )
        yield server
        settings.EMBEDDING_ENDPOINTS = ()


@pytest.fixture
def tenant(transactional_db: None, server: EmbeddingServer) -> Tenant:
    tenant = make_tenant()
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=[NewMemory(text) for text in TEXTS], by=TESTER, now=timezone.now())
    index_memories(tenant.pk, [result.memory.pk for result in results if result.memory])
    with app.connection_for_write() as broker:
        broker.default_channel.queue_purge("embedding")
    cache.clear()
    return tenant


class Worker:
    """A Celery worker in a separate process."""

    def __init__(self, folder: Path, server: EmbeddingServer) -> None:
        endpoint = {
            "model": FAKE_EMBEDDING_MODEL,
            "dimension": DIMENSION,
            "base_url": server.base_url,
            "api_key": FAKE_EMBEDDING_API_KEY,
        }
        environment = {**os.environ, "EMBEDDING_ENDPOINTS": json.dumps([endpoint])}
        command = ["-m", "celery", "-A", "memory_platform", "worker", "--pool", "threads", "-c", "2", "-l", "WARNING"]
        self.log = (folder / f"worker-{time.monotonic_ns()}.log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=environment, stdout=self.log, stderr=self.log
        )

    def kill(self) -> None:
        """Kill it as `kill -9` does: nothing is cleaned up."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def new_worker(tmp_path: Path, server: EmbeddingServer) -> Iterator[Callable[[], Worker]]:
    workers: list[Worker] = []

    def begin() -> Worker:
        workers.append(Worker(tmp_path, server))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.kill()
        worker.log.close()


def wait_for(condition: Callable[[], bool], worker: Worker) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            worker.log.seek(0)
            pytest.fail(worker.log.read()[-3_000:])
        time.sleep(0.05)


def model_of(tenant: Tenant, name: str = FAKE_EMBEDDING_MODEL) -> EmbeddingModel:
    with tenant_scope(tenant.pk):
        row: EmbeddingModel = EmbeddingModel.objects.for_tenant(tenant.pk).named(name).get()
        return row


def vectors(tenant: Tenant, name: str) -> set[tuple[str, int]]:
    with tenant_scope(tenant.pk):
        rows = MemoryEmbedding.objects.for_tenant(tenant.pk).of_model(name)
        return {(str(pk), version) for pk, version in rows.values_list("memory_id", "version")}


def versions(tenant: Tenant) -> set[tuple[str, int]]:
    with tenant_scope(tenant.pk):
        heads = Memory.objects.for_tenant(tenant.pk).values_list("pk", "version")
        former = MemoryVersion.objects.for_tenant(tenant.pk).values_list("memory_id", "version")
        return {(str(pk), version) for pk, version in (*heads, *former)}


def found_models(tenant: Tenant, texts: list[str]) -> set[str]:
    """Search each text: its own vector finds it, without a warning; return the models that were searched with."""
    models = set()
    for text in texts:
        found = retrieve_for_test(
            tenant, text, now=timezone.now(), token_budget=200, overfetch_ratio=1.0, mode="vector"
        )
        similarities = {candidate.content: candidate.similarity for candidate in found.candidates}
        assert (similarities.get(text), found.warnings) == (pytest.approx(1.0, abs=2e-3), [])
        models.add(found.query.model)
    return models


def swept() -> bool:
    """Run what beat would send."""
    time.sleep(1)
    tasks.sweep_embedding_models()
    tasks.sweep_pending_embeddings.delay()
    return False


class Writer(threading.Thread):
    """Stores and edits memories until stopped, and embeds them as API and pages do."""

    def __init__(self, tenant: Tenant, name: str) -> None:
        super().__init__(name=name)
        self.tenant, self.ended, self.texts = tenant, threading.Event(), list[str]()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self.ended.wait(WRITE_PAUSE_SECONDS):
                self._write(len(self.texts))
        except Exception as error:  # noqa: BLE001 - reported by the test
            self.error = error
        finally:
            connection.close()

    def _write(self, number: int) -> None:
        text = f"Writer {self.name} saw pallet {number} arrive at gate {number % 9}."
        with tenant_scope(self.tenant.pk):
            rows = [NewMemory(text)]
            memory = store_memories(tenant=self.tenant, rows=rows, by=TESTER, now=timezone.now())[0].memory
        assert memory is not None
        index_now(self.tenant.pk, [memory.pk])
        if number % 3 == 0:
            text = f"{text} Corrected."
            with tenant_scope(self.tenant.pk):
                update_memory(memory=memory, changes={"content": text}, by=TESTER, now=timezone.now())
            index_now(self.tenant.pk, [memory.pk])
        self.texts.append(text)


def permitted_embedding(permits: threading.Semaphore) -> Fault:
    """Respond late, and to a request with texts about shelves only with a permit."""
    late = slow_embedding(0.4)

    def answer(server: EmbeddingServer, texts: Sequence[str]) -> EmbeddingAnswer:
        if any(text.startswith("Shelf") for text in texts):
            permits.acquire()
        return late(server, texts)

    return answer


def test_worker_killed_in_the_middle_loses_and_doubles_nothing_while_others_write_and_search(
    tenant: Tenant, server: EmbeddingServer, new_worker: Callable[[], Worker]
) -> None:
    permits = threading.Semaphore(3)
    server.faults.extend([permitted_embedding(permits)] * 1_000)
    shelves = versions(tenant)
    writers = [Writer(tenant, name) for name in ("one", "two")]
    with tenant_scope(tenant.pk):
        start_reembedding(
            tenant=tenant, model=FAKE_EMBEDDING_MODEL, switches_when_filled=True, by=TESTER, now=timezone.now()
        )
    worker = new_worker()
    for writer in writers:
        writer.start()
    try:
        wait_for(lambda: len(vectors(tenant, FAKE_EMBEDDING_MODEL) & shelves) >= 2 * BATCH, worker)
        worker.kill()
        assert not vectors(tenant, FAKE_EMBEDDING_MODEL) >= shelves
        assert found_models(tenant, [*TEXTS[::200], *writers[0].texts[:3]]) == {FIRST}
        server.faults.clear()
        permits.release(len(TEXTS))
        with tenant_scope(tenant.pk):
            expired_at = timezone.now() - timedelta(seconds=1)
            EmbeddingModel.objects.filter(pk=model_of(tenant).pk).update(claimed_until=expired_at)
        assert tasks.sweep_embedding_models() == 1
        worker = new_worker()
        wait_for(lambda: model_of(tenant).state == "active", worker)
        written = [text for writer in writers for text in writer.texts[:3]]
        assert found_models(tenant, [*TEXTS[::200], *written]) <= {FAKE_EMBEDDING_MODEL}
    finally:
        for writer in writers:
            writer.ended.set()
        for writer in writers:
            writer.join()
    assert [writer.error for writer in writers] == [None, None]
    # The last writes wait for the worker, as every write with a remote model does.
    wait_for(lambda: vectors(tenant, FAKE_EMBEDDING_MODEL) >= versions(tenant) or swept(), worker)
    call_command("reembed", "--roll-back", "--wait", "--tenant", tenant.name)
    assert model_of(tenant, FIRST).state == "active"
    assert vectors(tenant, FIRST) == vectors(tenant, FAKE_EMBEDDING_MODEL) == versions(tenant)
    assert found_models(tenant, [*TEXTS[::200], *(text for writer in writers for text in writer.texts)]) == {FIRST}
    sent = Counter(text for request in server.requests for text in request if text.startswith("Shelf"))
    again = sum(count - 1 for count in sent.values())
    searched = 2 * len(TEXTS[::200])
    assert set(sent) == set(TEXTS)
    assert again <= BATCH + searched
