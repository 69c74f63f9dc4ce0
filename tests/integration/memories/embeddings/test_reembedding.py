"""Re-embedding loses nothing: filling alongside, switching, rolling back, resuming, refusing."""

import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from memories.embeddings import indexer, providers, reembedding
from memories.embeddings.actions import (
    retire_embedding_model,
    retry_refused_vectors,
    roll_back_embedding_model,
    start_reembedding,
    switch_embedding_model,
)
from memories.embeddings.checks import log_model_problems, stored_models_fit_settings
from memories.embeddings.embedders import embedder_of, model_problems
from memories.embeddings.providers import (
    LOCAL_MODELS,
    CheckedEmbedder,
    Embedder,
    EmbeddingError,
    EmbeddingVectors,
    get_embedder,
)
from memories.embeddings.providers.hashed_embedder import HashedNgramEmbedder
from memories.embeddings.providers.wordllama_embedder import WordLlamaEmbedder
from memories.embeddings.status import ModelStatus, model_statuses
from memories.models import AuditEntry, EmbeddingModel, Memory, MemoryEmbedding, MemoryVersion, MissingVector, Tenant
from memories.search.retrieval import Retrieval
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.scopes import tenant_scope
from memory_platform.embedded.environment import EmbeddingEndpoint
from tests.factories import FACTORY_NOW, TESTER, make_memory, reread_memory
from tests.fakes.embedding_server import (
    DIMENSION,
    FAKE_EMBEDDING_API_KEY,
    FAKE_EMBEDDING_MODEL,
    EmbeddingServer,
    failing_embedding,
    running_embedding_server,
)
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db

FIRST, SECOND = "wordllama-l2-supercat-256", "hashed-ngram-512"
TEXTS = ["Alex prefers green tea.", "The gate code is 4012.", "Mira bakes rye bread.", "The office closes at six."]
#: The cosines to the texts differ, and their order depends on the model.
QUERY = "Is the code of the office for Alex and Mira?"
AT = {"by": TESTER, "now": FACTORY_NOW}


@pytest.fixture
def server(settings: Any) -> Iterator[EmbeddingServer]:
    """A second provider over HTTP that the settings name in addition to the default."""
    with running_embedding_server() as server:
        settings.EMBEDDING_ENDPOINTS = (
            EmbeddingEndpoint(FAKE_EMBEDDING_MODEL, DIMENSION, server.base_url, FAKE_EMBEDDING_API_KEY),
        )
        yield server
        settings.EMBEDDING_ENDPOINTS = ()


@pytest.fixture
def memories(tenant: Tenant) -> list[Memory]:
    return [make_memory(tenant, text, is_embedded=True) for text in TEXTS]


def start(tenant: Tenant, model: str = SECOND, *, switches: bool = False) -> EmbeddingModel:
    with tenant_scope(tenant.pk):
        return start_reembedding(tenant=tenant, model=model, switches_when_filled=switches, **AT)


def work(tenant: Tenant, model: EmbeddingModel, *, batches: int = 1_000, now: Any = FACTORY_NOW) -> bool:
    left = iter(range(batches))
    return reembedding.advance_embedding_model(
        tenant.pk, model.pk, can_continue=lambda: next(left, None) is not None, clock=lambda: now
    )


def switch(tenant: Tenant, **options: Any) -> bool:
    with tenant_scope(tenant.pk):
        return switch_embedding_model(tenant=tenant, **options, **AT).is_done


def roll_back(tenant: Tenant, **options: Any) -> bool:
    with tenant_scope(tenant.pk):
        return roll_back_embedding_model(tenant=tenant, **options, **AT).is_done


def retire(tenant: Tenant, model: str) -> EmbeddingModel:
    with tenant_scope(tenant.pk):
        return retire_embedding_model(tenant=tenant, model=model, **AT)


def states(tenant: Tenant) -> dict[str, str]:
    with tenant_scope(tenant.pk):
        return dict(EmbeddingModel.objects.for_tenant(tenant.pk).values_list("name", "state"))


def status(tenant: Tenant, name: str) -> ModelStatus:
    with tenant_scope(tenant.pk):
        return next(each for each in model_statuses(tenant.pk, FACTORY_NOW) if each.model.name == name)


def vectors(tenant: Tenant, model: str) -> set[tuple[str, int]]:
    """Return text and version of every vector of a model."""
    with tenant_scope(tenant.pk):
        rows = MemoryEmbedding.objects.for_tenant(tenant.pk).of_model(model)
        return {(str(pk), version) for pk, version in rows.values_list("memory_id", "version")}


def versions(tenant: Tenant) -> set[tuple[str, int]]:
    with tenant_scope(tenant.pk):
        heads = Memory.objects.for_tenant(tenant.pk).values_list("pk", "version")
        former = MemoryVersion.objects.for_tenant(tenant.pk).values_list("memory_id", "version")
        return {(str(pk), version) for pk, version in (*heads, *former)}


def search(tenant: Tenant, query: str, **options: Any) -> Retrieval:
    return retrieve_for_test(tenant, query, now=FACTORY_NOW, token_budget=4_000, overfetch_ratio=1.25, **options)


def order(tenant: Tenant, query: str) -> list[str]:
    return [candidate.content for candidate in search(tenant, query, mode="vector").candidates]


def expected(embedder: Embedder, texts: Sequence[str], query: str) -> list[str]:
    """Return the texts in the order of their cosine to the query, computed here."""
    query_vector = embedder.embed([query])[0].astype(np.float16).astype(np.float32)
    cosines = embedder.embed(list(texts)) @ query_vector
    return [texts[place] for place in np.argsort(-cosines, kind="stable")]


def edit(memory: Memory, **changes: Any) -> Memory:
    with tenant_scope(memory.tenant_id):
        return update_memory(memory=memory, changes=changes, by=TESTER, now=FACTORY_NOW + timedelta(hours=1))


# --- Filling and switching -----------------------------------------------------------------------------------------


def test_search_is_right_before_while_and_after_the_switch_and_after_the_roll_back(
    tenant: Tenant, memories: list[Memory]
) -> None:
    query = QUERY
    first, second = (expected(get_embedder(name), TEXTS, query) for name in (FIRST, SECOND))
    assert order(tenant, query) == first != second
    model = start(tenant)
    assert order(tenant, query) == first
    work(tenant, model, batches=1)
    assert order(tenant, query) == first
    work(tenant, model)
    assert states(tenant) == {FIRST: "active", SECOND: "standby"}
    assert order(tenant, query) == first
    assert switch(tenant)
    assert order(tenant, query) == second
    found = search(tenant, query)
    assert found.plan["embed"]["model"] == SECOND
    assert found.warnings == []
    assert roll_back(tenant)
    assert order(tenant, query) == first
    assert states(tenant) == {FIRST: "active", SECOND: "standby"}


def test_the_worker_switches_by_itself_once_all_is_filled(tenant: Tenant, memories: list[Memory]) -> None:
    model = start(tenant, switches=True)
    work(tenant, model)
    assert states(tenant) == {FIRST: "standby", SECOND: "active"}


def test_superseded_and_archived_versions_get_vectors_too(tenant: Tenant, memories: list[Memory]) -> None:
    edit(memories[0], content="Alex prefers coffee.")
    indexer.index_memories(tenant.pk, [memories[0].pk])
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[1], by=TESTER, now=FACTORY_NOW + timedelta(hours=1))
    work(tenant, start(tenant, switches=True))
    assert vectors(tenant, SECOND) == versions(tenant) == vectors(tenant, FIRST)
    assert len(versions(tenant)) == 5


def test_version_superseded_before_it_had_a_vector_gets_one_of_every_model(
    tenant: Tenant, memories: list[Memory]
) -> None:
    model = start(tenant)
    work(tenant, model)
    new = make_memory(tenant, "Superseded at once.")
    edit(new, content="What it says now.")
    indexer.index_memories(tenant.pk, [new.pk])
    for name in (FIRST, SECOND):
        assert (str(new.pk), 1) not in vectors(tenant, name)
    assert len(indexer.embedding_models_with_work()) == 2
    for tenant_id, model_id in indexer.embedding_models_with_work():
        reembedding.advance_embedding_model(tenant_id, model_id, can_continue=lambda: True, clock=lambda: FACTORY_NOW)
    assert vectors(tenant, FIRST) == vectors(tenant, SECOND) == versions(tenant)
    assert indexer.embedding_models_with_work() == []


def test_writes_while_filling_get_vectors_of_both_models(tenant: Tenant, memories: list[Memory]) -> None:
    model = start(tenant)
    new = make_memory(tenant, "Written while filling.", is_embedded=True)
    edit(memories[0], content="Edited while filling.")
    indexer.index_memories(tenant.pk, [memories[0].pk])
    edit(memories[1], pinned=True)
    assert {(str(new.pk), 1), (str(memories[0].pk), 2)} <= vectors(tenant, SECOND)
    work(tenant, model)
    assert vectors(tenant, SECOND) == versions(tenant)


def test_writes_after_the_switch_keep_the_former_model_complete(tenant: Tenant, memories: list[Memory]) -> None:
    work(tenant, start(tenant, switches=True))
    new = make_memory(tenant, "Written after the switch.", is_embedded=True)
    edit(new, pinned=True)
    assert vectors(tenant, FIRST) == vectors(tenant, SECOND) == versions(tenant)
    assert roll_back(tenant)
    assert "Written after the switch." in order(tenant, "Written after the switch.")


def test_remote_model_is_filled_over_http_and_what_is_written_meanwhile_follows(
    tenant: Tenant, memories: list[Memory], server: EmbeddingServer
) -> None:
    model = start(tenant, FAKE_EMBEDDING_MODEL)
    new = make_memory(tenant, "Written while filling.", is_embedded=True)
    assert reread_memory(new).embedding_state == "ready"
    work(tenant, model)
    assert sorted(text for request in server.requests for text in request) == sorted([*TEXTS, new.content])
    assert switch(tenant)
    later = make_memory(tenant, "Written after the switch.")
    indexer.index_memories(tenant.pk, [later.pk])
    assert vectors(tenant, FAKE_EMBEDDING_MODEL) == vectors(tenant, FIRST) == versions(tenant)
    assert roll_back(tenant)
    later_still = make_memory(tenant, "Written after the roll-back.", is_embedded=True)
    assert (str(later_still.pk), 1) not in vectors(tenant, FAKE_EMBEDDING_MODEL)
    assert (status(tenant, FAKE_EMBEDDING_MODEL).waiting, status(tenant, FAKE_EMBEDDING_MODEL).is_unfinished) == (
        1,
        True,
    )
    work(tenant, model)
    assert vectors(tenant, FAKE_EMBEDDING_MODEL) == versions(tenant)


def test_switch_that_would_lose_vectors_waits_for_them(
    tenant: Tenant, memories: list[Memory], server: EmbeddingServer
) -> None:
    model = start(tenant, FAKE_EMBEDDING_MODEL)
    assert not switch(tenant)
    assert states(tenant)[FIRST] == "active"
    work(tenant, model)
    assert states(tenant)[FAKE_EMBEDDING_MODEL] == "active"


def test_switch_that_is_forced_leaves_the_rest_to_words_until_it_has_vectors(
    tenant: Tenant, memories: list[Memory]
) -> None:
    model = start(tenant)
    assert switch(tenant, confirm_missing=True)
    found = search(tenant, "green tea")
    assert [(each.content, each.similarity) for each in found.candidates] == [(TEXTS[0], None)]
    assert [warning.code for warning in found.warnings] == ["no_embeddings"]
    assert {reread_memory(memory).embedding_state for memory in memories} == {"pending"}
    assert indexer.embed_pending_memories(now=FACTORY_NOW + timedelta(minutes=1)) == 4
    work(tenant, model)
    assert order(tenant, QUERY) == expected(get_embedder(SECOND), TEXTS, QUERY)


def test_a_tenant_without_vectors_switches_at_once(tenant: Tenant) -> None:
    work(tenant, start(tenant, switches=True))
    memory = make_memory(tenant, "The first.", is_embedded=True)
    assert embedder_of(tenant.pk).name == SECOND
    assert vectors(tenant, SECOND) == vectors(tenant, FIRST) == {(str(memory.pk), 1)}


def test_other_tenants_keep_their_model(tenant: Tenant, other_tenant: Tenant, memories: list[Memory]) -> None:
    foreign = make_memory(other_tenant, "Foreign tea.", is_embedded=True)
    work(tenant, start(tenant, switches=True))
    assert states(other_tenant) == {FIRST: "active"}
    assert vectors(other_tenant, SECOND) == set()
    assert vectors(other_tenant, FIRST) == {(str(foreign.pk), 1)}
    assert order(other_tenant, "tea") == ["Foreign tea."]
    with pytest.raises(Conflict, match="no other model"):
        switch(other_tenant)


def test_verbs_are_audited_without_any_text(tenant: Tenant, memories: list[Memory]) -> None:
    model = start(tenant, switches=True)
    work(tenant, model)
    roll_back(tenant)
    retire(tenant, SECOND)
    with tenant_scope(tenant.pk):
        rows = AuditEntry.objects.for_tenant(tenant.pk).of_kind("embedding_model")
        verbs = sorted(rows.values_list("verb", flat=True))
    assert verbs == [
        "retire_embedding_model",
        "start_reembedding",
        "switch_embedding_model",
        "switch_embedding_model",
    ]


# --- Resuming ------------------------------------------------------------------------------------------------------


def test_work_of_a_killed_worker_is_continued_without_duplicates(
    tenant: Tenant, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.embeddings.providers.openai_embedder.OpenAIEmbedder.batch_size", 10)
    texts = [f"text {number}" for number in range(45)]
    for text in texts:
        make_memory(tenant, text)
    with tenant_scope(tenant.pk):
        ids = list(Memory.objects.for_tenant(tenant.pk).values_list("pk", flat=True))
    indexer.index_memories(tenant.pk, ids)
    model = start(tenant, FAKE_EMBEDDING_MODEL, switches=True)
    monkeypatch.setattr(reembedding._Lease, "release", lambda _: None)
    assert work(tenant, model, batches=2)
    monkeypatch.undo()
    assert len(vectors(tenant, FAKE_EMBEDDING_MODEL)) == 20
    assert indexer.embedding_models_with_work() == []
    assert not work(tenant, model)
    assert len(vectors(tenant, FAKE_EMBEDDING_MODEL)) == 20
    with tenant_scope(tenant.pk):
        EmbeddingModel.objects.filter(pk=model.pk).update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert indexer.embedding_models_with_work() == [(tenant.pk, model.pk)]
    work(tenant, model)
    assert states(tenant)[FAKE_EMBEDDING_MODEL] == "active"
    assert sorted(text for request in server.requests for text in request) == sorted(texts)


def test_unavailable_provider_is_recorded_and_the_next_turn_continues(
    tenant: Tenant, memories: list[Memory], server: EmbeddingServer
) -> None:
    model = start(tenant, FAKE_EMBEDDING_MODEL, switches=True)
    server.faults.append(failing_embedding(503))
    with pytest.raises(EmbeddingError):
        work(tenant, model)
    assert status(tenant, FAKE_EMBEDDING_MODEL).model.error == "The embedding endpoint returned the status 503."
    assert order(tenant, "tea") == expected(get_embedder(FIRST), TEXTS, "tea")
    work(tenant, model)
    assert (states(tenant)[FAKE_EMBEDDING_MODEL], status(tenant, FAKE_EMBEDDING_MODEL).model.error) == ("active", "")


def test_refused_text_is_found_alone_keeps_the_switch_waiting_and_can_be_tried_again(
    tenant: Tenant, memories: list[Memory], server: EmbeddingServer
) -> None:
    server.refuses = "rye"
    model = start(tenant, FAKE_EMBEDDING_MODEL, switches=True)
    work(tenant, model)
    far = status(tenant, FAKE_EMBEDDING_MODEL)
    assert (far.model.state, far.refused, far.waiting, far.with_vector) == ("standby", 1, 0, 3)
    assert "rejected" in far.model.error
    with pytest.raises(Conflict) as refusal:
        switch(tenant)
    assert refusal.value.code == "refused_texts"
    assert switch(tenant, confirm_missing=True)
    rye = reread_memory(memories[2])
    assert (rye.embedding_state, rye.embedding_error) == ("failed", "The embedding endpoint returned the status 400.")
    assert [each.content for each in search(tenant, "rye bread", mode="lexical").candidates] == [TEXTS[2]]
    assert roll_back(tenant)
    assert reread_memory(memories[2]).embedding_state == "ready"
    server.refuses = None
    with tenant_scope(tenant.pk):
        assert retry_refused_vectors(tenant=tenant, model=FAKE_EMBEDDING_MODEL, **AT) == 1
    work(tenant, model)
    assert vectors(tenant, FAKE_EMBEDDING_MODEL) == versions(tenant)
    assert switch(tenant)


# --- Retiring ------------------------------------------------------------------------------------------------------


def test_retired_vectors_go_once_no_search_can_need_them(tenant: Tenant, memories: list[Memory]) -> None:
    model = start(tenant, switches=True)
    work(tenant, model)
    former = retire(tenant, "wordllama")
    assert not work(tenant, former)
    assert len(vectors(tenant, FIRST)) == 4
    work(tenant, former, now=FACTORY_NOW + timedelta(seconds=61))
    assert (states(tenant), vectors(tenant, FIRST)) == ({FIRST: "retired", SECOND: "active"}, set())
    make_memory(tenant, "Later.", is_embedded=True)
    assert vectors(tenant, FIRST) == set()
    with pytest.raises(Conflict, match="no former model"):
        roll_back(tenant)
    work(tenant, start(tenant, FIRST, switches=True))
    assert states(tenant) == {FIRST: "active", SECOND: "standby"}


def test_cancelled_filling_removes_what_it_made(tenant: Tenant, memories: list[Memory]) -> None:
    model = start(tenant)
    make_memory(tenant, "Meanwhile.", is_embedded=True)
    retire(tenant, SECOND)
    work(tenant, model)
    assert (states(tenant)[SECOND], vectors(tenant, SECOND)) == ("retired", set())
    with tenant_scope(tenant.pk):
        assert not MissingVector.objects.for_tenant(tenant.pk).exists()


def test_active_model_cannot_be_retired(tenant: Tenant, memories: list[Memory]) -> None:
    with pytest.raises(Conflict, match="is the active model"):
        retire(tenant, FIRST)


# --- Refusals ------------------------------------------------------------------------------------------------------


def test_unknown_model_is_refused_with_those_that_are_known(tenant: Tenant) -> None:
    with pytest.raises(
        InvalidInput, match=r"configured models: wordllama-l2-supercat-256, hashed-ngram-512"
    ) as refusal:
        start(tenant, "no-such-model")
    assert (refusal.value.code, refusal.value.field) == ("unknown_model", "model")


@pytest.mark.parametrize("second", [SECOND, FAKE_EMBEDDING_MODEL])
def test_one_model_is_filled_at_a_time(
    tenant: Tenant, memories: list[Memory], server: EmbeddingServer, second: str
) -> None:
    start(tenant)
    with pytest.raises(Conflict) as refusal:
        start(tenant, second)
    assert refusal.value.code == ("already_filled" if second == SECOND else "busy")


class Wrong(HashedNgramEmbedder):
    """Returns vectors that break the contract."""

    def __init__(self, change: Any) -> None:
        self.change = change

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        changed: EmbeddingVectors = self.change(super().embed(texts))
        return changed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda vectors: vectors[:, :500], "returned 500 dimensions per text instead of 512"),
        (lambda vectors: vectors[:-1], "returned 1 vector for 2 texts"),
        (lambda vectors: vectors * np.float32(np.nan), "not finite"),
    ],
)
def test_vectors_that_are_not_as_promised_are_refused_and_nothing_is_half_written(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, change: Any, words: str
) -> None:
    memories = [make_memory(tenant, text, is_embedded=True) for text in TEXTS[:2]]
    monkeypatch.setitem(providers._loaded, SECOND, CheckedEmbedder(Wrong(change)))
    model = start(tenant, switches=True)
    with pytest.raises(EmbeddingError, match=words):
        work(tenant, model)
    assert words in status(tenant, SECOND).model.error
    assert (vectors(tenant, SECOND), states(tenant)[FIRST]) == (set(), "active")
    assert len(vectors(tenant, FIRST)) == len(memories)


def test_another_dimension_than_the_registered_one_is_refused_at_write_and_at_search(
    tenant: Tenant, memories: list[Memory]
) -> None:
    with tenant_scope(tenant.pk):
        EmbeddingModel.objects.for_tenant(tenant.pk).update(dimension=300)
    new = make_memory(tenant, "A new tea.")
    with pytest.raises(EmbeddingError, match="registered with dimension 300"):
        indexer.index_memories(tenant.pk, [new.pk])
    with pytest.raises(EmbeddingError, match="registered with dimension 300"):
        indexer.index_memories(tenant.pk, [new.pk], WordLlamaEmbedder())
    assert (reread_memory(new).embedding_state, len(vectors(tenant, FIRST))) == ("pending", 4)
    found = search(tenant, "tea")
    assert [warning.code for warning in found.warnings] == ["embedder_unavailable"]
    assert {each.content for each in found.candidates} == {"A new tea.", TEXTS[0]}
    assert [problem.code for problem in model_problems()] == ["dimension_mismatch"]


# --- Settings that change -------------------------------------------------------------------------------------------


def test_changed_settings_keep_the_model_of_stored_vectors_and_are_reported(
    tenant: Tenant, memories: list[Memory], settings: Any, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert model_problems() == []
    assert stored_models_fit_settings(databases=["default"]) == []
    settings.EMBEDDING_PROVIDER = "hashed"
    new = make_memory(tenant, "Written under changed settings.", is_embedded=True)
    assert vectors(tenant, FIRST) >= {(str(new.pk), 1)}
    assert search(tenant, "tea").plan["embed"]["model"] == FIRST
    (problem,) = model_problems()
    assert problem.code == "reembedding_needed"
    assert "Run `manage.py reembed --model hashed-ngram-512`" in problem.detail
    assert [(message.id, message.msg) for message in stored_models_fit_settings(databases=["default"])] == [
        ("memories.E003", problem.detail)
    ]
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["parts"]["embedding_models"]["detail"]) == (503, problem.detail)
    with caplog.at_level(logging.ERROR):
        log_model_problems()
    assert caplog.messages[-1] == f"memories.E003: {problem.detail}"
    work(tenant, start(tenant, "hashed", switches=True))
    assert model_problems() == []
    assert client.get("/readyz").status_code == 200


def test_model_that_settings_no_longer_name_leaves_words_and_is_reported(
    tenant: Tenant, memories: list[Memory], server: EmbeddingServer, settings: Any
) -> None:
    work(tenant, start(tenant, FAKE_EMBEDDING_MODEL, switches=True))
    settings.EMBEDDING_ENDPOINTS = ()
    found = search(tenant, "tea")
    assert [warning.code for warning in found.warnings] == ["embedder_unavailable"]
    assert [each.content for each in found.candidates] == [TEXTS[0]]
    (problem,) = model_problems()
    assert problem.code == "unknown_model"
    assert roll_back(tenant)
    assert order(tenant, "tea") == expected(get_embedder(FIRST), TEXTS, "tea")


def test_local_models_have_the_name_and_dimension_of_their_embedders() -> None:
    for embedder_class, model in ((WordLlamaEmbedder, "wordllama"), (HashedNgramEmbedder, "hashed")):
        known = LOCAL_MODELS[model]
        assert (known.name, known.dimension) == (embedder_class.name, embedder_class.dimension)
