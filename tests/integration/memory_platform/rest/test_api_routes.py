"""Every address of the API refuses requests without a key and reveals nothing about another tenant."""

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import NOWHERE, post_memory
from tests.users import api_client, new_key

METHODS = ("get", "post", "put", "patch", "delete")
OPEN = {"api/schema/", "api/docs/", "api/", "api/<path:rest>"}
NEW_KEY = {"name": "an agent", "scopes": ["read"]}
BODIES: dict[str, dict[str, Any]] = {
    "memories": {"content": "x"},
    "memories/bulk": {"memories": [{"content": "x"}]},
    "memories/move": {"ids": ["{memory}"], "to": "user=sam"},
    "hygiene/<name:name>": {"action": "dismiss", "ids": [1]},
    "memories/search": {"query": "x"},
    "context": {"query": "x"},
    "links": {"source_id": "{memory}", "target_id": "{target}", "kind": "because"},
    "context/diff": {"query": "Porto", "since": {"as_of": "2026-01-01T00:00:00Z"}},
    "context/explain": {"query": "Porto", "memory_id": "{memory}"},
    "context/<uuid:receipt_id>/replay": {"mode": "recorded"},
    "feedback": {"memory_id": "{memory}", "feedback": "POSITIVE"},
    "context/<uuid:receipt_id>/outcome": {"answer": "Sam lives in Porto."},
    "partitions": {"partition": "user=sam"},
    "partitions/<place:place>/summaries": {"content": "x"},
    "memo": {"content": "x"},
    "snapshots": {"name": "x"},
    "keys": NEW_KEY,
    "budget-profiles": {"name": "other"},
    "budget-profiles/assignments": {"budget_profile": "default", "partition": ""},
    "budget-profiles/<name:name>": {"default_tokens": 10},
    "budget-profiles/<name:name>/rollback": {"version": 1},
    "profiles": {"name": "other"},
    "profiles/assignments": {"profile": "adr-0040", "partition": ""},
    "profiles/<name:name>": {"pool_size": 50},
    "profiles/<name:name>/publish": {"argument": {"decision": "Porto first."}},
    "profiles/<name:name>/rollback": {"version": 1},
    "profiles/<name:name>/retire": {"version": 1},
    "golden-questions": {"text": "x", "memory_ids": ["{memory}"]},
    "golden-questions/bulk": {"questions": [{"text": "x", "memory_ids": ["{memory}"]}]},
    "golden-questions/<uuid:question_id>": {"answer": "x"},
    "evaluations": {"corpus": "updated_facts"},
    "sessions": {"directive": "x"},
    "sessions/<uuid:session_id>": {"directive": "x"},
    "sessions/<uuid:session_id>/messages": {"messages": [{"role": "user", "content": "x"}]},
    "sessions/<uuid:session_id>/context": {"query": "Porto"},
    "sessions/<uuid:session_id>/compact": {"wait": True},
    "sessions/<uuid:session_id>/simulate": {"target": 0.4},
    "compactions/<uuid:compaction_id>/review": {"action": "rollback"},
    "prompts": {"text": "x"},
    "prompts/rollback": {"version": 1},
    "prompts/trial": {"session_id": "{session}", "text": "x"},
    "messages/<uuid:message_id>": {"pinned": True},
    "erasures": {"partition": "user=sam", "dry_run": True},
    "retention-policies": {"partition": "user=sam", "days": 30, "age_from": "archived"},
    "alert-rules/<name:kind>": {"enabled": True},
    "alert-destinations": {"kind": "email", "address": "Kim@example.com"},
}
KEPT_FOR = {"days": 30, "age_from": "created"}
QUERIES = {
    ("get", "budget-profiles/<name:name>/compare"): "?a=1&b=1",
    ("get", "profiles/<name:name>/compare"): "?a=1&b=1",
    ("get", "budget-profiles/<name:name>/diff"): "?a=1&b=1",
    ("get", "profiles/<name:name>/diff"): "?a=1&b=1",
    ("get", "evaluations/<uuid:run_id>/compare"): f"?other={NOWHERE}",
    ("delete", "profiles/assignments"): "?partition=user%3Dsam",
    ("delete", "budget-profiles/assignments"): "?partition=user%3Dsam",
}
#: Addresses that name a part of the caller's own tenant: for every caller, the same path is another place.
OWN_PLACE = {"api/v1/partitions/<place:place>/summaries", "api/v1/alert-rules/<name:kind>"}


@cache
def api_routes() -> dict[str, Any]:
    """Return every route under /api/ with its view."""

    def walk(patterns: list[Any], prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry in patterns:
            route = prefix + str(entry.pattern)
            if isinstance(entry, URLResolver):
                found |= walk(entry.url_patterns, route)
            elif isinstance(entry, URLPattern):
                found[route] = entry.callback
        return found

    return {route: view for route, view in walk(get_resolver().url_patterns, "").items() if route.startswith("api/")}


ROUTES = sorted(route for route in api_routes() if route not in OPEN)


@dataclass
class Rows:
    """Return the rows of a tenant, by the names that addresses and bodies use."""

    names: dict[str, str]

    def url(self, method: str, route: str) -> str:
        for name, value in self.names.items():
            route = re.sub(rf"<\w+:{name}>", value, route)
        return f"/{route}"

    def call(self, client: Any, method: str, route: str, headers: dict[str, str] | None = None) -> Any:
        """Return the request that this route accepts."""
        short = route.removeprefix("api/v1/")
        body = json.loads(self._filled(json.dumps(BODIES.get(short, {})))) if method in {"post", "put", "patch"} else {}
        return getattr(client, method)(
            self.url(method, route) + QUERIES.get((method, short), ""), body, headers=headers
        )

    def _filled(self, body: str) -> str:
        for name in ("memory", "target", "session"):
            body = body.replace(f"{{{name}}}", self.names[f"{name}_id"])
        return body


IDS = (
    "act_id",
    "memory_id",
    "target_id",
    "receipt_id",
    "snapshot_id",
    "feedback_id",
    "session_id",
    "message_id",
    "compaction_id",
    "event_id",
    "question_id",
    "run_id",
    "erasure_id",
    "destination_id",
)
SHOWN_TO_NOBODY = (
    *("memory_id", "receipt_id", "snapshot_id", "key_id", "session_id", "message_id", "compaction_id"),
    *("question_id", "run_id", "destination_id"),
)
NOTHING = Rows(
    {
        **dict.fromkeys(IDS, str(NOWHERE)),
        "place": "user%3Dsam",
        "name": "chat",
        "kind": "contradictions",
        "key_id": "abcdefgh",
        "link_id": "1",
        "policy_id": "1",
        "version": "1",
    }
)


@pytest.fixture
def rows(admin_key: str) -> Rows:
    return one_of_everything(api_client(admin_key))


def one_of_everything(admin: APIClient, user: str = "sam", name: str = "chat") -> Rows:
    """One row of each kind in the partition of `user`, all of it about Porto; profiles and snapshot with this name."""
    place = f"user={user}"
    memory, target = (post_memory(admin, f"{who} lives in Porto.", user_id=user)["id"] for who in ("Sam", "Kim"))

    def made(method: str, url: str, body: dict[str, Any]) -> dict[str, Any]:
        response = getattr(admin, method)(f"/api/v1/{url}", body)
        assert response.status_code in {200, 201, 202}, response.content
        answer: dict[str, Any] = response.json()
        return answer

    made("put", "memo", {"content": "Porto is in the north."})
    made("put", f"partitions/{quote(place, safe='')}/summaries", {"content": "Sam is in Porto."})
    made("post", "budget-profiles", {"name": name})
    made("put", "budget-profiles/assignments", {"budget_profile": name, "partition": place})
    made("post", "profiles", {"name": name})
    made("put", "profiles/assignments", {"profile": "conversation-recall", "partition": place})
    session = made("post", "sessions", {"directive": "Porto it is.", "user_id": user})["id"]
    messages = {"messages": [{"role": "user", "content": "Where is Porto?"}]}
    chat = [{"role": "user", "content": f"Porto has {number} bridges, Kim says. " * 5} for number in range(40)]
    long = made("post", "sessions", {"user_id": user, "max_context_tokens": 1000})["id"]
    made("post", f"sessions/{long}/messages", {"messages": chat})
    compacted = made("post", f"sessions/{long}/compact", {"wait": True})
    made("put", "prompts", {"text": "Write about Porto."})
    question = made(
        "post", "golden-questions", {"text": "Who lives in Porto?", "memory_ids": [memory], "partition": place}
    )["id"]
    vote = {"memory_id": memory, "feedback": "POSITIVE", "reason": "Porto it is."}
    return Rows(
        {
            "memory_id": memory,
            "target_id": target,
            "receipt_id": made("post", "context", {"query": "Porto", "partition": place})["id"],
            "session_id": session,
            "message_id": made("post", f"sessions/{session}/messages", messages)["results"][0]["id"],
            "act_id": made("post", "memories/move", {"ids": [target], "to": f"{place}/topic=Porto"})["act_id"],
            "snapshot_id": made("post", "snapshots", {"name": f"Porto {name}"})["id"],
            "feedback_id": made("post", "feedback", vote)["results"][0]["id"],
            "compaction_id": compacted["compaction_id"],
            "event_id": compacted["event_id"],
            "question_id": question,
            "run_id": made("post", "evaluations", {"corpus": "golden"})["id"],
            "erasure_id": made("post", "erasures", {"partition": place, "dry_run": True})["id"],
            "policy_id": str(made("post", "retention-policies", {"partition": place, **KEPT_FOR})["id"]),
            "destination_id": made(
                "post", "alert-destinations", {"kind": "email", "address": f"Porto-{name}@example.com"}
            )["id"],
            "place": quote(place, safe=""),
            "name": name,
            "kind": "contradictions",
            "key_id": made("post", "keys", {**NEW_KEY, "partition": place})["id"],
            "version": "1",
            "link_id": str(made("post", "links", {"source_id": memory, "target_id": target})["id"]),
        }
    )


def offered(route: str) -> list[str]:
    view = api_routes()[route]
    # a view set names the methods of each route, other views have them
    return [method for method in METHODS if method in getattr(view, "actions", ()) or hasattr(view.cls, method)]


def test_the_walk_finds_the_routes() -> None:
    assert {f"api/v1/{name}" for name in BODIES} <= set(ROUTES)


def test_every_route_is_an_endpoint() -> None:
    for route in ROUTES:
        assert issubclass(api_routes()[route].cls, Endpoint), route
        assert offered(route), route


def test_every_part_of_an_address_is_known_to_these_tests() -> None:
    assert [route for route in ROUTES if "<" in NOTHING.url("get", route)] == []


def test_no_route_answers_without_a_key(db: None) -> None:
    client = APIClient()
    for route in ROUTES:
        for method in offered(route):
            response = NOTHING.call(client, method, route)
            assert (response.status_code, response.json()["code"]) == (401, "key_missing"), f"{method} {route}"


def test_no_route_shows_or_changes_another_tenants_rows(
    admin_key: str, rows: Rows, tenant: Tenant, other_tenant: Tenant
) -> None:
    before = whole_state(tenant)
    stranger = api_client(new_key(other_tenant, "read", "write", "admin"))
    for route in ROUTES:
        with transaction.atomic():
            written = rows_written()
            for method in offered(route):
                _knows_nothing(rows, rows.call(stranger, method, route), f"{method} {route}")
            assert rows_written() == written or whole_state(tenant) == before, route
            transaction.set_rollback(True)  # rows that the stranger created would be found by the next request


def _knows_nothing(rows: Rows, response: Any, request: str) -> None:
    route, answer = request.partition(" ")[2], b"".join(response).decode()  # a file is streamed
    where = f"{request}: {response.status_code} {answer[:300]!r}"
    assert response.status_code < 500, where
    if route in OWN_PLACE:
        assert response.status_code in {200, 201, 204, 404}, where
    elif "<" in route:
        assert response.status_code == 404, where
    if response.status_code == 200 or route not in OWN_PLACE:
        assert "Porto" not in answer, where
    for name in SHOWN_TO_NOBODY:
        assert rows.names[name] not in answer, where


def rows_written() -> int:
    """Return the number of writes in this transaction: without another one, no state has to be read again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables")
        return int(cursor.fetchone()[0])


def whole_state(tenant: Tenant) -> dict[str, list[dict[str, Any]]]:
    """Return every row of the tenant."""
    with tenant_scope(tenant.pk):
        return {
            model._meta.label: list(model._base_manager.order_by("pk").values())
            for app in ("memories", "context", "compaction")
            for model in apps.get_app_config(app).get_models()
        }
