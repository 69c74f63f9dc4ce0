"""The context log and the votes on memories: shown, replayed, given and withdrawn."""

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from context.models import Feedback
from context.profiles import scoring_profiles
from context.services.profiles.scoring_profiles import SHIPPED_PROFILES, SHIPPED_VERSIONS
from memories.hygiene.actions import merge_memories
from memories.models import Memory, Tenant
from memories.store.actions.edit import archive_memory
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import with_result_address
from tests.integration.page_helpers import (
    HTMX,
    TESTER,
    as_stored,
    client_of,
    make_bakery_memories,
    page,
    text_of,
    undo_of,
)
from tests.users import new_operator

QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def ask(api: Any, **options: Any) -> str:
    return str(
        api.post("/api/v1/context", {"query": QUESTION, "max_tokens": 90, **options}, format="json").json()["id"]
    )


def votes(tenant: Tenant) -> list[Feedback]:
    with tenant_scope(tenant.pk):
        return list(Feedback.objects.for_tenant(tenant.pk).newest_first())


def test_empty_context_log_explains_how_to_request_a_context(client: Client, tenant: Tenant) -> None:
    assert "No contexts yet" in text_of(client.get(page("context-log", tenant)))


def test_context_of_a_former_built_in_version_opens(
    client: Client, tenant: Tenant, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bakery_memories(tenant)
    with monkeypatch.context() as before:
        former = SHIPPED_VERSIONS["recall", 1]
        before.setattr(scoring_profiles, "SHIPPED_PROFILES", {**SHIPPED_PROFILES, "recall": former})
        answer = api.post("/api/v1/context", {"query": QUESTION, "profile": "recall"}, format="json").json()
    assert answer["profile"]["version"] == 1
    assert client.get(page("receipt", tenant, answer["id"])).status_code == 200


def test_contexts_are_listed_and_filtered(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    ask(api, partition="agent=support")
    ask(api, query="When does Kiel close?")

    def listed(**query: str) -> int:
        return len(client.get(f"{page('context-log', tenant)}?{urlencode(query)}").context["table"].rows)

    assert listed() == 2
    assert listed(q="kiel") == 1
    assert listed(partition="agent=support") == 1
    assert listed(key="nobody") == 0
    assert listed(after="2999-01-01T00:00") == 0
    assert listed(before="2999-01-01T00:00") == 2
    fragment = text_of(client.get(page("context-log", tenant), headers=HTMX))
    assert "2 contexts shown" in fragment
    assert "<html" not in fragment
    assert "No results" in text_of(client.get(page("context-log", tenant) + "?q=nothing+of+this"))


def test_live_list_is_sent_again_only_when_there_is_a_newer_context(
    client: Client, tenant: Tenant, api: Any, django_assert_max_num_queries: Any
) -> None:
    make_bakery_memories(tenant)
    ask(api, partition="agent=support")
    address = f"{page('context-log', tenant)}?live=on&partition=agent%3Dsupport"
    poll = client.get(address).context["poll_address"]
    with django_assert_max_num_queries(40) as page_queries:
        client.get(address, headers=HTMX)
    with django_assert_max_num_queries(len(page_queries) - 4):
        assert client.get(poll, headers=HTMX).status_code == 204
    ask(api, query="When does Kiel close?")
    assert client.get(poll, headers=HTMX).status_code == 204
    newer = ask(api, partition="agent=support/user=c-1")
    answer = client.get(poll, headers=HTMX)
    assert "1 new context</div>" in text_of(answer)
    assert f'<tr id="context-{newer}">' in text_of(answer)
    assert text_of(answer).count(">new</span>") == 1
    (again,) = re.findall(r'"([^"]+seen=[^"]+)"', text_of(answer))
    assert client.get(unescape(again), headers=HTMX).status_code == 204
    assert "poll_address" not in client.get(f"{address}&sort=when").context


def test_timings_of_a_context_are_stored_and_shown_with_their_unit(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    answer = api.post("/api/v1/context", {"query": QUESTION, "max_tokens": 90}, format="json").json()
    stored = api.get(f"/api/v1/context/{answer['id']}").json()["timings"]
    assert {name: answer["timings"][name] for name in stored if name != "total"} | {"total": stored["total"]} == stored
    assert answer["timings"].keys() - stored.keys() == {"receipt"}
    assert {"resolve", "embed", "vector", "lexical", "pack", "render"} <= stored.keys()
    assert 0 < stored["total"] <= answer["timings"]["total"] - answer["timings"]["receipt"]
    assert sum(stored[name] for name in ("resolve", "retrieve", "pack", "render")) <= stored["total"]
    (row,) = api.get("/api/v1/contexts").json()["results"]
    assert row["latency_ms"] == stored["total"]
    entry = text_of(client.get(page("receipt", tenant, answer["id"])))
    assert re.search(r'<tr><th scope="row">Total</th><td class="num">[\d.]+ ms</td></tr>', entry)
    assert "Storing the receipt is not included." in entry
    assert re.search(r"<dt>Requested by</dt><dd>API key <a [^>]+>\S", entry)
    assert re.search(r'data-label="Latency">[\d.]+ ms<', text_of(client.get(page("context-log", tenant))))


@pytest.mark.parametrize("query", ["partition=nonsense", "after=yesterday", "before=x"])
def test_filter_that_is_none_is_answered_422(query: str, client: Client, tenant: Tenant) -> None:
    assert client.get(f"{page('context-log', tenant)}?{query}").status_code == 422


def test_lists_of_contexts_have_pages(
    client: Client, tenant: Tenant, api: Any, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 2)
    make_bakery_memories(tenant)
    for number in range(3):
        ask(api, query=f"Question {number}")
    first = client.get(page("context-log", tenant))
    assert [row.query for row in first.context["table"].rows] == ["Question 2", "Question 1"]
    rest = client.get(f"{page('context-log', tenant)}?{first.context['table'].next_query}")
    assert [row.query for row in rest.context["table"].rows] == ["Question 0"]
    with django_assert_max_num_queries(40) as few:
        client.get(page("context-log", tenant))
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 50)
    with django_assert_max_num_queries(len(few)):
        client.get(page("context-log", tenant))


def test_context_is_shown_as_it_was_after_an_edit_and_beside_today(client: Client, tenant: Tenant, api: Any) -> None:
    memories = make_bakery_memories(tenant)
    receipt_id = ask(api)
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[1], by=TESTER, now=timezone.now())
    for headers in ({}, HTMX):
        then = client.get(page("receipt", tenant, receipt_id), headers=headers)
        assert "· Verified<" in text_of(then)
        assert memories[1].content in then.context["preview"].context.text
        assert ("<html" in text_of(then)) == (not headers)
    assert f"{page('context-explain', tenant)}?query=What" in text_of(then), (
        "an excluded memory leads to its explanation"
    )
    address = page("receipt", tenant, receipt_id) + "?with=today"
    first = client.get(address)
    assert "Removed" not in text_of(first)
    assert f'hx-get="{address}" hx-trigger="load"' in text_of(first)
    part, today = client.get(address, headers=HTMX), client.get(with_result_address(address))
    assert f"{len(today.context['change'].added)} block" in text_of(part)
    assert " added, 1 removed since then</div>" in text_of(part)
    assert "<html" not in text_of(part)
    assert [one.row.block.anchor.id for one in today.context["change"].removed] == [str(memories[1].pk)]
    assert "1 removed</span>" in text_of(today)


def test_context_of_another_tenant_is_absent(client: Client, tenant: Tenant, other_tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    stranger = client_of(new_operator("xenia", "viewer", other_tenant))
    assert stranger.get(page("receipt", other_tenant, ask(api))).status_code == 404
    assert client.get(page("receipt", tenant, uuid4())).status_code == 404


def test_vote_is_given_counts_and_is_taken_back(client: Client, tenant: Tenant, api: Any) -> None:
    memory = make_bakery_memories(tenant)[1]
    ask(api)
    address = page("memory-votes", tenant, memory.pk)
    text = text_of(client.get(address))
    assert "No feedback yet" in text
    assert QUESTION.replace("'", "&#x27;") in text
    response = client.post(address, {"feedback": "NEGATIVE", "reason": "It was the plug."}, follow=True)
    assert "Vote recorded." in text_of(response)
    assert "It was the plug." in text_of(response)
    assert as_stored(memory).usefulness_score < 0.5
    vote = votes(tenant)[0]
    undone = client.post(page("vote-withdraw", tenant, memory.pk, vote.pk), headers=HTMX)
    assert "withdrawn" in text_of(undone)
    assert undo_of(undone).startswith(page("vote-restore", tenant, memory.pk))
    assert as_stored(memory).usefulness_score == memory.usefulness_score
    again = page("vote-restore", tenant, memory.pk) + "?" + urlencode({"feedback": "NEGATIVE", "reason": vote.reason})
    client.post(again)
    assert [row.withdrawn_at is None for row in votes(tenant)] == [True, False]


def test_later_vote_of_a_person_replaces_that_of_the_day_and_can_be_undone(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    address = page("memory-votes", tenant, memory.pk)
    client.post(address, {"feedback": "POSITIVE", "reason": "It helped."}, headers=HTMX)
    replaced = client.post(address, {"feedback": "NEGATIVE"}, headers=HTMX)
    assert "It replaces your earlier vote of today." in text_of(replaced)
    assert [row.weight for row in votes(tenant)] == [-1]
    assert as_stored(memory).usefulness_score == pytest.approx(1 / 3)
    client.post(undo_of(replaced))
    assert [(row.weight, row.reason) for row in votes(tenant)] == [(1, "It helped.")]
    assert as_stored(memory).usefulness_score == pytest.approx(2 / 3)


@pytest.mark.parametrize("typed", [{"feedback": "SPLENDID"}, {}, {"feedback": "POSITIVE", "reason": "x" * 501}])
def test_vote_that_is_none_is_answered_422(typed: dict[str, str], client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    assert client.post(page("memory-votes", tenant, memory.pk), typed).status_code == 422
    assert votes(tenant) == []


def test_viewer_reads_votes_and_gives_none(tenant: Tenant) -> None:
    memory: Memory = make_bakery_memories(tenant)[0]
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.get(page("memory-votes", tenant, memory.pk)).status_code == 200
    assert viewer.post(page("memory-votes", tenant, memory.pk), {"feedback": "POSITIVE"}).status_code == 403
    assert viewer.post(page("vote-withdraw", tenant, memory.pk, uuid4())).status_code == 403
    assert viewer.post(page("vote-restore", tenant, memory.pk)).status_code == 403


def test_memory_or_vote_that_is_not_there_is_absent(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    foreign = make_bakery_memories(other_tenant)[0]
    own = make_bakery_memories(tenant)[0]
    assert client.get(page("memory-votes", tenant, foreign.pk)).status_code == 404
    assert client.post(page("memory-votes", tenant, foreign.pk), {"feedback": "POSITIVE"}).status_code == 404
    assert client.post(page("vote-withdraw", tenant, own.pk, uuid4())).status_code == 404
    client.post(page("memory-votes", tenant, own.pk), {"feedback": "POSITIVE"})
    assert client.post(page("vote-withdraw", tenant, foreign.pk, votes(tenant)[0].pk)).status_code == 404
    assert votes(tenant)[0].withdrawn_at is None


def test_vote_on_a_memory_merged_into_this_one_is_not_given_to_this_one(client: Client, tenant: Tenant) -> None:
    kept, merged = make_bakery_memories(tenant)[:2]
    client.post(page("memory-votes", tenant, merged.pk), {"feedback": "NEGATIVE"})
    with tenant_scope(tenant.pk):
        merge_memories(tenant_id=tenant.pk, groups={kept.pk: [merged.pk]}, by=TESTER, now=timezone.now())
    response = client.post(page("vote-withdraw", tenant, kept.pk, votes(tenant)[0].pk), headers=HTMX)
    assert "withdrawn" in text_of(response)
    assert page("vote-restore", tenant, kept.pk) not in text_of(response)
