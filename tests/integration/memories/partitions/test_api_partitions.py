"""Partitions, their summaries and the memo over REST."""

from typing import Any
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.partitions.serializers import PartitionOutput, PartitionSummaryOutput, TenantMemoOutput
from tests.integration.rest_helpers import CONTEXT, MEMORIES, assert_problem, every_page, post_memory, query_count
from tests.users import api_client, new_key

PARTITIONS = "/api/v1/partitions"
MEMO = "/api/v1/memo"
TEXT = "Alex meets before noon."


def summaries(path: str) -> str:
    """Return the address of a partition's summaries, with its path encoded as a whole."""
    return f"{PARTITIONS}/{quote(path, safe='')}/summaries"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def confined(tenant: Tenant) -> APIClient:
    return api_client(new_key(tenant, "read", "write", "admin", partition="user=alex"))


def paths(client: APIClient, **query: str) -> list[str]:
    return [row["partition"] for row in client.get(PARTITIONS, query).json()["results"]]


def test_partitions_are_in_the_order_of_their_paths_with_their_counts(api: APIClient) -> None:
    post_memory(api, "One", partition="user=alex/topic=home")
    gone = post_memory(api, "Two", partition="user=alex/topic=home")
    api.delete(f"{MEMORIES}/{gone['id']}")
    post_memory(api, "Three", partition="user=al-2")
    api.put(summaries("user=alex"), {"content": TEXT, "style": "detailed"})
    rows = api.get(PARTITIONS).json()["results"]
    assert set(rows[0]) == set(PartitionOutput().fields)
    assert [(row["partition"], row["depth"], row["memory_count"], row["summary_styles"]) for row in rows] == [
        ("", 0, 0, []),
        ("user=al-2", 1, 1, []),
        ("user=alex", 1, 0, ["detailed"]),
        ("user=alex/topic=home", 2, 1, []),
    ]
    assert paths(api, partition="user=alex") == ["user=alex", "user=alex/topic=home"]
    assert paths(api, partition="user=al") == []


def test_partition_is_made_once_with_those_above_it(api: APIClient) -> None:
    made = api.post(PARTITIONS, {"partition": "user=alex/topic=a%2Fb"})
    assert (made.status_code, made.json()["partition"], made.json()["depth"]) == (201, "user=alex/topic=a%2Fb", 2)
    assert api.post(PARTITIONS, {"partition": "user=alex/topic=a%2fb"}).status_code == 200
    assert api.post(PARTITIONS, {"user_id": "sam", "run_id": "7"}).json()["partition"] == "user=sam/run=7"
    assert paths(api) == ["", "user=alex", "user=alex/topic=a%2Fb", "user=sam", "user=sam/run=7"]
    assert_problem(api.post(PARTITIONS, {"partition": "nonsense"}), 400, "bad_segment", "partition")
    twice = {"partition": "user=x", "user_id": "x"}
    assert_problem(api.post(PARTITIONS, twice), 400, "partition_given_twice", "partition")
    assert_problem(api.post(PARTITIONS, {"path": "user=x"}), 400, "unknown_field", "path")
    first, again = (api.post(PARTITIONS, {"user_id": "kim"}, headers={"Idempotency-Key": "kim"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)


def test_partitions_are_paged_and_queries_do_not_grow(api: APIClient) -> None:
    api.post(PARTITIONS, {"user_id": "zoe"})
    few = query_count(api, PARTITIONS)
    for number in range(5):
        post_memory(api, "One", user_id=f"u{number}")
        api.put(summaries(f"user=u{number}"), {"content": TEXT})
    assert query_count(api, PARTITIONS) == few
    pages = [[row["partition"] for row in page] for page in every_page(api, f"{PARTITIONS}?page_size=3")]
    assert pages == [["", "user=u0", "user=u1"], ["user=u2", "user=u3", "user=u4"], ["user=zoe"]]


def test_confined_key_sees_and_makes_partitions_of_its_subtree(api: APIClient, confined: APIClient) -> None:
    for user in ("alex", "alexa", "sam"):
        api.post(PARTITIONS, {"user_id": user})
    assert confined.post(PARTITIONS, {"partition": "user=alex/topic=x"}).status_code == 201
    assert paths(confined) == ["user=alex", "user=alex/topic=x"]
    assert_problem(confined.get(PARTITIONS, {"partition": ""}), 403, "partition_forbidden")
    assert_problem(confined.post(PARTITIONS, {"user_id": "alexa"}), 403, "partition_forbidden")


@pytest.mark.parametrize(
    "path", ["user=alex", "user=alex/topic=meetings", "user=a%2Fb/topic=100%25", "user=\u00e9\u4e2d"]
)
def test_summary_of_any_path_is_set_and_read(api: APIClient, path: str) -> None:
    made = api.put(summaries(path), {"content": f"  {TEXT} "})
    assert made.status_code == 201, made.content
    row = made.json()
    assert set(row) == set(PartitionSummaryOutput().fields)
    assert (row["partition"], row["content"], row["style"], row["version"]) == (path, TEXT, "compact", 1)
    assert (row["origin"], row["recorded_to"]) == ("agent", None)
    assert api.get(summaries(path)).json()["results"] == [row]


def test_slashes_of_a_path_may_stay_in_the_address(api: APIClient) -> None:
    api.put(summaries("user=alex/topic=home"), {"content": TEXT})
    rows = api.get(f"{PARTITIONS}/user=alex/topic=home/summaries").json()["results"]
    assert [row["partition"] for row in rows] == ["user=alex/topic=home"]


def test_the_root_has_an_empty_path(api: APIClient) -> None:
    assert api.put(f"{PARTITIONS}//summaries", {"content": TEXT}).json()["partition"] == ""
    assert len(api.get(f"{PARTITIONS}//summaries").json()["results"]) == 1


def test_summaries_keep_their_versions(api: APIClient) -> None:
    url = summaries("user=alex")
    first = api.put(url, {"content": "First"}).json()
    assert api.put(url, {"content": "First"}).json() == first
    second = api.put(url, {"content": "Second"})
    assert (second.status_code, second.json()["version"], second.json()["id"]) == (200, 2, first["id"])
    api.put(url, {"content": "At length", "style": "detailed"})
    current = api.get(url).json()["results"]
    assert {row["style"]: row["content"] for row in current} == {"compact": "Second", "detailed": "At length"}
    versions = api.get(url, {"versions": "true", "style": "compact"}).json()["results"]
    assert [(row["version"], row["recorded_to"] is None) for row in versions] == [(2, True), (1, False)]
    assert api.delete(url).status_code == 204
    assert api.delete(url).status_code == 204
    assert [row["style"] for row in api.get(url).json()["results"]] == ["detailed"]
    assert api.put(url, {"content": "Third"}).json()["version"] == 3
    assert [len(page) for page in every_page(api, f"{url}?versions=true&page_size=2")] == [2, 2]
    few = query_count(api, f"{url}?versions=true")
    api.put(url, {"content": "Fourth"})
    assert query_count(api, f"{url}?versions=true") == few


def test_if_match_keeps_two_summarisers_apart(api: APIClient) -> None:
    url = summaries("user=alex")
    etag = api.put(url, {"content": "First"}, headers={"If-Match": '"0"'})["ETag"]
    assert api.put(url, {"content": "Second"}, headers={"If-Match": etag}).status_code == 200
    assert_problem(api.put(url, {"content": "Third"}, headers={"If-Match": etag}), 412, "stale_version")
    assert_problem(api.delete(url, headers={"If-Match": etag}), 412, "stale_version")
    assert api.get(url).json()["results"][0]["content"] == "Second"


BAD_SUMMARIES = [
    ({"content": " "}, "blank", "content"),
    ({}, "required", "content"),
    ({"content": "x" * (32 * 1024 + 1)}, "too_long", "content"),
    ({"content": "a\x00"}, "null_character", "content"),
    ({"content": "x", "style": "poetic"}, "invalid_choice", "style"),
    ({"content": "x", "origin": "operator"}, "unknown_field", "origin"),
]


def test_bad_summary_is_refused_by_name(api: APIClient) -> None:
    for body, code, field in BAD_SUMMARIES:
        assert_problem(api.put(summaries("user=alex"), body), 400, code, field)
    assert paths(api) == []


def test_bad_or_absent_partition_in_an_address_is_refused(api: APIClient) -> None:
    for method, body in (("get", {}), ("put", {"content": TEXT}), ("delete", {})):
        bad = getattr(api, method)(f"{PARTITIONS}/nonsense/summaries", body)
        assert_problem(bad, 400, "bad_segment", "partition")
        assert_problem(getattr(api, method)(f"{PARTITIONS}/user=%00/summaries", body), 400, "bad_value", "partition")
    assert_problem(api.get(summaries("user=alex")), 404, "not_found")
    assert_problem(api.delete(summaries("user=alex")), 404, "not_found")
    api.post(PARTITIONS, {"user_id": "alex"})
    assert_problem(api.get(summaries("user=alex"), {"style": "poetic"}), 400, "invalid_choice", "style")
    assert_problem(api.delete(f"{summaries('user=alex')}?style=poetic"), 400, "invalid_choice", "style")


def test_summaries_are_confined_too(api: APIClient, confined: APIClient, tenant: Tenant) -> None:
    api.put(summaries("user=sam"), {"content": TEXT})
    for path in ("user=sam", "", "user=alexa"):
        url = summaries(path) if path else f"{PARTITIONS}//summaries"
        assert_problem(confined.get(url), 403, "partition_forbidden")
        assert_problem(confined.put(url, {"content": "x"}), 403, "partition_forbidden")
        assert_problem(confined.delete(url), 403, "partition_forbidden")
    assert confined.put(summaries("user=alex/topic=x"), {"content": TEXT}).status_code == 201
    reader = api_client(new_key(tenant, "read"))
    assert len(reader.get(summaries("user=sam")).json()["results"]) == 1
    assert_problem(reader.put(summaries("user=sam"), {"content": "x"}), 403, "scope_missing")
    assert_problem(reader.delete(summaries("user=sam")), 403, "scope_missing")
    assert_problem(reader.post(PARTITIONS, {"user_id": "x"}), 403, "scope_missing")


def test_memo_is_set_read_and_taken_out(admin: APIClient, api: APIClient) -> None:
    none = api.get(MEMO)
    assert set(none.json()) == set(TenantMemoOutput().fields)
    assert (none.json()["content"], none.json()["version"]) == ("", 0)
    saved = admin.put(MEMO, {"content": " You help Sam. "}, headers={"If-Match": none["ETag"]})
    assert (saved.status_code, saved.json()["content"], saved.json()["version"]) == (200, "You help Sam.", 1)
    assert api.get(MEMO).json() == saved.json()
    assert api.get(MEMO, headers={"If-None-Match": saved["ETag"]}).status_code == 304
    assert "You help Sam." in api.post(CONTEXT, {"query": "x"}).json()["text"]
    assert admin.put(MEMO, {"content": "You help Sam."}).json()["version"] == 1
    assert_problem(admin.put(MEMO, {"content": "x"}, headers={"If-Match": none["ETag"]}), 412, "stale_version")
    assert admin.put(MEMO, {"content": ""}).json()["version"] == 2
    assert api.post(CONTEXT, {"query": "x"}).json()["text"] == ""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": "a\x00"}, "null_character"),
        ({"content": "x" * (32 * 1024 + 1)}, "too_long"),
        ({"content": None}, "null"),
        ({"content": 7}, "not_text"),
        ({}, "required"),
    ],
)
def test_bad_memo_is_refused(admin: APIClient, body: dict[str, Any], code: str) -> None:
    assert_problem(admin.put(MEMO, body), 400, code, "content")
    assert admin.get(MEMO).json()["version"] == 0


def test_memo_is_for_admins_of_the_whole_tenant(api: APIClient, confined: APIClient) -> None:
    assert_problem(api.put(MEMO, {"content": "x"}), 403, "scope_missing")
    assert_problem(confined.put(MEMO, {"content": "x"}), 403, "partition_forbidden")
    assert confined.get(MEMO).json()["version"] == 0
