"""The workbench: window, inclusion budget, look-up of memories, comparison; a GET changes nothing."""

import json
import shlex
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context.profiles.actions.budget_profiles import create_budget_profile
from memories.models import Tenant
from memories.store.actions.edit import archive_memory
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from tests.console_pages import with_result_address
from tests.integration.page_helpers import (
    HTMX,
    TESTER,
    client_of,
    make_bakery_memories,
    make_snapshot,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.integration.scoring_helpers import new_version

QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def ask(client: Client, tenant: Tenant, name: str = "context-preview", **options: Any) -> Any:
    return client.get(with_result_address(f"{page(name, tenant)}?{urlencode(options)}"))


def given(api: Any, **options: Any) -> str:
    return str(
        api.post("/api/v1/context", {"query": QUESTION, "max_tokens": 90, **options}, format="json").json()["id"]
    )


def parts_of(response: Any) -> dict[str, int]:
    return {part.name: part.tokens for part in response.context["window"].parts}


def test_window_is_reported_completely(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = ask(client, tenant, query=QUESTION, max_tokens=400, directive=1200)
    parts = parts_of(response)
    assert sum(parts.values()) == response.context["window"].window == 128_000
    assert (parts["reserve"], parts["directive"]) == (4_096, 1_200)
    assert "The window of 128,000 tokens: answer reserve 4,096, directive 1,200" in text_of(response)
    full = ask(client, tenant, query=QUESTION, max_tokens=400, directive=127_000)
    assert "3,496 tokens too many" in text_of(full)


def test_excluded_item_links_to_its_inclusion_budget(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    first = ask(client, tenant, query=QUESTION, max_tokens=60)
    row = next(one for one in first.context["preview"].excluded if one.is_for_the_budget)
    item = row.exclusion.anchor.id
    address = f"{page('inclusion-budget', tenant)}?{first.context['query']}&item={item}"
    assert address.replace("&", "&amp;") in text_of(first)
    whole_page = client.get(address)
    for answer in (whole_page, client.get(address, headers=HTMX)):
        assert f"Budget needed: {whole_page.context['found'].inclusion.budget} tokens" in text_of(answer)
        assert ("<html" in text_of(answer)) == (answer is whole_page)
    query = parse_qs(whole_page.context["entry_query"])
    assert query["max_tokens"] == [str(whole_page.context["found"].inclusion.budget)]
    then = client.get(with_result_address(f"{page('context-preview', tenant)}?{whole_page.context['entry_query']}"))
    assert item in [row.block.anchor.id for row in then.context["preview"].included]
    assert item in [one.row.block.anchor.id for one in then.context["change"].added]
    assert f"Before: needs {row.exclusion.tokens_missing} more token" in text_of(then)


@pytest.mark.parametrize(
    "options", [{"item": "x"}, {}, {"item": uuid4(), "max_tokens": 0}, {"item": uuid4(), "profile": "z"}]
)
def test_invalid_entry_is_answered_with_422(options: dict[str, Any], client: Client, tenant: Tenant) -> None:
    for headers in ({}, HTMX):
        address = f"{page('inclusion-budget', tenant)}?{urlencode({'query': QUESTION, **options})}"
        assert client.get(address, headers=headers).status_code == 422


def test_missing_inclusion_budget_is_reported_after_one_search_by_words(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    with CaptureQueriesContext(connection) as queries:
        answer = ask(client, tenant, "inclusion-budget", query=QUESTION, max_tokens=60, item=uuid4())
    assert "No budget up to 32,000 tokens includes it" in text_of(answer)
    assert sum("AS matching" in query["sql"] for query in queries) == 1


def test_minimum_score_is_shown_beside_the_score(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        create_budget_profile(
            tenant_id=tenant.pk, name="strict", changes={"minimum_score": 0.999}, by=TESTER, now=timezone.now()
        )
    response = ask(client, tenant, query=QUESTION, budget_profile="strict")
    row = response.context["preview"].excluded[0]
    assert not row.is_for_the_budget
    assert f"Below the minimum score 0.999 (score {row.exclusion.score:.3f})" in text_of(response)


def test_memories_are_looked_up_for_the_focus_by_words_or_id(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[3]
    address = page("context-suggest", tenant)
    for words in ("Brodersen e-mail", str(memory.pk)[:13]):
        options = text_of(client.get(f"{address}?{urlencode({'focus_memory': words})}", headers=HTMX))
        assert f'data-value="{memory.pk}"' in options
        assert "<html" not in options
    assert "No memory matches this text" in text_of(client.get(f"{address}?focus_memory=zeppelin", headers=HTMX))
    paths = text_of(client.get(f"{address}?partition=c-1", headers=HTMX))
    assert '<option value="agent=support/user=c-1">' in paths
    assert client.get(f"{address}?focus_memory={'x' * 300}", headers=HTMX).status_code == 204
    plain = client.get(f"{address}?focus_memory=Brodersen")
    assert plain["Location"] == f"{page('context-preview', tenant)}?focus_memory=Brodersen"


def test_words_for_a_focus_offer_the_memories_that_may_be_meant(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[3]
    response = ask(client, tenant, query=QUESTION, focus_memory="Brodersen", max_tokens=300)
    assert "Select a memory for “Brodersen”" in text_of(response)
    chosen = next(query for found, query in response.context["foci"] if found.pk == memory.pk)
    focused = client.get(with_result_address(f"{page('context-preview', tenant)}?{chosen}"))
    assert [row.memory.pk for row in focused.context["preview"].included if row.is_focus] == [memory.pk]
    assert focused.context["preview"].context.budget.max_tokens == 300
    assert "No live memory matches this text" in text_of(ask(client, tenant, focus_memory="zeppelin"))


def test_context_is_compared_with_a_receipt_with_reasons(client: Client, tenant: Tenant, api: Any) -> None:
    memories = make_bakery_memories(tenant)
    receipt = given(api, max_tokens=400)
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[1], by=TESTER, now=timezone.now())
    response = ask(client, tenant, query=QUESTION, max_tokens=60, against="receipt", receipt=receipt)
    text = text_of(response)
    assert "vs receipt: " in text
    assert "Now: archived on" in text
    assert "Now: needs" in text
    assert f'<option value="{receipt}">' in text, "what it can be compared with is offered"
    assert str(memories[1].pk) in [one.row.block.anchor.id for one in response.context["change"].removed]


def test_context_is_compared_with_a_snapshot(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    make_snapshot(tenant, "before the letters", timedelta(hours=1))
    late = store_memories_for_pages(
        tenant, ("ERR_4012 is answered by letter.", "agent=service", "fact"), now=timezone.now()
    )
    response = ask(client, tenant, query=QUESTION, against="snapshot", snapshot="before the letters")
    assert str(late[0].pk) in [one.row.block.anchor.id for one in response.context["change"].added]
    assert "vs snapshot before the letters: " in text_of(response)
    assert '<option value="before the letters" selected>' in text_of(response)
    assert "Before: not stored yet" in text_of(response)


BAD_COMPARISONS = [
    ({"against": "receipt"}, "receipt"),
    ({"against": "receipt", "receipt": "x"}, "receipt"),
    ({"against": "receipt", "receipt": uuid4()}, "receipt"),
    ({"against": "snapshot"}, "snapshot"),
    ({"against": "snapshot", "snapshot": "never"}, "snapshot"),
    ({"against": "snapshot", "snapshot": "now", "as_of": "2026-01-01T00:00"}, "snapshot"),
    ({"against": "tomorrow"}, "against"),
    ({"directive": "-1"}, "directive"),
]


def test_comparison_that_cannot_be_made_is_answered_422(client: Client, tenant: Tenant) -> None:
    make_snapshot(tenant, "now")
    for options, field in BAD_COMPARISONS:
        response = ask(client, tenant, query=QUESTION, **options)
        assert response.status_code == 422
        assert response.context["form"].errors[field]


def test_request_of_the_api_gives_the_same_context(client: Client, tenant: Tenant, api: Any) -> None:
    make_bakery_memories(tenant)
    options: dict[str, Any] = {"query": QUESTION, "partition": "agent=support", "max_tokens": 90, "packer": "elastic"}
    options["style"] = "xml"
    for more in ({}, {"profile": "conversation-recall", "ordering": "u_curve"}):
        response = ask(client, tenant, **options, **more)
        command = response.context["curl"]
        assert "YOUR_KEY" in command
        words = shlex.split(command.replace("\\\n", " "))
        body = json.loads(words[words.index("-d") + 1])
        answer = api.post("/api/v1/context", body, format="json").json()
        assert answer["text"] == response.context["preview"].context.text
        assert answer["id"] is None


def test_draft_is_named_as_nothing_for_the_api(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    new_version(tenant, "by-words")
    assert "The API accepts only active versions" in text_of(ask(client, tenant, query=QUESTION, profile="by-words@1"))
    assert "The API accepts only active versions" not in text_of(ask(client, tenant, query=QUESTION))


def test_reset_keeps_the_question_and_drops_the_numbers(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = ask(client, tenant, query=QUESTION, partition="agent=support", packer="optimal", max_tokens=90)
    assert parse_qs(response.context["reset_query"]) == {"query": [QUESTION], "partition": ["agent=support"]}


def test_receipt_opens_in_the_workbench_with_its_request(client: Client, tenant: Tenant, api: Any) -> None:
    memory = make_bakery_memories(tenant)[3]
    options = {"partition": "agent=service", "packer": "elastic", "ordering": "u_curve", "render": "xml"}
    for more in ({}, {"focus": {"memory_id": str(memory.pk)}, "partition": None}):
        receipt = given(api, **options | more)
        shown = client.get(page("receipt", tenant, receipt))
        opened = client.get(
            with_result_address(f"{page('context-preview', tenant)}?{shown.context['workbench_query']}")
        )
        request, was = (one.context["preview"].context.request for one in (opened, shown))
        same = ("query", "partition", "max_tokens", "packer", "ordering", "render", "focus", "profile")
        assert [request[name] for name in same] == [was[name] for name in same]


def rows_of_tables() -> dict[str, Any]:
    """Return every table with one hash of its rows."""
    skipped = ("django_session",)
    with maintenance_scope(), connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        tables = sorted(name for (name,) in cursor.fetchall() if name not in skipped)
        found = {}
        for name in tables:
            cursor.execute(
                f"SELECT count(*), md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM \"{name}\" t"
            )
            found[name] = cursor.fetchone()
    return found


def test_looking_changes_no_row(client: Client, tenant: Tenant, api: Any) -> None:
    memory = make_bakery_memories(tenant)[3]
    make_snapshot(tenant, "now")
    receipt = given(api)
    before = rows_of_tables()
    assert before["memories_memory"][0] == 5
    run = {"query": QUESTION, "max_tokens": 60}
    for name, options in (
        ("context-preview", {**run, "before": urlencode(run | {"max_tokens": 90}), "focus_memory": memory.pk}),
        ("context-preview", {**run, "against": "receipt", "receipt": receipt, "packer": "optimal"}),
        ("context-preview", {**run, "against": "snapshot", "snapshot": "now"}),
        ("inclusion-budget", {**run, "item": memory.pk}),
        ("context-suggest", {"focus_memory": "Brodersen"}),
        ("budget-curve", run),
    ):
        for headers in ({}, HTMX):
            answer = client.get(f"{page(name, tenant)}?{urlencode(options)}", headers=headers)
            assert answer.status_code in (200, 302), urlsplit(name)
    assert client.get(with_result_address(page("receipt", tenant, receipt) + "?with=today")).status_code == 200
    changed = {name for name, rows in rows_of_tables().items() if rows != before[name]}  # the log of readers
    assert changed == {"memories_auditentry", "memories_unsealedauditentry"}


def test_query_counts_do_not_grow(client: Client, tenant: Tenant, api: Any, django_assert_max_num_queries: Any) -> None:
    make_bakery_memories(tenant)
    receipt = given(api)
    looks: list[dict[str, Any]] = [
        {"before": urlencode({"query": QUESTION, "max_tokens": 60})},
        {"against": "receipt", "receipt": receipt},
    ]
    counts = []
    for look in looks:
        with django_assert_max_num_queries(110) as few:
            ask(client, tenant, query=QUESTION, **look)
        counts.append(len(few))
    store_memories_for_pages(
        tenant, *[(f"Bike number {n} has ERR_4012.", f"agent=shop/user=u-{n}", "fact") for n in range(30)]
    )
    for _ in range(3):
        given(api)
    for look, count in zip(looks, counts, strict=True):
        with django_assert_max_num_queries(count):
            ask(client, tenant, query=QUESTION, **look)


def test_address_that_no_browser_sends_is_no_step(client: Client, tenant: Tenant) -> None:
    headers = {**HTMX, "HX-Current-URL": "http://["}
    address = f"{page('context-preview', tenant)}?{urlencode({'query': QUESTION})}"
    assert client.get(address, headers=headers).status_code == 200
    assert Client().get(address, headers=headers).headers["HX-Redirect"]
