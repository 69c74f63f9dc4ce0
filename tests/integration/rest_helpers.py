"""Helpers of the tests of the REST API."""

from typing import Any
from uuid import UUID

from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope

MEMORIES = "/api/v1/memories"
BULK = f"{MEMORIES}/bulk"
SEARCH = f"{MEMORIES}/search"
CONTEXT = "/api/v1/context"
CONTEXTS = "/api/v1/contexts"
NOWHERE = UUID("00000000-0000-4000-8000-000000000000")


def all_stored_memories(tenant: Tenant) -> list[Memory]:
    """Return every memory of the tenant, including archived ones."""
    with tenant_scope(tenant.pk):
        return list(Memory.objects.for_tenant(tenant.pk).order_by("content"))


def post_memory(client: Any, content: str, **fields: Any) -> dict[str, Any]:
    """Store a memory; return it as the API represents it."""
    response = client.post(MEMORIES, {"content": content, **fields}, format="json")
    assert response.status_code == 201, response.json()
    answer: dict[str, Any] = response.json()
    return answer


def assert_problem(response: Any, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    """Assert that the response is problem+json with this status and code (in `errors` for `field`, else at the top)."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert set(problem) == {"type", "title", "status", "code", "detail", "errors"}
    assert problem["status"] == status
    assert problem["detail"]
    if field is None:
        assert problem["code"] == code, problem
    else:
        assert (field, code) in [(entry["field"], entry["code"]) for entry in problem["errors"]], problem
    return problem


def query_count(client: Any, url: str) -> int:
    """Return the number of queries of a GET."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(url)
    assert response.status_code == 200, response.content
    return len(queries)


def every_page(client: Any, url: str) -> list[list[dict[str, Any]]]:
    """Return the results of all pages from `url` on; assert that going back from the last page shows the same."""
    forward, following, last = [], url, url
    while following:
        last = following
        page = client.get(following).json()
        assert set(page) == {"next", "previous", "results"}
        forward.append(page["results"])
        following = page["next"]
    back, previous = [forward[-1]], client.get(last).json()["previous"]
    while previous:
        page = client.get(previous).json()
        back.insert(0, page["results"])
        previous = page["previous"]
    assert back == forward
    return forward
