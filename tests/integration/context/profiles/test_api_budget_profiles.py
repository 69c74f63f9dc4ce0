"""Budget profiles and their assignments over REST."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from context.profiles.serializers.profiles import BudgetProfileAssignmentOutput, BudgetProfileOutput
from memories.models import Tenant
from tests.integration.rest_helpers import CONTEXT, assert_problem, every_page, post_memory, query_count
from tests.users import api_client, new_key

PROFILES = "/api/v1/budget-profiles"
ASSIGNMENTS = f"{PROFILES}/assignments"
CHAT = {
    "name": "chat",
    "default_tokens": 1200,
    "packer": "elastic",
    "sections": {"tenant_memo": {"tokens": 100}, "memories": {"share": 0.5}},
    "include_summaries_at": [1, 0],
}


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def chat(admin: APIClient) -> dict[str, Any]:
    response = admin.post(PROFILES, CHAT)
    assert response.status_code == 201, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_default_is_there_before_anything_was_saved(api: APIClient) -> None:
    (row,) = api.get(PROFILES).json()["results"]
    assert set(row) == set(BudgetProfileOutput().fields)
    assert (row["name"], row["version"], row["default_tokens"], row["recorded_from"]) == ("default", 0, 4000, None)
    assert api.get(f"{PROFILES}/default").json() == row
    assert [version["version"] for version in api.get(f"{PROFILES}/default/versions").json()["results"]] == [0]


def test_new_profile_takes_the_numbers_of_another_with_changes(admin: APIClient, chat: dict[str, Any]) -> None:
    assert (chat["name"], chat["version"], chat["packer"], chat["minimum_score"]) == ("chat", 1, "elastic", 0)
    assert chat["include_summaries_at"] == [0, 1]
    assert chat["sections"] == CHAT["sections"]
    again = admin.post(PROFILES, {"name": "short", "based_on": "chat", "default_tokens": 300}).json()
    assert (again["packer"], again["default_tokens"]) == ("elastic", 300)
    assert [row["name"] for row in admin.get(PROFILES).json()["results"]] == ["chat", "default", "short"]
    assert_problem(admin.post(PROFILES, CHAT), 409, "duplicate", "name")
    assert_problem(admin.post(PROFILES, {"name": "default"}), 409, "duplicate", "name")


def test_patch_changes_some_numbers_and_put_all(admin: APIClient, chat: dict[str, Any]) -> None:
    url = f"{PROFILES}/chat"
    changed = admin.patch(url, {"default_tokens": 1500}).json()
    assert (changed["version"], changed["default_tokens"], changed["packer"]) == (2, 1500, "elastic")
    assert admin.patch(url, {"default_tokens": 1500}).json()["version"] == 2
    whole = admin.put(url, {"default_tokens": 900}).json()
    assert (whole["version"], whole["default_tokens"], whole["packer"], whole["sections"]) == (3, 900, "greedy", {})
    back = admin.post(f"{url}/rollback", {"version": 1}).json()
    assert (back["version"], back["packer"], back["default_tokens"]) == (4, "elastic", 1200)
    versions = admin.get(f"{url}/versions").json()["results"]
    assert [row["version"] for row in versions] == [4, 3, 2, 1]
    assert versions[1]["recorded_to"] == versions[0]["recorded_from"]
    assert versions[0]["recorded_to"] is None


def test_if_match_keeps_two_editors_apart(admin: APIClient, chat: dict[str, Any]) -> None:
    url = f"{PROFILES}/chat"
    etag = admin.get(url)["ETag"]
    assert admin.get(url, headers={"If-None-Match": etag}).status_code == 304
    assert admin.patch(url, {"default_tokens": 1500}, headers={"If-Match": etag}).status_code == 200
    for method, body in (("patch", {"default_tokens": 9}), ("put", {})):
        assert_problem(getattr(admin, method)(url, body, headers={"If-Match": etag}), 412, "stale_version")
    assert_problem(admin.post(f"{url}/rollback", {"version": 1}, headers={"If-Match": etag}), 412, "stale_version")
    assert admin.get(url).json()["version"] == 2


def test_versions_are_compared_number_by_number(admin: APIClient, chat: dict[str, Any]) -> None:
    admin.patch(f"{PROFILES}/chat", {"default_tokens": 1500})
    answer = admin.get(f"{PROFILES}/chat/compare", {"a": 1, "b": 2}).json()
    assert (answer["a"], answer["b"]) == ({"name": "chat", "version": 1}, {"name": "chat", "version": 2})
    assert [row for row in answer["fields"] if row["differs"]] == [
        {"field": "default_tokens", "a": 1200, "b": 1500, "differs": True}
    ]
    differing = [row for row in answer["fields"] if row["differs"]]
    assert admin.get(f"{PROFILES}/chat/diff", {"a": 1, "b": 2}).json() == {**answer, "fields": differing}
    across = admin.get(f"{PROFILES}/chat/compare", {"a": 1, "b": 0, "other": "default"}).json()
    assert {row["field"] for row in across["fields"] if row["differs"]} == {"default_tokens", "packer", "sections"}
    assert_problem(admin.get(f"{PROFILES}/chat/compare", {"a": 1}), 400, "required", "b")
    assert_problem(admin.get(f"{PROFILES}/chat/compare", {"a": 7, "b": 1}), 400, "unknown_version", "a")
    assert_problem(admin.get(f"{PROFILES}/chat/compare", {"a": 1, "b": "x"}), 400, "not_an_integer", "b")


BAD_NUMBERS: list[tuple[str, Any, str]] = [
    ("name", "Chat", "bad_name"),
    ("name", "x" * 65, "bad_name"),
    ("name", "assignments", "reserved_name"),
    ("name", 7, "not_text"),
    ("based_on", "nobody", "unknown_budget_profile"),
    ("default_tokens", 0, "out_of_range"),
    ("default_tokens", "1200", "not_an_integer"),
    ("default_tokens", None, "null"),
    ("overfetch_ratio", 0.5, "out_of_range"),
    ("overfetch_ratio", True, "not_a_number"),
    ("minimum_score", 1.1, "out_of_range"),
    ("pinned_share", 1.5, "out_of_range"),
    ("pinned_share", "half", "not_a_number"),
    ("near_duplicate_threshold", -1, "out_of_range"),
    ("packer", "magic", "invalid_choice"),
    ("ordering", "random", "invalid_choice"),
    ("summary_style", "poetic", "invalid_choice"),
    ("include_tenant_memo", 1, "not_a_boolean"),
    ("include_linked_memories", "yes", "not_a_boolean"),
    ("include_memories_top_k", 201, "out_of_range"),
    ("include_summaries_at.0", [8], "out_of_range"),
    ("include_summaries_at", "0", "not_a_list"),
    ("include_summaries_at", list(range(8)) * 2, "max_length"),
    ("sections", [], "not_an_object"),
    ("sections", {"poems": {"tokens": 1}}, "unknown_section"),
    ("sections", {"memories": {"tokens": 1, "share": 0.1}}, "bad_section_budget"),
    ("sections", {"memories": {"tokens": -1}}, "tokens_out_of_range"),
    ("sections", {"memories": {"share": 2}}, "share_out_of_range"),
    ("sections", {"memories": {"share": 0.8}, "focus": {"share": 0.8}}, "shares_exceed_whole"),
    ("elastic_target_items", 0, "out_of_range"),
    ("elastic_min_tokens", 91, "above_maximum"),
    ("receipt_days", 3651, "out_of_range"),
    ("receipt_count", 0, "out_of_range"),
    ("version", 3, "unknown_field"),
]


def test_bad_number_is_refused_by_name(admin: APIClient) -> None:
    for field, value, code in BAD_NUMBERS:
        body = {"name": "chat", field.partition(".")[0]: value}
        assert_problem(admin.post(PROFILES, body), 400, code, field)
        assert len(admin.get(PROFILES).json()["results"]) == 1
        if field not in ("name", "based_on"):
            assert_problem(admin.patch(f"{PROFILES}/default", {field.partition(".")[0]: value}), 400, code, field)


def test_absent_profile_is_not_found(admin: APIClient) -> None:
    url = f"{PROFILES}/nobody"
    for response in (
        admin.get(url),
        admin.put(url, {}),
        admin.patch(url, {}),
        admin.get(f"{url}/versions"),
        admin.post(f"{url}/rollback", {"version": 1}),
        admin.get(f"{url}/compare", {"a": 1, "b": 1}),
        admin.get(f"{PROFILES}/%00"),
    ):
        assert_problem(response, 404, "not_found")
    assert_problem(admin.post(f"{PROFILES}/default/rollback", {"version": 3}), 400, "unknown_version", "version")


def test_changing_takes_an_admin_key_of_the_whole_tenant(api: APIClient, tenant: Tenant, chat: dict[str, Any]) -> None:
    confined = api_client(new_key(tenant, "admin", partition="user=alex"))
    for client, code in ((api, "scope_missing"), (confined, "partition_forbidden")):
        for method, url, body in (
            ("post", PROFILES, {"name": "mine"}),
            ("put", f"{PROFILES}/chat", {}),
            ("patch", f"{PROFILES}/chat", {}),
            ("post", f"{PROFILES}/chat/rollback", {"version": 1}),
            ("put", ASSIGNMENTS, {"budget_profile": "chat", "partition": "user=alex"}),
            ("delete", f"{ASSIGNMENTS}?partition=user%3Dalex", {}),
        ):
            assert_problem(getattr(client, method)(url, body), 403, code)
        assert client.get(f"{PROFILES}/chat").json()["version"] == 1


def test_profile_is_assigned_to_keys_and_partitions(
    admin: APIClient, api: APIClient, api_key: str, chat: dict[str, Any]
) -> None:
    post_memory(api, "Alex lives in Porto.", partition="user=alex")
    of_tree = admin.put(ASSIGNMENTS, {"budget_profile": "chat", "partition": "user=alex"}).json()
    assert set(of_tree) == set(BudgetProfileAssignmentOutput().fields)
    assert (of_tree["partition"], of_tree["key"], of_tree["recorded_to"]) == ("user=alex", None, None)
    key_id = api_key.partition(".")[0]
    of_key = admin.put(ASSIGNMENTS, {"budget_profile": "default", "key": key_id}).json()
    assert (of_key["partition"], of_key["key"]) == (None, key_id)
    assert api_key not in str(of_key)
    rows = admin.get(ASSIGNMENTS).json()["results"]
    assert [row["id"] for row in rows] == [of_key["id"], of_tree["id"]]
    options = {"query": "Porto", "partition": "user=alex/topic=home"}
    assert api.post(CONTEXT, options).json()["budget_profile"] == {"name": "default", "version": 0}
    assert admin.post(CONTEXT, options).json()["budget_profile"] == {"name": "chat", "version": 1}
    assert admin.delete(f"{ASSIGNMENTS}?partition=user%3Dalex").status_code == 204
    assert admin.post(CONTEXT, options).json()["budget_profile"] == {"name": "default", "version": 0}
    assert_problem(admin.delete(f"{ASSIGNMENTS}?partition=user%3Dalex"), 404, "not_assigned")
    assert [row["id"] for row in admin.get(ASSIGNMENTS).json()["results"]] == [of_key["id"]]
    history = admin.get(ASSIGNMENTS, {"history": "true"}).json()["results"]
    assert {row["id"]: row["recorded_to"] is None for row in history} == {of_key["id"]: True, of_tree["id"]: False}


BAD_ASSIGNMENTS = [
    ({"budget_profile": "default"}, 400, "one_target", "key"),
    ({"budget_profile": "default", "key": "x", "partition": ""}, 400, "one_target", "key"),
    ({"budget_profile": "default", "partition": "nonsense"}, 400, "bad_segment", "partition"),
    ({"budget_profile": "nobody", "partition": ""}, 400, "unknown_budget_profile", "budget_profile"),
    ({"partition": ""}, 400, "required", "budget_profile"),
    ({"budget_profile": "default", "key": "unknown"}, 404, "not_found", "key"),
    ({"budget_profile": "default", "key": "a\x00"}, 400, "null_character", "key"),
]


def test_bad_assignment_is_refused(admin: APIClient) -> None:
    for body, status, code, field in BAD_ASSIGNMENTS:
        assert_problem(admin.put(ASSIGNMENTS, body), status, code, field)


def test_confined_key_sees_assignments_of_its_partition(admin: APIClient, tenant: Tenant, chat: dict[str, Any]) -> None:
    for place in ("", "user=alex", "user=alex/topic=home", "user=sam"):
        admin.put(ASSIGNMENTS, {"budget_profile": "chat", "partition": place})
    confined = api_client(new_key(tenant, "read", partition="user=alex"))
    rows = confined.get(ASSIGNMENTS).json()["results"]
    assert {row["partition"] for row in rows} == {"user=alex", "user=alex/topic=home"}


def test_lists_are_paged_and_queries_do_not_grow(admin: APIClient, chat: dict[str, Any]) -> None:
    admin.put(ASSIGNMENTS, {"budget_profile": "chat", "partition": ""})
    urls = (PROFILES, f"{PROFILES}/chat/versions", ASSIGNMENTS)
    few = [query_count(admin, url) for url in urls]
    for number in range(4):
        admin.post(PROFILES, {"name": f"p{number}"})
        admin.patch(f"{PROFILES}/chat", {"default_tokens": 100 + number})
        admin.put(ASSIGNMENTS, {"budget_profile": "chat", "partition": f"user={number}"})
    assert [query_count(admin, url) for url in urls] == few
    names = [[row["name"] for row in page] for page in every_page(admin, f"{PROFILES}?page_size=4")]
    assert names == [["chat", "default", "p0", "p1"], ["p2", "p3"]]
    versions = [[row["version"] for row in page] for page in every_page(admin, f"{PROFILES}/chat/versions?page_size=2")]
    assert versions == [[5, 4], [3, 2], [1]]
    assert [len(page) for page in every_page(admin, f"{ASSIGNMENTS}?page_size=2")] == [2, 2, 1]


def test_repeated_post_makes_one_profile(admin: APIClient) -> None:
    once = {"Idempotency-Key": "profile-1"}
    first, again = (admin.post(PROFILES, CHAT, headers=once) for _ in range(2))
    assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 201, "true")
    assert again.json() == first.json()
