"""Bad input to the REST API gets a 400 with field and code; nothing is written or quoted."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from context.models import Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import CONTEXT, MEMORIES, SEARCH, all_stored_memories, assert_problem, post_memory

SECRET_TEXT = "the combination is 4711"


def in_days(days: float) -> str:
    return (timezone.now() + timedelta(days=days)).isoformat()


BAD_FIELDS: list[tuple[str, Any, str]] = [
    ("content", "", "blank"),
    ("content", " \n\t ", "blank"),
    ("content", None, "null"),
    ("content", 17, "not_text"),
    ("content", True, "not_text"),
    ("content", ["a"], "not_text"),
    ("content", "x" * (32 * 1024 + 1), "too_long"),
    ("content", "x" * 1_000_000, "too_long"),
    ("content", f"{SECRET_TEXT}\x00", "null_character"),
    ("content", f"{SECRET_TEXT}\ud800", "lone_surrogate"),
    ("content", f"{SECRET_TEXT}\udfff", "lone_surrogate"),
    ("kind", "Two Words", "bad_kind"),
    ("kind", "", "bad_kind"),
    ("kind", "fact\n", "bad_kind"),
    ("kind", "x" * 33, "bad_kind"),
    ("kind", None, "null"),
    ("confidence", 1.5, "out_of_range"),
    ("confidence", -0.1, "out_of_range"),
    ("confidence", "0.5", "not_a_number"),
    ("confidence", True, "not_a_number"),
    ("confidence", None, "null"),
    ("confidence", 10**300, "out_of_range"),
    ("pinned", "true", "not_a_boolean"),
    ("pinned", 1, "not_a_boolean"),
    ("partition", "no equals sign", "bad_segment"),
    ("partition", "Key=value", "bad_key"),
    ("partition", "user=", "bad_value"),
    ("partition", "user=a//topic=b", "bad_segment"),
    ("partition", "/user=a", "bad_segment"),
    ("partition", "user=a=b", "bad_segment"),
    ("partition", "user=%zz", "bad_encoding"),
    ("partition", "user=%ff", "bad_encoding"),
    ("partition", "user=%00", "bad_value"),
    ("partition", "user=\x00", "bad_value"),
    ("partition", f"user={SECRET_TEXT}\ud800", "bad_encoding"),
    ("partition", "user=" + "x" * 129, "bad_value"),
    ("partition", "/".join(["a=1"] * 9), "too_deep"),
    ("partition", 7, "bad_segment"),
    ("user_id", "", "bad_value"),
    ("agent_id", 7, "bad_value"),
    ("run_id", "x\x00", "bad_value"),
    ("metadata", [], "not_an_object"),
    ("metadata", "text", "not_an_object"),
    ("metadata", None, "null"),
    ("metadata", {"a": "x" * 8192}, "too_long"),
    ("metadata", {"a": ["x\x00"]}, "null_character"),
    ("metadata", {"a\x00": 1}, "null_character"),
    ("metadata", {"a": "\ud800"}, "lone_surrogate"),
    ("metadata", {"a": 2**63}, "number_out_of_range"),
    ("created_at", "2026-01-01T00:00:00", "no_offset"),
    ("created_at", "2026-01-01", "no_offset"),
    ("created_at", "yesterday", "not_a_time"),
    ("created_at", "2026-13-01T00:00:00Z", "not_a_time"),
    ("created_at", "0001-01-01T00:00:00+14:00", "not_a_time"),
    ("created_at", 1767225600, "not_a_time"),
    ("created_at", in_days(1.1), "too_far_ahead"),
    ("expires_at", "2031-01-01T00:00:00", "no_offset"),
    ("expires_at", in_days(-1), "before_creation"),
    ("source_id", "x" * 256, "too_long"),
    ("source_id", 7, "not_text"),
    ("source_id", "a\x00", "null_character"),
    ("session", "x" * 256, "too_long"),
    ("session", None, "null"),
    ("position", -1, "out_of_range"),
    ("position", 2**31, "out_of_range"),
    ("position", 2**70, "out_of_range"),
    ("position", 1.0, "not_an_integer"),
    ("position", True, "not_an_integer"),
    ("position", "1", "not_an_integer"),
    ("links.0.target_id", [{"target_id": "x"}], "not_a_uuid"),
    ("links.0.target_id", [{}], "required"),
    ("links", [{"target_id": "00000000-0000-4000-8000-000000000000"}], "unknown_target"),
    ("tenant", "other", "unknown_field"),
    ("tenant_id", "00000000-0000-4000-8000-000000000000", "unknown_field"),
    ("usefulness_score", 1.0, "unknown_field"),
    ("id", "00000000-0000-4000-8000-000000000000", "unknown_field"),
]


def test_bad_field_of_a_new_memory_is_refused_by_name(api: APIClient, tenant: Tenant) -> None:
    for field, value, code in BAD_FIELDS:
        body = {"content": SECRET_TEXT, field.partition(".")[0]: value}
        response = api.post(MEMORIES, json.dumps(body), content_type="application/json")
        assert_problem(response, 400, code, field)
        assert b"4711" not in response.content, (field, code)
    assert all_stored_memories(tenant) == []


BAD_CHANGES = [row for row in BAD_FIELDS if not row[0].startswith("links")] + [("created_at", None, "required")]


def test_bad_field_of_a_change_is_refused_by_name(api: APIClient, tenant: Tenant) -> None:
    url = f"{MEMORIES}/{post_memory(api, 'One', created_at=timezone.now().isoformat())['id']}"
    for field, value, code in BAD_CHANGES:
        response = api.patch(url, json.dumps({field: value}), content_type="application/json")
        assert_problem(response, 400, code, field)
    (memory,) = all_stored_memories(tenant)
    assert (memory.content, memory.version) == ("One", 1)


def test_missing_content_is_named(api: APIClient, tenant: Tenant) -> None:
    assert_problem(api.post(MEMORIES, {"kind": "fact"}), 400, "required", "content")
    assert_problem(api.post(MEMORIES), 400, "required", "content")
    assert all_stored_memories(tenant) == []


def test_every_fault_is_named_at_once(api: APIClient) -> None:
    problem = assert_problem(api.post(MEMORIES, {"confidence": 2, "colour": "red"}), 400, "invalid")
    faults = {(entry["field"], entry["code"]) for entry in problem["errors"]}
    assert faults == {("content", "required"), ("confidence", "out_of_range"), ("colour", "unknown_field")}


@pytest.mark.parametrize("name", ["user_id", "agent_id", "run_id"])
def test_partition_and_shorthand_together_are_refused(api: APIClient, tenant: Tenant, name: str) -> None:
    body = {"content": "One", "query": "One", "partition": "user=alex", name: "alex"}
    for url, unused in ((MEMORIES, "query"), (SEARCH, "content"), (CONTEXT, "content")):
        rest = {key: value for key, value in body.items() if key != unused}
        assert_problem(api.post(url, rest), 400, "partition_given_twice", "partition")
    assert_problem(
        api.get(MEMORIES, {"partition": "user=alex", name: "alex"}), 400, "partition_given_twice", "partition"
    )
    assert all_stored_memories(tenant) == []


BAD_BODIES: list[tuple[str, bytes, str, str | None]] = [
    ("no JSON", b"{content: x}", "malformed_json", None),
    ("half a body", b'{"content": "x"', "malformed_json", None),
    ("NaN", b'{"content": "x", "confidence": NaN}', "malformed_json", None),
    ("Infinity", b'{"content": "x", "confidence": -Infinity}', "malformed_json", None),
    ("a number beyond doubles", b'{"content": "x", "confidence": 1e999}', "not_finite", "confidence"),
    ("not UTF-8", b'{"content": "\xff"}', "malformed_json", None),
    ("UTF-16", '{"content": "x"}'.encode("utf-16"), "malformed_json", None),
    ("a key twice", b'{"content": "x", "content": "y"}', "duplicate_key", "content"),
    ("a list", b'[{"content": "x"}]', "not_an_object", ""),
    ("text", b'"x"', "not_an_object", ""),
    ("null", b"null", "null", ""),
    ("a number", b"7", "not_an_object", ""),
    ("5,000 digits", b'{"content": "x", "position": ' + b"9" * 5000 + b"}", "number_out_of_range", None),
    ("65 levels", b'{"metadata": ' + b"[" * 65 + b"]" * 65 + b"}", "too_deep", None),
    ("100,000 levels", b"[" * 100_000, "too_deep", None),
    ("NUL outside of strings", b'{"content": "x"}\x00', "malformed_json", None),
    ("a surrogate as a name", b'{"content": "x", "\\ud800": 1}', "unknown_field", "\\ud800"),
]


@pytest.mark.parametrize("url", [MEMORIES, f"{MEMORIES}/bulk", SEARCH, CONTEXT])
def test_bad_body_is_refused(api: APIClient, tenant: Tenant, url: str) -> None:
    for name, body, code, field in BAD_BODIES:
        response = api.post(url, body, content_type="application/json")
        if name == "null":
            assert response.json()["detail"] == "Must be a JSON object."
        if url == MEMORIES:
            assert_problem(response, 400, code, field)
        assert response.status_code == 400, name
        assert response["Content-Type"] == "application/problem+json", name
    assert all_stored_memories(tenant) == []


BAD_OPTIONS: list[tuple[str, Any, str]] = [
    ("max_tokens", 0, "out_of_range"),
    ("max_tokens", -1, "out_of_range"),
    ("max_tokens", 10**9, "out_of_range"),
    ("max_tokens", 128_001, "out_of_range"),
    ("max_tokens", 10**30, "out_of_range"),
    ("max_tokens", "1000", "not_an_integer"),
    ("max_tokens", 1000.0, "not_an_integer"),
    ("max_tokens", True, "not_an_integer"),
    ("query", 7, "not_text"),
    ("query", "x\x00", "null_character"),
    ("query", "\ud800", "lone_surrogate"),
    ("query", "x" * (32 * 1024 + 1), "too_long"),
    ("partition", "nonsense", "bad_segment"),
    ("packer", "optimal-ish", "invalid_choice"),
    ("ordering", "random", "invalid_choice"),
    ("render", "html", "invalid_choice"),
    ("profile", "mine", "invalid_choice"),
    ("budget_profile", "mine", "unknown_budget_profile"),
    ("include_memories_top_k", 0, "out_of_range"),
    ("include_memories_top_k", 201, "out_of_range"),
    ("include_tenant_memo", "yes", "not_a_boolean"),
    ("stable_with", "not-a-uuid", "not_a_uuid"),
    ("preview", 1, "not_a_boolean"),
    ("explain", "yes", "not_a_boolean"),
    ("exact", 0, "not_a_boolean"),
    ("model", 7, "not_text"),
    ("model", "x" * 201, "too_long"),
]


def test_bad_option_of_a_context_is_refused_by_name(api: APIClient, tenant: Tenant) -> None:
    for field, value, code in BAD_OPTIONS:
        body = json.dumps({"query": "Where does Sam live?", field: value})
        assert_problem(api.post(CONTEXT, body, content_type="application/json"), 400, code, field)
    with tenant_scope(tenant.pk):
        assert not Receipt.objects.for_tenant(tenant.pk).exists()


BAD_SEARCHES: list[tuple[str, Any, str]] = [
    ("query", "", "blank"),
    ("query", None, "null"),
    ("top_k", 0, "out_of_range"),
    ("top_k", 201, "out_of_range"),
    ("top_k", "10", "not_an_integer"),
    ("threshold", 1.5, "out_of_range"),
    ("threshold", "high", "not_a_number"),
    ("mode", "magic", "invalid_choice"),
    ("profile", "mine", "invalid_choice"),
    ("filters", [], "not_an_object"),
    ("filters.colour", {"colour": "red"}, "unknown_field"),
    ("filters.kind", {"kind": 7}, "wrong_type"),
    ("filters.kind", {"kind": {"like": "f%"}}, "unknown_operator"),
    ("filters.kind", {"kind": {}}, "unknown_operator"),
    ("filters.confidence", {"confidence": {"gte": "high"}}, "wrong_type"),
    ("filters.confidence", {"confidence": True}, "wrong_type"),
    ("filters.position", {"position": 2**63}, "wrong_type"),
    ("filters.created_at", {"created_at": {"gte": "2026-01-01T00:00:00"}}, "wrong_type"),
    ("filters.source_id", {"source_id": "\x00"}, "wrong_type"),
    ("filters.source_id", {"source_id": {"in": ["x"] * 201}}, "too_many"),
    ("filters.metadata.a", {"metadata.a": "\ud800"}, "wrong_type"),
    ("filters.metadata.\\x00", {"metadata.\x00": 1}, "null_character"),
    ("filters.metadata.\\ud800", {"metadata.\ud800": 1}, "lone_surrogate"),
    ("limit", 5, "unknown_field"),
]


def test_bad_search_is_refused_by_name(api: APIClient) -> None:
    for field, value, code in BAD_SEARCHES:
        body = json.dumps({"query": "Where does Sam live?", field.partition(".")[0]: value})
        assert_problem(api.post(SEARCH, body, content_type="application/json"), 400, code, field)


BAD_QUERIES = [
    ("colour", "red", "unknown_field"),
    ("page_size", "0", "out_of_range"),
    ("page_size", "501", "out_of_range"),
    ("page_size", "ten", "not_an_integer"),
    ("page_size", "9" * 100, "not_an_integer"),
    ("cursor", "nonsense", "bad_cursor"),
    ("cursor", "bnVsbA", "bad_cursor"),
    ("cursor", "e30", "bad_cursor"),
    ("cursor", "é", "bad_cursor"),
    ("kind", "Two Words", "bad_kind"),
    ("pinned", "yes", "not_a_boolean"),
    ("archived", "1", "not_a_boolean"),
    ("exact", "", "not_a_boolean"),
    ("q", "", "too_short"),
    ("q", "\x00", "null_character"),
    ("created_after", "2026-01-01", "no_offset"),
    ("created_before", "tomorrow", "not_a_time"),
    ("ordering", "content", "invalid_choice"),
    ("partition", "nonsense", "bad_segment"),
    ("user_id", "\x00", "bad_value"),
]


def test_bad_query_parameter_is_refused_by_name(api: APIClient) -> None:
    for name, value, code in BAD_QUERIES:
        assert_problem(api.get(MEMORIES, {name: value}), 400, code, name)


def test_query_parameter_given_twice_is_refused(api: APIClient) -> None:
    assert_problem(api.get(f"{MEMORIES}?kind=fact&kind=episode"), 400, "given_twice", "kind")


def test_cursor_of_another_ordering_is_refused(api: APIClient) -> None:
    for number in range(3):
        post_memory(api, f"memory {number}")
    following = api.get(MEMORIES, {"page_size": 1}).json()["next"]
    assert_problem(api.get(f"{following}&ordering=confidence"), 400, "bad_cursor", "cursor")
