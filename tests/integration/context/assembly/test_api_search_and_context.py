"""Search and contexts over REST: shapes, budgets, previews, receipts."""

from typing import Any

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

from context.assembly.serializers.contexts import ContextOutput
from context.assembly.serializers.receipts import ReceiptOutput
from context.models import Receipt
from memories.models import Tenant
from memories.partitions.actions import set_tenant_memo
from memories.services.tokens import count_tokens
from memories.store.recall import fold_tenant_retrievals
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import (
    BULK,
    CONTEXT,
    MEMORIES,
    NOWHERE,
    SEARCH,
    all_stored_memories,
    assert_problem,
    post_memory,
)
from tests.users import BY, api_client, new_key

PARTS = {"relevance", "recency", "usefulness", "confidence", "frequency"}
OLD = "2026-01-01T00:00:00Z"
ROWS: list[dict[str, Any]] = [
    {"content": "Sam moved to Lisbon in May.", "user_id": "sam", "kind": "episode", "metadata": {"dia_id": "D1:1"}},
    {"content": "Sam lives in a small flat in Lisbon.", "user_id": "sam", "confidence": 0.9, "position": 3},
    {"content": "Alex bakes sourdough bread.", "user_id": "alex", "kind": "preference", "session": "s1"},
    {"content": "The office printer is broken.", "pinned": True},
]


@pytest.fixture
def rows(api: APIClient) -> None:
    answer = api.post(BULK, {"memories": [{**row, "created_at": OLD} for row in ROWS]}).json()
    assert {row["status"] for row in answer["results"]} == {"created"}


def first_words(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["content"].partition(" ")[0] for row in response.json()["results"]]


def test_hits_are_memories_with_score_and_parts_best_first(rows: None, api: APIClient) -> None:
    answer = api.post(SEARCH, {"query": "Where in Lisbon does Sam live?"}).json()
    assert answer["warnings"] == []
    assert "plan" not in answer
    best, *others = answer["results"]
    assert "Lisbon" in best["content"]
    assert best == {**api.get(f"{MEMORIES}/{best['id']}").json(), **{k: best[k] for k in ("score", "score_breakdown")}}
    assert set(best["score_breakdown"]) == PARTS
    assert [row["score"] for row in answer["results"]] == sorted((r["score"] for r in answer["results"]), reverse=True)
    weights = {"relevance": 0.40, "recency": 0.25, "usefulness": 0.20, "confidence": 0.10, "frequency": 0.05}
    total = sum(weights[name] * value for name, value in best["score_breakdown"].items())
    assert best["score"] == pytest.approx(total, abs=2e-6)
    assert others


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
def test_every_mode_answers(rows: None, api: APIClient, mode: str) -> None:
    assert "Sam" in first_words(api.post(SEARCH, {"query": "Lisbon", "mode": mode}))


def test_top_k_and_threshold_bound_the_hits(rows: None, api: APIClient) -> None:
    assert len(first_words(api.post(SEARCH, {"query": "Lisbon", "top_k": 1}))) == 1
    scores = [row["score"] for row in api.post(SEARCH, {"query": "Lisbon"}).json()["results"]]
    kept = api.post(SEARCH, {"query": "Lisbon", "threshold": scores[1]}).json()["results"]
    assert [row["score"] for row in kept] == scores[:2]
    assert first_words(api.post(SEARCH, {"query": "Lisbon", "threshold": 1})) == []


FILTERS = [
    ({"kind": "preference"}, ["Alex"]),
    ({"kind": {"in": ["preference", "episode"]}}, ["Alex", "Sam"]),
    ({"confidence": {"gte": 0.85}}, ["Sam"]),
    ({"confidence": {"gte": 0.1, "lte": 0.85}, "pinned": False}, ["Alex", "Sam"]),
    ({"metadata.dia_id": "D1:1"}, ["Sam"]),
    ({"metadata.dia_id": {"in": ["D1:1", 7]}}, ["Sam"]),
    ({"metadata.absent": 1}, []),
    ({"session": "s1"}, ["Alex"]),
    ({"position": 3}, ["Sam"]),
    ({"created_at": {"gte": "2026-06-01T00:00:00Z"}}, []),
    ({}, ["Alex", "Sam", "Sam", "The"]),
]


def test_filters_narrow_a_search(rows: None, api: APIClient) -> None:
    for filters, expected in FILTERS:
        assert sorted(first_words(api.post(SEARCH, {"query": "Lisbon bread", "filters": filters}))) == expected


def test_search_is_narrowed_by_partition_or_shorthand(rows: None, api: APIClient) -> None:
    assert first_words(api.post(SEARCH, {"query": "bread", "partition": "user=alex"})) == ["Alex"]
    assert first_words(api.post(SEARCH, {"query": "bread", "user_id": "alex"})) == ["Alex"]
    assert first_words(api.post(SEARCH, {"query": "bread", "partition": "", "exact": True})) == ["The"]


def test_explain_adds_ranks_and_the_plan(rows: None, api: APIClient) -> None:
    answer = api.post(SEARCH, {"query": "Lisbon", "explain": True}).json()
    assert set(answer["results"][0]["explain"]) == {"similarity", "vector_rank", "text_rank", "fused_score"}
    assert answer["plan"]["mode"] == "hybrid"


def test_search_counts_nothing(rows: None, api: APIClient, tenant: Tenant) -> None:
    api.post(SEARCH, {"query": "Lisbon"})
    assert {memory.retrieval_count for memory in all_stored_memories(tenant)} == {0}


def test_context_is_within_its_budget_to_the_token(rows: None, api: APIClient) -> None:
    for budget in (1, 30, 60, 120, 1000):
        answer = api.post(CONTEXT, {"query": "Where does Sam live?", "max_tokens": budget}).json()
        assert set(answer) == set(ContextOutput().fields) - {"explain", "stable_prefix_tokens"}
        assert answer["budget"]["max_tokens"] == budget
        assert answer["budget"]["used"] == count_tokens(answer["text"], "o200k_base") <= budget
        assert len(answer["blocks"]) + len(answer["omitted"]) <= len(ROWS)
    assert api.post(CONTEXT, {"query": "x", "max_tokens": 1}).json()["text"] == ""


def test_blocks_and_profiles_have_the_documented_shape(rows: None, api: APIClient, tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        set_tenant_memo(tenant=tenant, content="You help Sam.", by=BY, now=all_stored_memories(tenant)[0].recorded_from)
    answer = api.post(CONTEXT, {"query": "Where does Sam live?", "max_tokens": None, "model": None}).json()
    assert answer["id"]
    assert answer["profile"] == {"name": "adr-0040", "version": 1}
    assert answer["budget_profile"] == {"name": "default", "version": 0}
    assert set(answer["budget"]) == {"max_tokens", "used", "reserved", "tokenizer", "exact"}
    assert answer["budget"]["max_tokens"] == 4000
    memo, memory = answer["blocks"][:2]
    assert (memo["kind"], memo["anchor"]["type"], memo["text"]) == ("tenant_memo", "tenant_memo", "You help Sam.")
    assert set(memory) == {
        "kind", "anchor", "text", "tokens", "position", "truncated", "score", "score_breakdown",
        "created_at", "valid_from", "valid_to",
    }  # fmt: skip
    assert set(memory["anchor"]) == {"type", "id", "version"}
    assert set(memory["score_breakdown"]) == PARTS
    assert [block["position"] for block in answer["blocks"]] == list(range(len(answer["blocks"])))
    tight = api.post(CONTEXT, {"query": "Where does Sam live?", "max_tokens": 60, "explain": True}).json()
    assert set(tight["omitted"][0]) == {"anchor", "reason", "tokens", "score", "near_duplicate_of"}
    assert set(tight["explain"]) == {"candidates", "plan", "optimality"}


def test_null_means_the_default(rows: None, api: APIClient) -> None:
    names = (
        "query", "partition", "user_id", "max_tokens", "model", "profile", "budget_profile", "packer", "ordering",
        "render", "include_tenant_memo", "include_memories_top_k", "stable_with",
    )  # fmt: skip
    answer = api.post(CONTEXT, dict.fromkeys(names))
    assert answer.status_code == 200
    assert next(block["text"].partition(" ")[0] for block in answer.json()["blocks"]) == "The"
    assert api.post(CONTEXT).status_code == 200


def test_preview_stores_and_counts_nothing(rows: None, tenant: Tenant) -> None:
    reader = api_client(new_key(tenant, "read"))
    answer = reader.post(CONTEXT, {"query": "Where does Sam live?", "preview": True}).json()
    assert answer["id"] is None
    assert answer["blocks"]
    assert {memory.retrieval_count for memory in all_stored_memories(tenant)} == {0}
    with tenant_scope(tenant.pk):
        assert not Receipt.objects.for_tenant(tenant.pk).exists()


def test_context_counts_what_it_packed(rows: None, api: APIClient, tenant: Tenant) -> None:
    answer = api.post(CONTEXT, {"query": "Where does Sam live?", "partition": "user=sam"}).json()
    packed = {block["anchor"]["id"] for block in answer["blocks"]}
    for _ in range(2):
        rows = api.get(MEMORIES).json()["results"]
        assert {row["id"] for row in rows if row["retrieval_count"] == 1 and row["last_retrieved_at"]} == packed
        fold_tenant_retrievals(tenant.pk)
    assert {str(memory.pk) for memory in all_stored_memories(tenant) if memory.retrieval_count == 1} == packed


def test_receipt_gives_the_context_again(rows: None, api: APIClient) -> None:
    answer = api.post(CONTEXT, {"query": "Where does Sam live?", "user_id": "sam"}).json()
    again = api.get(f"{CONTEXT}/{answer['id']}").json()
    assert set(again) == set(ReceiptOutput().fields) - {"explain", "stable_prefix_tokens"}
    assert {name: again[name] for name in answer if name != "timings"} == {
        name: answer[name] for name in answer if name != "timings"
    }
    assert again["is_verified"]
    assert again["request"]["segments"] == {"user": "sam"}
    assert "explain" in api.get(f"{CONTEXT}/{answer['id']}", {"explain": "true"}).json()


def test_absent_receipt_is_not_found(api: APIClient) -> None:
    assert_problem(api.get(f"{CONTEXT}/{NOWHERE}"), 404, "not_found")
    assert_problem(api.post(CONTEXT, {"query": "x", "stable_with": str(NOWHERE)}), 404, "not_found")


def test_unknown_model_warns_and_uses_the_default(rows: None, api: APIClient) -> None:
    answer = api.post(CONTEXT, {"query": "Sam", "model": "someone/else-1"}).json()
    assert "unknown_model" in [warning["code"] for warning in answer["warnings"]]
    assert answer["budget"]["used"] > 0


def test_a_rendered_text_is_not_stored_again(rows: None, api: APIClient) -> None:
    api.post(CONTEXT, {"query": "Where does Sam live?"})
    again = api.post(MEMORIES, {"content": "Sam moved to Lisbon in May", "user_id": "sam"})
    assert (again.status_code, again.json()["status"], again.json()["reason"]) == (200, "existing", "recalled")


@override_settings(
    EMBEDDING_PROVIDER="openai", EMBEDDING_BASE_URL="http://127.0.0.1:9", EMBEDDING_MODEL="m", EMBEDDING_DIMENSION=8
)
def test_a_provider_that_is_away_costs_neither_write_nor_reading(api: APIClient) -> None:
    answer = post_memory(api, "Sam moved to Lisbon in May.")
    assert answer["embedding"] == {"state": "pending", "model": None, "dimension": None}
    found = api.post(SEARCH, {"query": "Lisbon"}).json()
    assert [row["id"] for row in found["results"]] == [answer["id"]]
    assert [warning["code"] for warning in found["warnings"]] == ["embedder_unavailable"]
    context = api.post(CONTEXT, {"query": "Lisbon"}).json()
    assert [block["anchor"]["id"] for block in context["blocks"]] == [answer["id"]]
    assert context["warnings"]
