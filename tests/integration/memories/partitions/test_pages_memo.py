"""Memo, partition summaries and snapshots: shown, saved as versions, and typed text kept after a refusal."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memories.models import PartitionSummary, Snapshot, Tenant, TenantMemo
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import (
    HTMX,
    TESTER,
    client_of,
    make_bakery_memories,
    make_snapshot,
    page,
    store_memories_for_pages,
    text_of,
    undo_of,
)
from tests.users import new_operator

SUPPORT = {"partition": "agent=support"}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def memos(tenant: Tenant) -> list[str]:
    with tenant_scope(tenant.pk):
        return [row.content for row in TenantMemo.objects.for_tenant(tenant.pk).newest_first()]


def summary_texts(tenant: Tenant) -> list[tuple[str, str, bool]]:
    with tenant_scope(tenant.pk):
        rows = PartitionSummary.objects.for_tenant(tenant.pk).newest_first()
        return [(row.style, row.content, row.recorded_to is None) for row in rows]


def at(tenant: Tenant, **query: str) -> str:
    return f"{page('partitions', tenant)}?{urlencode(query)}"


def test_memo_that_someone_else_saved_can_be_saved_over_the_version_that_is_shown(
    client: Client, tenant: Tenant
) -> None:
    for content in ("First.", "Second."):
        refused = client.post(page("memo", tenant), {"seen_version": 0, "content": content})
    assert refused.status_code == 422
    seen = re.findall(r'name="seen_version" value="(\d+)"', text_of(refused))
    client.post(page("memo", tenant), {"seen_version": seen[0], "content": "Second."})
    assert memos(tenant) == ["Second.", "First."]


def test_memo_is_saved_in_versions_and_an_empty_one_is_allowed(client: Client, tenant: Tenant) -> None:
    assert "No memo" in text_of(client.get(page("memo", tenant)))
    response = client.post(page("memo", tenant), {"seen_version": 0, "content": "Bikes.\r\nOnly."}, follow=True)
    assert "Version 1 is active." in text_of(response)
    client.post(page("memo", tenant), {"seen_version": 1, "content": ""})
    assert memos(tenant) == ["", "Bikes.\nOnly."]
    assert "empty" in text_of(client.get(page("memo", tenant)))


def fields_of_again(response: Any) -> dict[str, str]:
    """Return the hidden fields of the first button that makes an older text active."""
    form = next(form for form in text_of(response).split("<form") if "Roll back to" in form)
    pairs = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in pairs if name != "csrfmiddlewaretoken"}


def test_older_memo_is_made_current_again_and_shows_who_saved_it(client: Client, tenant: Tenant) -> None:
    for seen, content in enumerate(["Bikes & more.\nOnly.", "Boats."]):
        client.post(page("memo", tenant), {"seen_version": seen, "content": content})
    shown = client.get(page("memo", tenant))
    assert "saved by " in text_of(shown)
    assert text_of(shown).count("Roll back to version 1") == 1
    restored = client.post(page("memo", tenant), fields_of_again(shown), follow=True)
    assert "Version 1 restored as version 3." in text_of(restored)
    assert memos(tenant) == ["Bikes & more.\nOnly.", "Boats.", "Bikes & more.\nOnly."]


def test_older_summary_is_made_current_again_also_once_it_is_withdrawn(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client.post(at(tenant, **SUPPORT), {"style": "compact", "seen_version": 0, "content": "Free."})
    client.post(page("summary-withdraw", tenant), {**SUPPORT, "style": "compact"})
    again = fields_of_again(client.get(at(tenant, **SUPPORT)))
    client.post(at(tenant, **SUPPORT), again)
    assert summary_texts(tenant) == [("compact", "Free.", True), ("compact", "Free.", False)]


def test_viewer_is_offered_no_older_text(viewer: Client, client: Client, tenant: Tenant) -> None:
    for seen, content in enumerate(["Bikes.", "Boats."]):
        client.post(page("memo", tenant), {"seen_version": seen, "content": content})
    assert "Roll back to" not in text_of(viewer.get(page("memo", tenant)))


def test_tokens_are_counted_while_typing(client: Client, viewer: Client, tenant: Tenant) -> None:
    counted = client.post(page("text-tokens", tenant), {"content": " Bikes and boats.\r\n"})
    assert "5 tokens as entered" in text_of(counted)
    assert "too long" in text_of(client.post(page("text-tokens", tenant), {"content": "x" * 100_001}))
    assert viewer.post(page("text-tokens", tenant), {"content": "x"}).status_code == 403
    assert client.get(page("text-tokens", tenant)).status_code == 405


def test_versions_of_the_memo_show_what_changed(client: Client, tenant: Tenant) -> None:
    for seen, content in enumerate(["We repair bikes in Kiel.", "We repair boats in Kiel."]):
        client.post(page("memo", tenant), {"seen_version": seen, "content": content})
    text = text_of(client.get(page("memo", tenant)))
    assert "<del>bikes</del><ins>boats</ins>" in text


@pytest.mark.parametrize("typed", [{"seen_version": 9, "content": "x"}, {"seen_version": 0, "content": "a\x00"}])
def test_refused_memo_keeps_what_was_typed(typed: dict[str, Any], client: Client, tenant: Tenant) -> None:
    response = client.post(page("memo", tenant), typed)
    assert response.status_code == 422
    assert memos(tenant) == []


def test_viewer_reads_the_memo_and_saves_none(viewer: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    assert "We repair cargo bikes." in text_of(viewer.get(page("memo", tenant)))
    assert viewer.post(page("memo", tenant), {"seen_version": 1, "content": "x"}).status_code == 403


def test_summaries_of_a_partition_are_edited_style_by_style_in_versions(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    typed = {"style": "compact", "seen_version": 0, "content": "Support answers for free."}
    assert "Version 1 is active." in text_of(client.post(at(tenant, **SUPPORT), typed, follow=True))
    client.post(at(tenant, **SUPPORT), typed | {"seen_version": 1, "content": "Support is free."})
    assert summary_texts(tenant) == [
        ("compact", "Support is free.", True),
        ("compact", "Support answers for free.", False),
    ]
    shown = text_of(client.get(at(tenant, **SUPPORT)))
    assert "Support is free." in shown
    assert "<del>" in shown
    assert "saved by olga" in shown
    old = client.get(page("summaries", tenant) + "?partition=agent%3Dsupport")
    assert old["Location"] == at(tenant, **SUPPORT)


def test_withdrawn_summary_stays_in_its_versions(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client.post(at(tenant, **SUPPORT), {"style": "detailed", "seen_version": 0, "content": "All of it."})
    response = client.post(page("summary-withdraw", tenant), SUPPORT | {"style": "detailed"}, follow=True)
    assert "summary was withdrawn" in text_of(response)
    assert summary_texts(tenant) == [("detailed", "All of it.", False)]
    assert client.post(page("summary-withdraw", tenant), SUPPORT | {"style": "detailed"}).status_code == 404


def test_withdrawal_of_a_summary_that_was_saved_again_is_refused(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for version, content in enumerate(["Old.", "New."]):
        client.post(at(tenant, **SUPPORT), {"style": "compact", "seen_version": version, "content": content})
    form = SUPPORT | {"style": "compact", "seen_version": 1}
    assert "Someone saved another text" in text_of(client.post(page("summary-withdraw", tenant), form, follow=True))
    assert ("compact", "New.", True) in summary_texts(tenant)
    assert 'name="seen_version" value="2"' in text_of(client.get(at(tenant, **SUPPORT)))


def test_withdrawal_of_a_summary_is_undone_with_one_click_and_only_once(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client.post(at(tenant, **SUPPORT), {"style": "detailed", "seen_version": 0, "content": "All of it."})
    undo = undo_of(client.post(page("summary-withdraw", tenant), SUPPORT | {"style": "detailed"}, follow=True))
    assert client.get(undo).status_code == 405
    assert "The detailed summary was restored as version 2." in text_of(client.post(undo, follow=True))
    back = [("detailed", "All of it.", True), ("detailed", "All of it.", False)]
    assert summary_texts(tenant) == back
    assert "is already active" in text_of(client.post(undo, follow=True))
    assert summary_texts(tenant) == back
    for absent in ("partition=nonsense&style=detailed", "partition=agent%3Dsupport&style=compact", ""):
        assert client.post(f"{page('summary-restore', tenant)}?{absent}").status_code == 404


@pytest.mark.parametrize(
    "typed",
    [
        {"style": "compact", "seen_version": 0, "content": "  "},
        {"style": "compact", "seen_version": 4, "content": "Text."},
        {"style": "long", "seen_version": 0, "content": "Text."},
    ],
)
def test_refused_summary_is_answered_422(typed: dict[str, Any], client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    assert client.post(at(tenant, **SUPPORT), typed).status_code == 422
    assert summary_texts(tenant) == []


def test_partition_that_is_none_is_refused(client: Client, tenant: Tenant) -> None:
    assert client.get(at(tenant, partition="nonsense")).status_code == 422
    assert client.post(at(tenant, partition="nonsense"), {"style": "compact"}).status_code == 404


def test_viewer_changes_no_summary_and_no_snapshot(viewer: Client, tenant: Tenant) -> None:
    named = make_snapshot(tenant, "then")
    assert (
        viewer.post(at(tenant, **SUPPORT), {"style": "compact", "seen_version": 0, "content": "x"}).status_code == 403
    )
    assert viewer.post(page("summary-withdraw", tenant), SUPPORT).status_code == 403
    assert viewer.post(page("summary-restore", tenant) + "?partition=agent%3Dsupport&style=compact").status_code == 403
    assert viewer.post(page("snapshots", tenant), {"name": "x"}).status_code == 403
    assert viewer.post(page("snapshot-delete", tenant, named.pk)).status_code == 403
    assert viewer.get(page("snapshot", tenant, named.pk)).status_code == 200


def test_snapshot_is_created_listed_and_deleted_after_a_question(client: Client, tenant: Tenant) -> None:
    assert "No snapshots yet" in text_of(client.get(page("snapshots", tenant)))
    assert "Snapshot before created." in text_of(
        client.post(page("snapshots", tenant), {"name": "before"}, follow=True)
    )
    with tenant_scope(tenant.pk):
        named = Snapshot.objects.for_tenant(tenant.pk).get()
    assert "Only the name is deleted" in text_of(client.get(page("snapshot-delete", tenant, named.pk)))
    assert "Snapshot before deleted" in text_of(client.post(page("snapshot-delete", tenant, named.pk), follow=True))
    assert client.get(page("snapshot", tenant, named.pk)).status_code == 404


@pytest.mark.parametrize(
    "typed", [{"name": ""}, {"name": "then"}, {"name": "x", "recorded_at": "2999-01-01T00:00"}, {"name": "y" * 101}]
)
def test_refused_snapshot_is_answered_422(typed: dict[str, str], client: Client, tenant: Tenant) -> None:
    make_snapshot(tenant, "then")
    assert client.post(page("snapshots", tenant), typed).status_code == 422


def test_snapshots_compare_with_today_and_with_each_other(client: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    before = make_snapshot(tenant, "before")
    with tenant_scope(tenant.pk):
        update_memory(memory=memories[0], changes={"content": "Now in 30 minutes."}, by=TESTER, now=timezone.now())
        archive_memory(memory=memories[1], by=TESTER, now=timezone.now())
    store_memories_for_pages(tenant, ("A new one.", "agent=support", "fact"), now=timezone.now())
    after = make_snapshot(tenant, "after")
    first = client.get(page("snapshot", tenant, before.pk))
    assert "difference" not in first.context
    assert 'hx-trigger="load" hx-target="#result"' in text_of(first)
    for query in ({}, {"with": after.pk}):
        for options, headers in ({"whole": 1}, {}), ({}, HTMX):
            response = client.get(page("snapshot", tenant, before.pk), query | options, headers=headers)
            found = response.context["difference"]
            assert found.counts == {"added": 1, "changed": 1, "removed": 1}
            assert found.changes["changed"][0].after.content == "Now in 30 minutes."
            assert found.changes["removed"][0].before.content == memories[1].content
            assert "A new one." in text_of(response)
            assert (found.memories_before, found.memories_after) == (5, 5)
            assert found.tokens_before == sum(row.tokens_o200k_base for row in memories)
            assert found.tallies["removed"].tokens_before == memories[1].tokens_o200k_base
            assert "<ins>" in text_of(response)
    elsewhere = client.get(page("snapshot", tenant, before.pk) + "?whole=1&partition=agent%3Dsupport/user%3Dc-1")
    assert sum(elsewhere.context["difference"].counts.values()) == 0
    only = client.get(page("snapshot", tenant, before.pk) + "?whole=1&kind=removed")
    assert [each["kind"] for each in only.context["lists"]] == ["removed"]
    turned = client.get(page("snapshot", tenant, after.pk) + f"?whole=1&with={before.pk}")
    assert turned.context["difference"].counts["added"] == 1
    assert "No changes" in text_of(client.get(page("snapshot", tenant, after.pk), {"whole": 1}))
    for wrong in ("with=nonsense", "partition=nonsense", "kind=other", "behind=1"):
        assert client.get(page("snapshot", tenant, before.pk) + f"?{wrong}").status_code == 404


def test_query_counts_of_lists_do_not_grow(client: Client, tenant: Tenant, django_assert_max_num_queries: Any) -> None:
    make_bakery_memories(tenant)
    first = make_snapshot(tenant, "first", timedelta(days=2))
    addresses = [page("snapshots", tenant), page("snapshot", tenant, first.pk) + "?whole=1"]
    counts = []
    for address in addresses:
        with django_assert_max_num_queries(40) as queries:
            client.get(address)
        counts.append(len(queries))
    store_memories_for_pages(tenant, *[(f"Memory {n}.", f"agent=shop/user=u-{n}", "fact") for n in range(20)])
    for n in range(10):
        make_snapshot(tenant, f"snapshot {n}")
    for address, count in zip(addresses, counts, strict=True):
        with django_assert_max_num_queries(count):
            client.get(address)
