"""The page that adds a memory, and what the comparison with its partition shows on the memory's page."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memories.hygiene.maintenance import detect_pairs_in_batch
from memories.models import Memory, Tenant
from tests.factories import make_memory
from tests.integration.page_helpers import HTMX, as_stored, client_of, page, text_of, undo_of
from tests.integration.rest_helpers import all_stored_memories
from tests.users import new_operator

pytestmark = pytest.mark.django_db

FIELDS = {"content": "Alex prefers tea.", "kind": "preference", "confidence": "0.9", "metadata": "{}"}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def add(client: Client, tenant: Tenant, **fields: Any) -> Any:
    return client.post(page("memory-new", tenant), FIELDS | fields, follow=True)


def only_memory(tenant: Tenant) -> Memory:
    (memory,) = all_stored_memories(tenant)
    return memory


def test_form_starts_with_the_defaults_of_the_api_and_the_given_partition(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, partition="user=sam")
    text = text_of(client.get(page("memory-new", tenant), {"partition": "user=alex"}))
    assert 'value="user=alex"' in text
    assert 'value="fact"' in text
    assert 'value="0.8"' in text
    assert '<option value="user=sam">' in text


def test_memory_is_stored_embedded_and_opened_and_undo_archives_it(client: Client, tenant: Tenant) -> None:
    response = add(client, tenant, partition="user=alex", pinned="on", expires_at="2099-01-01T10:00")
    memory = only_memory(tenant)
    assert response.redirect_chain[-1][0] == page("memory", tenant, memory.pk)
    assert (memory.content, memory.kind, memory.partition_path) == ("Alex prefers tea.", "preference", "user=alex")
    assert (memory.pinned, memory.confidence, memory.embedding_state) == (True, 0.9, "ready")
    assert memory.expires_at is not None
    client.post(undo_of(response))
    assert as_stored(memory).archived_at is not None


def test_same_text_leads_to_the_stored_memory_and_changes_nothing(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers tea.", partition="user=alex")
    response = add(client, tenant, partition="user=alex", pinned="on")
    assert response.redirect_chain[-1][0] == page("memory", tenant, memory.pk)
    assert "Already stored" in text_of(response)
    assert not only_memory(tenant).pinned


def test_known_source_id_is_refused_with_a_link_to_its_memory(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex prefers coffee.", partition="user=alex", source_id="s1")
    make_memory(tenant, "Alex prefers water.", partition="user=sam", source_id="s1")
    response = add(client, tenant, partition="user=alex", source_id="s1")
    assert response.status_code == 422
    assert response.context["form"].errors.keys() == {"source_id"}
    assert f'<a href="{page("memory", tenant, memory.pk)}">Edit it instead</a>' in text_of(response)
    assert "Alex prefers tea." in text_of(response), "what was entered is kept"
    assert as_stored(memory).version == 1
    client.post(page("memory-archive", tenant, memory.pk))
    assert "Memory stored." in text_of(add(client, tenant, partition="user=alex", source_id="s1"))


INVALID_FIELDS = [
    ("content", "", "This field is required."),
    ("content", " ", "only whitespace"),
    ("content", "x" * (32 * 1024 + 1), "32"),
    ("kind", "Two words", "one lower-case word"),
    ("partition", "nonsense", "key=value"),
    ("expires_at", "2001-01-01T10:00", "must be later than"),
    ("metadata", "[", "valid JSON"),
    ("source_id", "x" * 256, "At most 255 characters"),
]


def test_invalid_field_is_an_error_at_the_field(client: Client, tenant: Tenant) -> None:
    for field, value, sentence in INVALID_FIELDS:
        response = add(client, tenant, **{field: value})
        assert response.status_code == 422
        assert sentence in str(response.context["form"].errors[field])
    assert all_stored_memories(tenant) == []


def test_page_of_a_memory_shows_that_it_is_pending_and_then_what_it_contradicts(client: Client, tenant: Tenant) -> None:
    older = make_memory(tenant, "The shop opens at 9 in the morning.", is_embedded=True)
    add(client, tenant, content="The shop opens at 8 in the morning.")
    memory = next(row for row in all_stored_memories(tenant) if row.pk != older.pk)
    address = page("memory-findings", tenant, memory.pk)
    assert "Looking for near-duplicates" in text_of(client.get(page("memory", tenant, memory.pk)))
    assert 'hx-trigger="every 5s"' in text_of(client.get(address, headers=HTMX))
    while detect_pairs_in_batch(tenant.pk, now=timezone.now()):
        pass
    text = text_of(client.get(address, headers=HTMX))
    assert "Contradictions" in text
    assert "opens at 9" in text
    assert "hx-trigger" not in text
    assert client.get(address).headers["Location"] == page("memory", tenant, memory.pk)


def test_viewer_is_refused(tenant: Tenant) -> None:
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.get(page("memory-new", tenant)).status_code == 403
    assert "Add memory" not in text_of(viewer.get(page("memories", tenant)))
