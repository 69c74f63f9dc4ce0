"""What a key with a partition reads does not depend on the rest of its tenant, and it changes nothing there."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import MemoryPair, Tenant, UncomparedMemory
from memories.services.hygiene.rules import LISTS
from memories.tenancy.scopes import tenant_scope
from tests.integration.memory_platform.rest.test_api_routes import (
    ROUTES,
    Rows,
    offered,
    one_of_everything,
    rows_written,
    whole_state,
)
from tests.integration.rest_helpers import CONTEXT, MEMORIES, SEARCH, post_memory
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

#: What belongs to the whole tenant; a key with a partition may read it.
OF_THE_TENANT = ("memo", "snapshots", "prompts", "profiles", "budget-profiles")
#: Values of a response that differ from one call to the next.
VARYING = {"timings", "ms"}


def is_of_the_tenant(route: str) -> bool:
    return route.removeprefix("api/v1/").split("/")[0] in OF_THE_TENANT and "assignments" not in route


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def kim(tenant: Tenant) -> APIClient:
    """The agent with the most powerful key that is limited to the partition."""
    return api_client(new_key(tenant, "read", "write", "admin", partition="user=kim"))


def values_of(response: Any) -> Iterator[tuple[str, Any]]:
    """Return the status, and each value with its path, so that a failing test names what leaks."""
    yield "", response.status_code
    if "json" not in response["Content-Type"] or response.streaming:
        yield "file", text_of(response)
        return
    waiting: list[tuple[str, Any]] = [("answer", response.json())]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{path}.{name}", inner) for name, inner in value.items() if name not in VARYING]
        elif isinstance(value, list):
            waiting += [(f"{path}.{place}", inner) for place, inner in enumerate(value)]
        else:
            yield path, value


def is_the_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; scores may differ a little, because they decrease between two calls."""
    is_number = isinstance(one, float) and isinstance(other, float)
    return abs(one - other) < 1e-3 if is_number else one == other


def text_of(response: Any) -> str:
    return b"".join(response).decode()  # a file is streamed


def answers(client: APIClient, own: Rows) -> dict[str, Any]:
    """Return what a client reads of its own rows: every GET, and every POST that only calculates."""
    session = f"/api/v1/sessions/{own.names['session_id']}"
    responses = {route: own.call(client, "get", route) for route in ROUTES if "get" in offered(route)}
    bodies: dict[str, dict[str, Any]] = {
        SEARCH: {"query": "Where is Porto?", "explain": True},
        CONTEXT: {"query": "Where is Porto?", "preview": True, "explain": True},
        f"{CONTEXT}/diff": {"query": "Porto", "since": {"as_of": "2026-01-01T00:00:00Z"}, "explain": True},
        f"{CONTEXT}/{own.names['receipt_id']}/replay": {"mode": "now", "explain": True},
        f"{MEMORIES}/move": {"filter": {}, "to": "user=kim/topic=lisbon", "dry_run": True},
        f"{session}/context": {"preview": True, "explain": True},
        f"{session}/simulate": {},
        f"{session}/compact": {"dry_run": True},
    }
    for name in ("memories?archived=true", "memories?q=Porto", *(f"hygiene/{each}" for each in LISTS)):
        responses[name] = client.get(f"/api/v1/{name}")
    responses["memories as of now"] = client.get(MEMORIES, {"as_of": timezone.now().isoformat()})
    responses |= {url: client.post(url, body) for url, body in bodies.items()}
    assert {each.status_code for each in responses.values()} <= {200, 403, 404, 405, 409, 400}
    return {
        f"{name} {path}".rstrip(): value
        for name, response in responses.items()
        if not is_of_the_tenant(name)
        for path, value in values_of(response)
    }


def fill_the_rest(tenant: Tenant, admin: APIClient, own: Rows) -> None:
    """Store rows of all kinds in another partition, in the root and across the border."""
    other = one_of_everything(admin, "sam", "talk")
    post_memory(admin, "All live in Porto.")
    mine, theirs = own.names["memory_id"], other.names["memory_id"]
    for source, target in ((mine, theirs), (theirs, mine)):
        assert admin.post("/api/v1/links", {"source_id": source, "target_id": target}).status_code == 201
    pairs = [
        ("near_duplicate", older, newer, 0.9, "h")
        for older, newer in ((mine, theirs), (other.names["target_id"], mine), (theirs, other.names["target_id"]))
    ]
    with tenant_scope(tenant.pk):
        MemoryPair.objects.store(tenant.pk, pairs, timezone.now())
        UncomparedMemory.objects.enqueue(tenant.pk, [theirs, other.names["target_id"]])


def test_rows_elsewhere_change_no_response(tenant: Tenant, admin: APIClient, kim: APIClient) -> None:
    own = one_of_everything(admin, "kim")
    before = answers(kim, own)
    assert list(before.values()).count(200) > 25
    fill_the_rest(tenant, admin, own)
    after = answers(kim, own)
    differences = [
        f"{name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(before.keys() | after.keys())
        if not is_the_same(before.get(name), after.get(name))
    ]
    assert not differences, "\n" + "\n".join(differences)


def test_no_route_shows_or_changes_rows_elsewhere(tenant: Tenant, admin: APIClient, kim: APIClient) -> None:
    rows = one_of_everything(admin)
    admin.put("/api/v1/memo", {"content": ""})  # the memo begins the contexts of every key
    before = whole_state(tenant)
    for route in ROUTES:
        with transaction.atomic():
            written = rows_written()
            for method in offered(route):
                response = rows.call(kim, method, route)
                request = f"{method} {route}: {response.status_code} {text_of(response)[:300]}"
                assert response.status_code < 500, request
                if not is_of_the_tenant(route):
                    assert "Porto" not in text_of(response), request
                    assert "<" not in route or response.status_code in {403, 404}, request
            after = whole_state(tenant) if rows_written() != written else before
            for model, stored in before.items():
                assert [row for row in stored if row not in after[model]] == [], f"{route} changes {model}"
            transaction.set_rollback(True)
