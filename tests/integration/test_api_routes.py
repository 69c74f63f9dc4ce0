"""Every address of the API refuses a caller without a key and knows nothing of another tenant."""

from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient
from rest_framework.views import APIView

from memories.api.door import Door
from memories.models import Tenant
from tests.integration.rest import CONTEXT, remember
from tests.people import api_client, new_key

METHODS = ("get", "post", "put", "patch", "delete")
OPEN = {"api/schema/", "api/docs/", "api/", "api/<path:rest>"}
BODIES: dict[str, dict[str, Any]] = {
    "memories": {"content": "x"},
    "memories/bulk": {"memories": [{"content": "x"}]},
    "memories/search": {"query": "x"},
    "context": {"query": "x"},
}


def api_routes() -> dict[str, type[APIView]]:
    """Every route under /api/ with its view class."""

    def walk(patterns: list[Any], prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry in patterns:
            route = prefix + str(entry.pattern)
            if isinstance(entry, URLResolver):
                found |= walk(entry.url_patterns, route)
            elif isinstance(entry, URLPattern):
                found[route] = getattr(entry.callback, "view_class", None) or getattr(entry.callback, "cls", None)
        return found

    return {route: view for route, view in walk(get_resolver().url_patterns, "").items() if route.startswith("api/")}


ROUTES = sorted(route for route in api_routes() if route not in OPEN)


def filled(route: str, memory_id: str, receipt_id: str) -> str:
    return "/" + route.replace("<uuid:memory_id>", memory_id).replace("<uuid:receipt_id>", receipt_id)


def offered(route: str) -> list[str]:
    return [method for method in METHODS if hasattr(api_routes()[route], method)]


def test_the_walk_finds_the_routes() -> None:
    assert {f"api/v1/{name}" for name in BODIES} <= set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_is_a_door(route: str) -> None:
    assert issubclass(api_routes()[route], Door)
    assert offered(route)


@pytest.mark.parametrize("route", ROUTES)
def test_no_route_answers_without_a_key(db: None, route: str) -> None:
    url = filled(route, "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000000")
    for method in offered(route):
        response = getattr(APIClient(), method)(url, BODIES.get(route.removeprefix("api/v1/"), {}))
        assert (response.status_code, response.json()["code"]) == (401, "key_missing"), f"{method} {url}"


@pytest.mark.parametrize("route", ROUTES)
def test_no_route_shows_another_tenants_rows(api: APIClient, other_tenant: Tenant, route: str) -> None:
    created = remember(api, "Sam lives in Porto.")
    receipt = api.post(CONTEXT, {"query": "Porto"}).json()
    stranger = api_client(new_key(other_tenant, "read", "write", "admin"))
    url = filled(route, created["id"], receipt["id"])
    for method in offered(route):
        response = getattr(stranger, method)(url, BODIES.get(route.removeprefix("api/v1/"), {}))
        if "<" in route:
            assert response.status_code == 404, f"{method} {url}"
        assert "Porto" not in response.content.decode()
        assert created["id"] not in response.content.decode()
