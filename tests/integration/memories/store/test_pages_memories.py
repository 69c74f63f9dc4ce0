"""The list of memories and the page of one: browse, search, edit, archive, restore, pin, and back again."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from memories.models import Memory, Tenant
from memories.partitions.actions import link_memories
from memories.search.browsing import MEMORY_LIST_PAGE_SIZE
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
    store_memories_for_pages,
    text_of,
    undo_of,
)


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def form_of(memory: Memory, **changes: Any) -> dict[str, Any]:
    """Return what a browser sends if only `changes` were entered."""
    return {
        "seen_version": memory.version,
        "content": memory.content,
        "kind": memory.kind,
        "confidence": memory.confidence,
        "expires_at": "",
        "metadata": "{}",
    } | changes


def test_list_is_a_page_and_for_htmx_a_fragment(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    full, part = client.get(page("memories", tenant)), client.get(page("memories", tenant), headers=HTMX)
    assert "<html" in text_of(full)
    assert "<html" not in text_of(part)
    assert text_of(full).count("memory-link") == text_of(part).count("memory-link") == 5
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("header", ["HX-Boosted", "HX-History-Restore-Request"])
def test_boosted_link_and_restored_history_get_the_whole_page(header: str, client: Client, tenant: Tenant) -> None:
    assert "<html" in text_of(client.get(page("memories", tenant), headers={**HTMX, header: "true"}))


QUERY_STRINGS = [
    ("partition=agent%3Dsupport", 3),
    ("partition=agent%3Dsupport/user%3Dc-1", 1),
    ("kind=procedure", 1),
    ("kind=fact&partition=agent%3Dservice", 1),
    ("pinned=on", 0),
    ("state=archived", 0),
    ("state=expired", 0),
    ("state=failed", 0),
]


def test_list_is_narrowed_by_its_address(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for query, expected in QUERY_STRINGS:
        assert text_of(client.get(f"{page('memories', tenant)}?{query}")).count("memory-link") == expected


def test_search_reports_which_retriever_found_each_memory(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    address = page("memories", tenant) + "?q=ERR_4012+torque+sensor"
    first = client.get(address)
    assert "found" not in first.context
    assert f'hx-get="{address}" hx-trigger="load"' in text_of(first)
    text = text_of(client.get(with_result_address(address)))
    assert "vector #1" in text
    assert "lexical #1" in text


def test_search_by_meaning_claims_nothing_about_words(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for mode, claims in (("", True), ("vector", False)):
        response = client.get(page("memories", tenant), {"q": "ERR_4012", "mode": mode, "whole": "1"}, headers=HTMX)
        assert response.context["found"].below_cutoff
        assert ("without a word of the query" in text_of(response)) == claims
        assert ("match by words" in text_of(response)) == claims


def test_search_within_archived_rows_goes_by_words(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[3]
    with tenant_scope(tenant.pk):
        archive_memory(memory=memory, by=TESTER, now=timezone.now())
    text = text_of(client.get(with_result_address(page("memories", tenant) + "?q=brodersen&state=archived")))
    assert "Frau Brodersen" in text
    assert "vector #" not in text


def test_pages_follow_one_another_without_gap_or_repeat(client: Client, tenant: Tenant) -> None:
    now = timezone.now()
    for shift in (1, 2, 3):  # three times, so that pages end between equal ones
        rows = [(f"Bike {shift}-{n} was sold.", "", "fact") for n in range(MEMORY_LIST_PAGE_SIZE // 2)]
        store_memories_for_pages(tenant, *rows, now=now - timedelta(days=shift))
    seen: list[str] = []
    address = page("memories", tenant)
    for _ in range(2):
        response = client.get(address)
        seen += [memory.content for memory in response.context["table"].rows]
        address = f"{page('memories', tenant)}?{response.context['table'].next_query}"
    assert len(seen) == len(set(seen)) == 3 * (MEMORY_LIST_PAGE_SIZE // 2)
    assert response.context["table"].next_query is None
    assert "First page" in text_of(response)


def test_memories_are_ordered_by_indexed_columns(client: Client, tenant: Tenant) -> None:
    store_memories_for_pages(tenant, ("Short.", "", "fact"), confidence=0.9)
    store_memories_for_pages(tenant, ("This one is quite a bit longer than the other.", "", "fact"), confidence=0.2)

    def first(sort: str) -> str:
        return str(client.get(f"{page('memories', tenant)}?sort={sort}").context["table"].rows[0].content)

    assert first("-tokens").startswith("This one")
    assert first("tokens") == first("-confidence") == "Short."
    assert first("-tokens&kind=fact").startswith("This one")
    with tenant_scope(tenant.pk), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")  # cheaper for two rows
        for column in ("created_at", "tokens_o200k_base", "confidence"):
            for ordering in (column, f"-{column}"):
                plan = Memory.objects.for_tenant(tenant.pk).page(ordering, count=51).explain()
                assert "Sort" not in plan, plan


@pytest.mark.parametrize("query", ["partition=nonsense", "q=bike&state=odd", "kind=" + "x" * 40])
def test_invalid_question_is_answered_with_422(query: str, client: Client, tenant: Tenant) -> None:
    for headers in ({}, HTMX):
        response = client.get(f"{page('memories', tenant)}?{query}", headers=headers)
        assert response.status_code == 422
        assert "Invalid request" in text_of(response)


def test_text_that_its_address_cannot_repeat_is_refused_once_with_a_length(client: Client, tenant: Tenant) -> None:
    for text, fits in (
        ("茶" * 355, ""),
        ("茶" * 400, "about 355 ch"),
        ("tea " * 201, "most 800 ch"),
        ("a" * 4_000, "about 800 ch"),
    ):
        response = client.get(page("memories", tenant), {"q": text, "whole": "1"}, headers=HTMX)
        assert response.status_code == (422 if fits else 200)
        assert not fits or text_of(response).count(fits) == 1


def test_cursor_that_is_none_begins_at_the_start(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    assert text_of(client.get(page("memories", tenant) + "?cursor=rubbish")).count("memory-link") == 5


def test_empty_list_explains_how_to_add_memories(client: Client, tenant: Tenant) -> None:
    assert "No memories yet" in text_of(client.get(page("memories", tenant)))
    assert "No results" in text_of(client.get(page("memories", tenant) + "?kind=fact"))


def test_query_count_of_the_list_does_not_grow(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    make_bakery_memories(tenant)
    with django_assert_max_num_queries(40) as few:
        client.get(page("memories", tenant))
    count = len(few)
    store_memories_for_pages(
        tenant, *[(f"Bike number {n} was sold.", f"agent=shop/user=u-{n}", "fact") for n in range(40)]
    )
    with django_assert_max_num_queries(count):
        client.get(page("memories", tenant))


def test_page_of_a_memory_shows_fields_links_and_audit(client: Client, tenant: Tenant) -> None:
    sensor, error, *_ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        link_memories(source=error, target=sensor, kind="solved_by", by=TESTER, now=timezone.now())
    text = text_of(client.get(page("memory", tenant, error.pk)))
    for expected in ("agent=service", "o200k_base", "cl100k_base", "solved_by", sensor.content):
        assert expected in text
    assert "Stored memories" in text
    assert "Linked two memories" in text


def test_query_count_of_a_memory_does_not_grow(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    first, *others = make_bakery_memories(tenant)
    with django_assert_max_num_queries(40) as few:
        client.get(page("memory", tenant, first.pk))
    count = len(few)
    with tenant_scope(tenant.pk):
        for other in others:
            link_memories(source=first, target=other, kind="about", by=TESTER, now=timezone.now())
    client.post(page("memory", tenant, first.pk), form_of(first, content="Changed."))
    with django_assert_max_num_queries(count):
        client.get(page("memory", tenant, first.pk))


def test_edit_opens_a_version_and_can_be_undone(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    address = page("memory", tenant, memory.pk)
    response = client.post(address, form_of(memory, content="It takes 50 minutes.", metadata='{"by": "Tomasz"}'))
    assert response["Location"] == address
    changed = as_stored(memory)
    assert (changed.version, changed.content, changed.metadata) == (2, "It takes 50 minutes.", {"by": "Tomasz"})
    text = text_of(client.get(address))
    assert "Saved as version 2." in text
    assert memory.content in text
    client.post(page("memory-version-restore", tenant, memory.pk, 1))
    assert (as_stored(memory).content, as_stored(memory).version) == (memory.content, 3)


def test_edit_by_htmx_renders_the_memory_again_with_the_message(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    typed = form_of(memory, content="It takes 50 minutes.")
    response = client.post(page("memory", tenant, memory.pk), typed, headers=HTMX)
    assert response.status_code == 200
    assert 'id="page-title" hx-swap-oob="true">It takes 50 minutes.</h1>' in text_of(response)
    assert "<html" not in text_of(response)
    assert 'hx-swap-oob="innerHTML"' in text_of(response)
    assert "Saved as version 2." in text_of(response)


def test_edited_text_is_embedded_before_the_answer(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[3]
    client.post(page("memory", tenant, memory.pk), form_of(memory, content="Herr Yildiz likes phone calls."))
    assert as_stored(memory).embedding_state == "ready"


def test_edit_of_nothing_makes_no_version(client: Client, tenant: Tenant) -> None:
    expiry = timezone.now() + timedelta(days=9)
    memory = store_memories_for_pages(tenant, ("First line.\r\nSecond line.", "", "fact"), expires_at=expiry)[0]
    typed = form_of(memory, expires_at=f"{expiry:%Y-%m-%dT%H:%M:%S}", content="First line.\r\nSecond line.")
    client.post(page("memory", tenant, memory.pk), typed)
    assert as_stored(memory).version == 1


def test_invalid_edit_is_answered_422_and_writes_nothing(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    for field, value in (
        ("content", ""),
        ("content", " \n "),
        ("content", "x" * 40_000),
        ("content", "a\x00b"),
        ("kind", "Two words"),
        ("kind", ""),
        ("confidence", "1.5"),
        ("confidence", "nan"),
        ("confidence", "high"),
        ("metadata", "[1]"),
        ("metadata", "{"),
        ("expires_at", "yesterday"),
        ("expires_at", "1999-01-01T00:00"),
        ("seen_version", ""),
    ):
        typed = form_of(memory, **{field: value})
        for headers in ({}, HTMX):
            response = client.post(page("memory", tenant, memory.pk), typed, headers=headers)
            assert response.status_code == 422, (field, value)
            assert response.context["form"].errors, (field, value)
    assert as_stored(memory).version == 1


def test_edit_of_a_version_that_is_no_longer_current_is_refused(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    address = page("memory", tenant, memory.pk)
    client.post(address, form_of(memory, content="Somebody was faster."))
    response = client.post(address, form_of(memory, content="I was slower."))
    assert response.status_code == 422
    assert "I was slower." in text_of(response)
    assert "The memory has changed since version 1 and now has version 2. Your changes are below." in text_of(response)
    assert as_stored(memory).content == "Somebody was faster."


def test_refused_edit_can_be_saved_again_over_the_version_that_is_shown(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    address = page("memory", tenant, memory.pk)
    client.post(address, form_of(memory, content="Somebody was faster."))
    refused = client.post(address, form_of(memory, content="I was slower."))
    seen = re.findall(r'name="seen_version" value="(\d+)"', text_of(refused))
    assert set(seen) == {"2"}
    client.post(address, form_of(memory, content="I was slower.", seen_version=seen[0]))
    assert (as_stored(memory).content, as_stored(memory).version) == ("I was slower.", 3)


def test_edit_onto_the_text_of_another_memory_is_refused(client: Client, tenant: Tenant) -> None:
    _, _, paying, _, closing = make_bakery_memories(tenant)
    response = client.post(page("memory", tenant, closing.pk), form_of(closing, content=paying.content))
    assert response.status_code == 422
    assert "has the same text" in text_of(response)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
@pytest.mark.parametrize(
    ("verb", "back", "column"),
    [("memory-archive", "memory-restore", "archived_at"), ("memory-pin", "memory-unpin", "pinned")],
)
def test_each_action_takes_effect_and_offers_undo(
    verb: str, back: str, column: str, headers: dict[str, str], client: Client, tenant: Tenant
) -> None:
    memory = make_bakery_memories(tenant)[0]
    answer = client.post(page(verb, tenant, memory.pk), headers=headers, follow=True)
    assert page(back, tenant, memory.pk) in text_of(answer)
    assert getattr(as_stored(memory), column)
    client.post(page(back, tenant, memory.pk), headers=headers)
    assert not getattr(as_stored(memory), column)


@pytest.mark.parametrize("back", ["&".join("a=1" for _ in range(1_100)), "q=" + "x" * 5_000])
def test_verb_with_a_way_back_that_cannot_be_read_is_done_and_undone(back: str, client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    answer = client.post(page("memory-archive", tenant, memory.pk), {"back": back}, follow=True)
    assert answer.redirect_chain[-1][0] == page("memories", tenant)
    assert undo_of(answer) == page("memory-restore", tenant, memory.pk) + "?back="
    client.post(undo_of(answer))
    assert as_stored(memory).archived_at is None


@pytest.mark.parametrize("odd", ["[" * 5_000, '{"a":' * 900 + "1" + "}" * 900, "1" * 5_000, '{"a":"\\ud800"}', '{"a'])
def test_invalid_metadata_is_refused_at_the_field_and_shown_as_typed(odd: str, client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    answer = client.post(page("memory", tenant, memory.pk), form_of(memory, metadata=odd))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["metadata"]
    assert odd in unescape(text_of(answer))
    assert as_stored(memory).version == 1


def test_kind_with_a_line_end_is_refused(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    answer = client.post(page("memory", tenant, memory.pk), form_of(memory, kind="fact\n"))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["kind"]


@pytest.mark.parametrize("verb", ["memory-archive", "memory-restore", "memory-pin", "memory-unpin"])
def test_get_changes_nothing(verb: str, client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    assert client.get(page(verb, tenant, memory.pk)).status_code == 405
    assert as_stored(memory).version == 1


def test_pin_of_an_archived_memory_is_refused_with_the_reason(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    client.post(page("memory-archive", tenant, memory.pk))
    assert "Restore it before changing it" in text_of(client.post(page("memory-pin", tenant, memory.pk), follow=True))


def test_version_that_does_not_exist_is_absent(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    assert client.post(page("memory-version-restore", tenant, memory.pk, 7)).status_code == 404
