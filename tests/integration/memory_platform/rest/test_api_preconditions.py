"""Every edit of the API takes `If-Match`, and every POST that creates takes `Idempotency-Key`."""

from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.memory_platform.rest.test_api_routes import ROUTES, Rows, offered, one_of_everything, whole_state
from tests.integration.rest_helpers import assert_problem
from tests.users import api_client

State = dict[str, list[dict[str, Any]]]

STALE = {"If-Match": '"0.5ca1e"'}
#: POSTs that only read, or set a state again.
READING = {
    *("context/diff", "context/explain", "context/<uuid:receipt_id>/replay", "memories/search"),
    *("sessions/<uuid:session_id>/simulate", "prompts/trial"),
}
RESTORING = {
    *("memories/<uuid:memory_id>/restore", "sessions/<uuid:session_id>/restore"),
    *("golden-questions/<uuid:question_id>/restore", "alert-destinations/<uuid:destination_id>/restore"),
}
#: Their rows have no GET of their own; tests of each use the ETag that an edit returned.
WITH_ETAG_OF_AN_EDIT = {
    *("profiles/assignments", "budget-profiles/assignments", "retention-policies"),
    "retention-policies/<int:policy_id>",
}
#: `test_api_hygiene.py` compares a dry run with the act.
WITH_OWN_TEST = {"hygiene/<name:name>"}
#: POSTs without an id that change or erase rows; tests of each compare the ETag.
UPSERTS = {"memories", "memories/move", "feedback", "golden-questions", "erasures"}
#: POSTs without an id that replace a row.
REPLACING = {"retention-policies", "prompts/rollback", *UPSERTS}
#: POSTs of many rows, each of which has its own condition in the body.
BY_ROW = {"memories/bulk", "import", "golden-questions/bulk"}
#: POSTs that add a row and change no other.
ADDING = {
    *("alert-destinations", "budget-profiles", "profiles", "context", "evaluations", "keys", "links", "partitions"),
    *("sessions", "snapshots"),
}
#: What they, and the POSTs that only read, change in stored rows: the counter of changes that processes compare.
COUNTED = {("memories.Tenant", "settings_revision")}
#: Creating POSTs that make no sense for the rows of these tests; they only show that the header is read.
REFUSED = {
    "compactions/<uuid:compaction_id>/review": "waits for no review",
    "evaluations/<uuid:run_id>/retry": "the evaluation has not failed",
    "events/<uuid:event_id>/retry": "the job has not failed",
    "hygiene/<name:name>": "no such list",
    "import": "takes a file",
    "memories/move": "the memory is there already",
    "profiles/<name:name>/publish": "needs an evaluation",
    "profiles/<name:name>/rollback": "there is one version",
    "sessions/<uuid:session_id>/compact": "there is too little to compact",
}


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def edits() -> list[tuple[str, str]]:
    """Return every (method, route) that changes an existing row."""
    every = [(method, route.removeprefix("api/v1/")) for route in ROUTES for method in offered(route)]
    found = [
        (method, route)
        for method, route in every
        if method in {"put", "patch", "delete"} or (method == "post" and ("<" in route or route in REPLACING))
    ]
    return [edit for edit in found if edit[1] not in READING | WITH_OWN_TEST]


def creating() -> list[str]:
    routes = [route.removeprefix("api/v1/") for route in ROUTES if "post" in offered(route)]
    return [route for route in routes if route not in READING | RESTORING]


def test_edit_passes_with_the_etag_of_its_row_and_is_refused_with_another(admin: APIClient, tenant: Tenant) -> None:
    rows = one_of_everything(admin)
    before = whole_state(tenant)
    for method, route in edits():
        response = rows.call(admin, method, f"api/v1/{route}", STALE)
        assert response.status_code == 412, f"{method} {route}: {response.content!r}"
        assert_problem(response, 412, "stale_version", "If-Match")
    assert whole_state(tenant) == before
    unchecked = set()
    for method, route in edits():
        etag = _etag(rows, admin, route)
        if etag:
            with transaction.atomic():
                response = rows.call(admin, method, f"api/v1/{route}", {"If-Match": etag})
                assert response.status_code in {200, 201, 202, 204, 409}, f"{method} {route}: {response.content!r}"
                transaction.set_rollback(True)
        else:
            unchecked.add(route)
    assert unchecked == WITH_ETAG_OF_AN_EDIT | UPSERTS


def test_operation_refuses_if_none_match_instead_of_ignoring_it(admin: APIClient, tenant: Tenant) -> None:
    rows = one_of_everything(admin)
    before = whole_state(tenant)
    for method, route in {*edits(), *(("post", route) for route in ADDING | BY_ROW | READING)} - {("post", "memories")}:
        response = rows.call(admin, method, f"api/v1/{route}", {"If-None-Match": "*"})
        assert response.status_code == 400, f"{method} {route}: {response.content!r}"
        assert_problem(response, 400, "if_none_match_unsupported", "If-None-Match")
    assert whole_state(tenant) == before


def test_operation_that_edits_no_row_refuses_if_match_instead_of_ignoring_it(admin: APIClient, tenant: Tenant) -> None:
    rows = one_of_everything(admin)
    before = whole_state(tenant)
    edited = {route for _, route in edits()} | WITH_OWN_TEST
    assert {route for route in creating() if route not in edited} == ADDING | BY_ROW
    for route in ADDING | BY_ROW | READING:
        for etag in (STALE["If-Match"], "*"):
            response = rows.call(admin, "post", f"api/v1/{route}", {"If-Match": etag})
            assert_problem(response, 400, "if_match_unsupported", "If-Match")
    assert whole_state(tenant) == before


def test_operation_without_if_match_changes_no_stored_row(admin: APIClient, tenant: Tenant) -> None:
    rows = one_of_everything(admin)
    changed = {}
    for route in sorted(ADDING | READING):
        with transaction.atomic():
            before = whole_state(tenant)
            response = rows.call(admin, "post", f"api/v1/{route}")
            assert response.status_code in {200, 201, 202, 409}, f"{route}: {response.content!r}"
            after = whole_state(tenant)
            transaction.set_rollback(True)
        changed[route] = _changed(before, after) - COUNTED
    assert {route: found for route, found in changed.items() if found} == {}


def _changed(before: State, after: State) -> set[tuple[str, str]]:
    """Return the tables and columns in which rows differ; a deleted row differs in all."""
    found = set()
    for table, rows in before.items():
        key = apps.get_model(table)._meta.pk.attname
        now = {row[key]: row for row in after[table]}
        for row in rows:
            found |= {(table, name) for name, value in row.items() if now.get(row[key], {}).get(name) != value}
    return found


def _etag(rows: Rows, admin: APIClient, route: str) -> str:
    """Return the ETag of the row that a route is about: from its own GET, or from the GET of the row above."""
    if route.startswith("partitions/"):
        return '"1"'  # the version of the summary
    for read in (route, route.rpartition("/")[0], route.split("/memories/")[0]):
        if f"api/v1/{read}" in ROUTES and "get" in offered(f"api/v1/{read}"):
            response = rows.call(admin, "get", f"api/v1/{read}")
            if "ETag" in response.headers:
                return str(response["ETag"])
    return ""


def test_repeated_post_creates_nothing_again(admin: APIClient, tenant: Tenant) -> None:
    rows = one_of_everything(admin)
    for route in creating():
        unreadable = rows.call(admin, "post", f"api/v1/{route}", {"Idempotency-Key": " "})
        assert unreadable.json()["code"] == "bad_idempotency_key", route
    routes = [route for route in creating() if route not in REFUSED]
    first = {route: rows.call(admin, "post", f"api/v1/{route}", {"Idempotency-Key": route}) for route in routes}
    failed = {route: answer.content for route, answer in first.items() if answer.status_code not in {200, 201, 202}}
    assert failed == {}
    after = whole_state(tenant)
    for route, answer in first.items():
        again = rows.call(admin, "post", f"api/v1/{route}", {"Idempotency-Key": route})
        assert (again.status_code, again.headers.get("Idempotent-Replayed")) == (answer.status_code, "true"), route
    assert whole_state(tenant) == after


def test_policy_is_replaced_with_its_own_etag_alone(admin: APIClient) -> None:
    url, year = "/api/v1/retention-policies", {"partition": "user=alex", "days": 365, "age_from": "created"}
    assert_problem(admin.post(url, year, headers=STALE), 412, "stale_version", "If-Match")
    etag = admin.post(url, year)["ETag"]
    changed = admin.post(url, {**year, "days": 30}, headers={"If-Match": etag})
    assert changed.json()["days"] == 30
    assert_problem(admin.post(url, year, headers={"If-Match": etag}), 412, "stale_version", "If-Match")
    assert admin.post(url, year, headers={"If-Match": changed["ETag"]}).status_code == 200
