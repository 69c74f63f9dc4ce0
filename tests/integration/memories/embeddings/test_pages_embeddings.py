"""The page of embedding models: their progress, and the buttons to fill, switch, roll back, retry and remove."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memories.embeddings import reembedding
from memories.models import EmbeddingModel, Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.embedded.environment import EmbeddingEndpoint
from tests.fakes.embedding_server import (
    DIMENSION,
    FAKE_EMBEDDING_API_KEY,
    FAKE_EMBEDDING_MODEL,
    EmbeddingServer,
    running_embedding_server,
)
from tests.integration.page_helpers import HTMX, client_of, make_bakery_memories, page, text_of
from tests.users import new_operator

FIRST, SECOND = "wordllama-l2-supercat-256", "hashed-ngram-512"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    make_bakery_memories(tenant)
    return client_of(new_operator("anna", "admin", tenant))


@pytest.fixture
def server(settings: Any) -> Iterator[EmbeddingServer]:
    with running_embedding_server() as server:
        settings.EMBEDDING_ENDPOINTS = (
            EmbeddingEndpoint(FAKE_EMBEDDING_MODEL, DIMENSION, server.base_url, FAKE_EMBEDDING_API_KEY),
        )
        yield server
        settings.EMBEDDING_ENDPOINTS = ()


def row(tenant: Tenant, name: str) -> EmbeddingModel:
    with tenant_scope(tenant.pk):
        found: EmbeddingModel = EmbeddingModel.objects.for_tenant(tenant.pk).named(name).get()
        return found


def work(tenant: Tenant, name: str) -> None:
    reembedding.advance_embedding_model(tenant.pk, row(tenant, name).pk, can_continue=lambda: True, clock=timezone.now)


def begin(admin: Client, tenant: Tenant, model: str = SECOND, **more: str) -> Any:
    return admin.post(page("embeddings", tenant), {"model": model, **more})


def test_tenant_without_memories_shows_the_default_model(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("embeddings", tenant)))
    assert FIRST in text
    assert "No live memories." in text
    assert 'class="bar"' not in text
    assert "every 2s" not in text


def test_admin_fills_switches_rolls_back_and_removes(admin: Client, tenant: Tenant) -> None:
    address = page("embeddings", tenant)
    assert begin(admin, tenant).status_code == 302
    text = text_of(admin.get(address))
    assert "0 of 5 vectors created" in text
    assert "every 2s" in text
    work(tenant, SECOND)
    text = text_of(admin.get(address))
    assert "every 2s" not in text
    assert text.count("5 of 5 live memories have a vector") == 2
    switch = page("embedding-switch", tenant, row(tenant, SECOND).pk)
    assert f"Search with {SECOND}?" in text_of(admin.get(switch))
    assert row(tenant, SECOND).state == "standby"
    assert admin.post(switch, follow=True).status_code == 200
    assert (row(tenant, SECOND).state, row(tenant, FIRST).state) == ("active", "standby")
    back = page("embedding-switch", tenant, row(tenant, FIRST).pk)
    assert f"Roll back to {FIRST}?" in text_of(admin.get(back))
    admin.post(back)
    assert row(tenant, FIRST).state == "active"
    retire = page("embedding-retire", tenant, row(tenant, SECOND).pk)
    assert "Remove 5 vectors" in text_of(admin.get(retire))
    assert row(tenant, SECOND).state == "standby"
    admin.post(retire)
    assert row(tenant, SECOND).state == "retiring"
    text = text_of(admin.get(address))
    assert "Removing its vectors." in text
    assert "Switched the embedding model" in text


def test_switch_by_itself_is_a_choice(admin: Client, tenant: Tenant) -> None:
    begin(admin, tenant, switches_when_filled="on")
    assert "Search switches to it when complete." in text_of(admin.get(page("embeddings", tenant)))
    work(tenant, SECOND)
    assert row(tenant, SECOND).state == "active"


def test_refused_texts_are_listed_with_the_reason_and_tried_again(
    admin: Client, tenant: Tenant, server: EmbeddingServer
) -> None:
    server.refuses = "Brodersen"
    begin(admin, tenant, FAKE_EMBEDDING_MODEL)
    work(tenant, FAKE_EMBEDDING_MODEL)
    text = text_of(admin.get(page("embeddings", tenant)))
    assert "Rejected texts" in text
    assert "The embedding endpoint returned the status 400." in text
    assert "Brodersen" not in text
    switch = page("embedding-switch", tenant, row(tenant, FAKE_EMBEDDING_MODEL).pk)
    assert "1 text was rejected by this model" in text_of(admin.get(switch))
    refusal = text_of(admin.post(switch, follow=True))
    assert "rejected 1 text." in refusal
    assert row(tenant, FAKE_EMBEDDING_MODEL).state == "standby"
    server.refuses = None
    again = admin.post(page("embedding-retry", tenant, row(tenant, FAKE_EMBEDDING_MODEL).pk), follow=True)
    assert "1 text queued for retry." in text_of(again)
    work(tenant, FAKE_EMBEDDING_MODEL)
    admin.post(switch)
    assert row(tenant, FAKE_EMBEDDING_MODEL).state == "active"


def test_unavailable_provider_is_reported_at_the_form_and_nothing_begins(
    admin: Client, tenant: Tenant, server: EmbeddingServer, settings: Any
) -> None:
    settings.EMBEDDING_ENDPOINTS = (EmbeddingEndpoint("gone", 8, "http://127.0.0.1:9/v1", FAKE_EMBEDDING_API_KEY, 0.5),)
    response = begin(admin, tenant, "gone")
    assert response.status_code == 422
    assert "The embedding endpoint cannot be reached." in text_of(response)
    assert begin(admin, tenant, "no-such-model").status_code == 422
    with tenant_scope(tenant.pk):
        assert EmbeddingModel.objects.for_tenant(tenant.pk).row_count() == 1


def test_fragment_is_the_body_alone(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("embeddings", tenant), headers=HTMX))
    assert "<html" not in text
    assert FIRST in text


def test_operator_sees_it_and_changes_nothing(client: Client, admin: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("embeddings", tenant)))
    assert "5 of 5 live memories have a vector" in text
    assert "Add a model" not in text
    assert begin(client, tenant).status_code == 403
    begin(admin, tenant)
    for verb in ("switch", "retire", "retry"):
        address = page(f"embedding-{verb}", tenant, row(tenant, SECOND).pk)
        assert client.post(address).status_code == 403
    assert row(tenant, SECOND).state == "filling"


def test_model_of_another_tenant_is_absent(admin: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    begin(admin, tenant)
    foreign = client_of(new_operator("otto", "admin", other_tenant))
    for verb in ("switch", "retire", "retry"):
        for model_id in (row(tenant, SECOND).pk, uuid4()):
            address = page(f"embedding-{verb}", other_tenant, model_id)
            assert foreign.post(address).status_code == 404
    assert row(tenant, SECOND).state == "filling"
