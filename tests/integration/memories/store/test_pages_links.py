"""Links on the page of a memory: added by id or words, removed, and both undone."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories.models import Memory, MemoryLink, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.factories import make_memory
from tests.integration.page_helpers import HTMX, client_of, page, text_of, undo_of
from tests.users import new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def memory(tenant: Tenant) -> Memory:
    return make_memory(tenant, "The torque sensor is swapped in 45 minutes.")


@pytest.fixture
def other(tenant: Tenant) -> Memory:
    return make_memory(tenant, "ERR_4012 means a wet plug.")


def links(memory: Memory) -> list[tuple[Any, str, Any]]:
    with tenant_scope(memory.tenant_id):
        rows = MemoryLink.objects.for_tenant(memory.tenant_id).current()
        return [(row.source_id, row.kind, row.target_id) for row in rows]


def link(client: Client, memory: Memory, target: object, kind: str = "explains", **more: Any) -> Any:
    address = reverse("memory-link", args=[memory.tenant_id, memory.pk])
    return client.post(address, {"memory": str(target), "link_kind": kind}, **more)


@pytest.mark.parametrize("by_words", [True, False])
def test_link_is_added_and_undone(client: Client, memory: Memory, other: Memory, by_words: bool) -> None:
    response = link(client, memory, "ERR_4012" if by_words else other.pk, follow=True)
    assert links(memory) == [(memory.pk, "explains", other.pk)]
    assert "Linked as explains." in text_of(response)
    response = client.post(undo_of(response), follow=True)
    assert links(memory) == []
    client.post(undo_of(response))
    assert links(memory) == [(memory.pk, "explains", other.pk)]


def test_link_is_removed_from_either_end(client: Client, tenant: Tenant, memory: Memory, other: Memory) -> None:
    link(client, memory, other.pk)
    with tenant_scope(memory.tenant_id):
        pk = MemoryLink.objects.for_tenant(memory.tenant_id).get().pk
    remove = page("memory-link-remove", tenant, other.pk, pk)
    assert remove in text_of(client.get(page("memory", tenant, other.pk)))
    assert "Link explains removed." in text_of(client.post(remove, headers=HTMX))
    assert links(memory) == []


@pytest.mark.parametrize(
    ("target", "kind", "field", "sentence"),
    [
        ("zeppelin", "related", "memory", "No live memory has this ID or text."),
        ("swapped", "related", "memory", "cannot be linked to itself"),
        ("", "related", "memory", "This field is required."),
        ("ERR_4012", "Not a word", "link_kind", "one lower-case word"),
    ],
)
def test_invalid_link_is_an_error_at_its_field(
    client: Client, memory: Memory, other: Memory, target: str, kind: str, field: str, sentence: str
) -> None:
    response = link(client, memory, target, kind, headers=HTMX)
    assert response.status_code == 422
    assert sentence in str(response.context["link_form"].errors[field])
    assert links(memory) == []


def test_words_of_several_memories_request_a_choice(
    client: Client, tenant: Tenant, memory: Memory, other: Memory
) -> None:
    make_memory(tenant, "ERR_4012 is free of charge.")
    assert "Several memories match." in text_of(link(client, memory, "ERR_4012"))


def test_memory_of_another_tenant_is_no_target(client: Client, memory: Memory, other_tenant: Tenant) -> None:
    foreign = make_memory(other_tenant)
    assert "No live memory" in text_of(link(client, memory, foreign.pk))
    assert link(client, foreign, memory.pk).status_code == 404


def test_viewer_sees_links_and_no_buttons(client: Client, tenant: Tenant, memory: Memory, other: Memory) -> None:
    link(client, memory, other.pk)
    viewer = client_of(new_operator("vera", "viewer", tenant))
    text = text_of(viewer.get(page("memory", tenant, memory.pk)))
    assert "ERR_4012" in text
    assert "Add link" not in text
    assert "Remove link" not in text
