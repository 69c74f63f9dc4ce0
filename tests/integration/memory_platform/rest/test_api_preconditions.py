"""Every edit of the API takes `If-Match`, and every POST that creates takes `Idempotency-Key`."""

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.memory_platform.rest.test_api_routes import ROUTES, Rows, offered, one_of_everything, whole_state
from tests.integration.rest_helpers import assert_problem
from tests.users import api_client

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
#: POSTs without an id that replace a row.
REPLACING = {"retention-policies", "prompts/rollback"}
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
    assert unchecked == WITH_ETAG_OF_AN_EDIT


def test_operation_that_edits_no_row_refuses_if_match_instead_of_ignoring_it(admin: APIClient, tenant: Tenant) -> None:
    rows = one_of_everything(admin)
    before = whole_state(tenant)
    edited = {route for _, route in edits()} | WITH_OWN_TEST
    adding = [route for route in creating() if route not in edited]
    assert {"memories", "sessions", "links", "feedback", "context", "keys"} <= set(adding)
    for route in [*adding, *READING]:
        for etag in (STALE["If-Match"], "*"):
            response = rows.call(admin, "post", f"api/v1/{route}", {"If-Match": etag})
            assert_problem(response, 400, "if_match_unsupported", "If-Match")
    assert whole_state(tenant) == before


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
