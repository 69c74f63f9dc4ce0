"""A figure has the same value on every page and endpoint."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from memories.hygiene.actions import merge_memories
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import TESTER, as_stored, client_of, make_bakery_memories, page, text_of
from tests.users import new_operator, new_shared_tenant

QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def words_of(client: Client, address: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text_of(client.get(address))).split())


def ask(api: APIClient, budget: int) -> dict[str, Any]:
    body = {"query": QUESTION, "max_tokens": budget, "explain": True}
    answer: dict[str, Any] = api.post("/api/v1/context", body, format="json").json()
    return answer


def test_usefulness_of_a_memory_is_the_same_everywhere(client: Client, tenant: Tenant, api: APIClient) -> None:
    memory = make_bakery_memories(tenant)[1]
    api.post("/api/v1/feedback", {"memory_id": str(memory.pk), "feedback": "POSITIVE"}, format="json")
    score = as_stored(memory).usefulness_score
    assert api.get(f"/api/v1/memories/{memory.pk}").json()["usefulness_score"] == score
    shown = f"{score * 100:.0f} %"
    assert f"Usefulness {shown}" in words_of(client, page("memory", tenant, memory.pk))
    votes = words_of(client, page("memory-votes", tenant, memory.pk))
    assert f"usefulness {shown}" in votes
    assert "No feedback yet" not in votes


def test_uses_of_a_memory_are_the_same_everywhere(client: Client, tenant: Tenant, api: APIClient) -> None:
    memory = make_bakery_memories(tenant)[1]
    answers = [ask(api, budget) for budget in (400, 400, 60)]
    included = sum(any(block["anchor"]["id"] == str(memory.pk) for block in each["blocks"]) for each in answers)
    response = client.get(page("memory-votes", tenant, memory.pk))
    assert f"in {included} recorded contexts" in " ".join(text_of(response).split())
    assert response.context["use"].included == len(response.context["use"].contexts) == included
    assert as_stored(memory).retrieval_count in (0, included)  # retrievals are added up in batches


def test_candidates_of_a_context_are_counted_once(client: Client, tenant: Tenant, api: APIClient) -> None:
    make_bakery_memories(tenant)
    answer = ask(api, 60)
    candidates, excluded = len(answer["explain"]["candidates"]), len(answer["omitted"])
    considered = excluded + len(answer["blocks"])
    receipt = words_of(client, page("receipt", tenant, answer["id"]))
    address = f"{page('context-preview', tenant)}?query={QUESTION}&max_tokens=60&whole=1"
    for shown in (receipt, words_of(client, address)):
        assert f"{excluded} of {considered} items excluded" in shown
        assert f"{excluded} of {considered} items, best first" in shown
        assert re.findall(r"(\d+) candidates?\b", shown) in ([str(candidates)], [])
    assert f"All {candidates} candidates" in receipt


def test_contexts_and_tokens_are_the_same_on_overview_agents_and_log(
    client: Client, tenant: Tenant, api: APIClient
) -> None:
    make_bakery_memories(tenant)
    used = sum(ask(api, budget)["budget"]["used"] for budget in (60, 400))
    overview = client.get(page("tenant-overview", tenant), {"range": "24h"}).context["charts"]
    agents = client.get(page("agents", tenant), {"range": "24h"})
    own = {chart.title: chart for chart in agents.context["charts"]}
    assert overview[0].caption == own["Contexts served"].caption == "2 contexts"
    assert overview[3].caption == own["Tokens served"].caption == f"{used:,} tokens"
    for place, title in ((1, "Latency"), (2, "Budget used")):
        assert [row.values for row in overview[place].rows] == [row.values for row in own[title].rows]
    (row,) = agents.context["rows"]
    assert (row["row"].figures.contexts, row["row"].figures.tokens_used) == (2, used)
    assert len(client.get(page("context-log", tenant)).context["table"].rows) == 2


def test_figures_of_a_merged_memory_and_of_live_memories_are_the_same_everywhere(
    client: Client, tenant: Tenant, api: APIClient
) -> None:
    kept, merged = make_bakery_memories(tenant)[:2]
    with tenant_scope(tenant.pk):
        Memory.objects.filter(pk=kept.pk).update(retrieval_count=3, usefulness_score=0.9)
        Memory.objects.filter(pk=merged.pk).update(retrieval_count=4, usefulness_score=0.3)
        merge_memories(tenant_id=tenant.pk, groups={kept.pk: [merged.pk]}, by=TESTER, now=timezone.now())
        live = list(Memory.objects.for_tenant(tenant.pk).filter(archived_at=None))
    stored = api.get(f"/api/v1/memories/{kept.pk}").json()
    usefulness = f"{stored['usefulness_score'] * 100:.0f} %"
    assert stored["retrieval_count"] == 7
    detail = words_of(client, page("memory", tenant, kept.pk))
    assert f"Usefulness {usefulness} Retrieved 7 times" in detail
    votes = words_of(client, page("memory-votes", tenant, kept.pk))
    assert f"Usefulness {usefulness} was stored with the memory" in votes
    assert "7×" in words_of(client, page("memories", tenant))
    count, tokens = len(live), sum(row.tokens_o200k_base for row in live)
    both = client_of(new_operator("ada", "admin", tenant, new_shared_tenant("Other")))
    (line,) = [each for each in both.get("/").context["table"].rows if each.tenant == tenant]
    figures = client.get(page("tenant-overview", tenant)).context["memories"]
    assert [(each.live, each.tokens) for each in (line, figures)] == [(count, tokens)] * 2
    assert re.search(rf"whole tenant .*? {count} (\d+ here )?{tokens} ", words_of(client, page("partitions", tenant)))
    assert f"of {count} live memories" in words_of(client, page("embeddings", tenant))
