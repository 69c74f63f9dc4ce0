"""Bulk actions from the list of memories: preview, action, undo and permissions."""

from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memories.models import Memory, Tenant
from memories.store.actions.bulk import apply_bulk_action
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
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
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def preview(client: Client, tenant: Tenant, act: str, *rows: Memory, **fields: Any) -> Any:
    query = {"action": act, "scope": "selected", "id": [str(row.pk) for row in rows], **fields}
    return client.get(page("memories-bulk", tenant), query, follow=True)


def chosen(*rows: Memory) -> str:
    return " ".join(f"{row.pk}:{row.version}" for row in rows)


def perform(client: Client, tenant: Tenant, act: str, *rows: Memory, **fields: Any) -> Any:
    sent = {"action": act, "selected": chosen(*rows), "back": "kind=fact", **fields}
    return client.post(page("memories-bulk", tenant), sent, follow=True)


def archived(tenant: Tenant) -> int:
    with tenant_scope(tenant.pk):
        return Memory.objects.for_tenant(tenant.pk).archived().row_count()


def test_preview_shows_what_would_change_and_changes_nothing(client: Client, tenant: Tenant) -> None:
    first, second, third, *_ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        update_memory(memory=first, changes={"pinned": True}, by=TESTER, now=timezone.now())
        archive_memory(memory=third, by=TESTER, now=timezone.now())
    response = preview(client, tenant, "archive", first, second, third)
    effect = response.context["effect"]
    assert (len(effect.rows), effect.pinned, effect.recent, effect.left) == (2, 1, 0, {"archived": 1})
    assert effect.tokens == first.tokens_o200k_base + second.tokens_o200k_base
    assert first.content in text_of(response)
    assert archived(tenant) == 1


def test_archive_of_the_selected_ones_and_undo_from_the_message(client: Client, tenant: Tenant) -> None:
    rows = make_bakery_memories(tenant)[:2]
    effect = preview(client, tenant, "archive", *rows).context["effect"]
    assert effect.selected == chosen(*rows)
    answer = perform(client, tenant, "archive", *rows)
    assert answer.redirect_chain[-1][0] == page("memories", tenant) + "?kind=fact"
    assert "2 memories archived." in text_of(answer)
    assert archived(tenant) == 2
    back = client.post(undo_of(answer), follow=True)
    assert back.redirect_chain[-1][0] == page("memories", tenant) + "?kind=fact"
    assert archived(tenant) == 0


@pytest.mark.parametrize(("scope", "count"), [("page", 50), ("matching", 57)])
def test_page_or_all_that_match_are_chosen_by_the_list_itself(
    scope: str, count: int, client: Client, tenant: Tenant
) -> None:
    make_bakery_memories(tenant)
    store_memories_for_pages(tenant, *[(f"Bike number {n} was sold.", "agent=shop", "episode") for n in range(57)])
    query = {"action": "pin", "scope": scope, "back": "partition=agent%3Dshop&kind=episode"}
    effect = client.get(page("memories-bulk", tenant), query).context["effect"]
    assert len(effect.rows) == count
    assert {row.kind for row in effect.rows} == {"episode"}


def test_of_a_search_the_finds_are_chosen(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    query = {"action": "pin", "scope": "matching", "back": "q=ERR_4012&partition=agent%3Dsupport"}
    effect = client.get(page("memories-bulk", tenant), query).context["effect"]
    assert {row.partition_path for row in effect.rows} <= {"agent=support", "agent=support/user=c-1"}


def test_memory_changed_meanwhile_is_reported_and_left_alone(client: Client, tenant: Tenant) -> None:
    first, second, *_ = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        update_memory(memory=first, changes={"content": "Faster."}, by=TESTER, now=timezone.now())
    text = text_of(perform(client, tenant, "pin", first, second))
    assert "1 memory pinned. Skipped: 1 changed since this page was opened." in text
    assert (as_stored(first).pinned, as_stored(second).pinned) == (False, True)


def test_kind_is_required_and_an_invalid_one_is_refused_at_the_field(client: Client, tenant: Tenant) -> None:
    rows = make_bakery_memories(tenant)[:2]
    assert 'name="to_kind"' in text_of(preview(client, tenant, "kind", *rows))
    for odd in ("", "Two words", "fact\n"):
        response = perform(client, tenant, "kind", *rows, to_kind=odd)
        assert response.status_code == 422
        assert response.context["form"].errors["to_kind"]
    perform(client, tenant, "kind", *rows, to_kind="episode")
    assert {as_stored(row).kind for row in rows} == {"episode"}


def test_verb_refuses_a_kind_that_is_no_word(tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    with tenant_scope(tenant.pk), pytest.raises(InvalidInput) as refusal:
        apply_bulk_action(
            tenant_id=tenant.pk, action="kind", seen={memory.pk: 1}, kind="fact\n", by=TESTER, now=timezone.now()
        )
    assert (refusal.value.code, refusal.value.field) == ("bad_kind", "kind")


@pytest.mark.parametrize("back", ["&".join("a=1" for _ in range(1_100)), "q=" + "x" * 5_000, "q=" + "é" * 2_000])
def test_way_back_that_no_address_carries_leads_to_the_whole_list_with_undo(
    back: str, client: Client, tenant: Tenant
) -> None:
    first, second, *_ = make_bakery_memories(tenant)
    answer = perform(client, tenant, "archive", first, second, back=back)
    assert answer.redirect_chain[-1][0] == page("memories", tenant)
    assert archived(tenant) == 2
    undone = client.post(f"{undo_of(answer)}?{urlencode({'back': back})}", follow=True)
    assert undone.redirect_chain[-1][0] == page("memories", tenant)
    assert archived(tenant) == 0


def test_list_that_cannot_be_read_is_not_chosen_from(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    query = {"action": "pin", "scope": "matching", "back": "&".join("a=1" for _ in range(1_100))}
    answer = client.get(page("memories-bulk", tenant), query, follow=True)
    assert answer.redirect_chain[-1][0] == page("memories", tenant)
    assert "Choose an act" in text_of(answer)


def test_merge_keeps_the_chosen_one_and_is_undone(client: Client, tenant: Tenant) -> None:
    kept, other, third, *_ = make_bakery_memories(tenant)
    assert text_of(preview(client, tenant, "merge", kept, other)).count('name="keep"') == 2
    answer = perform(client, tenant, "merge", kept, other, keep=kept.pk)
    assert "Merged: 1 archived, 1 kept." in text_of(answer)
    assert as_stored(other).archived_at is not None
    client.post(undo_of(answer))
    assert as_stored(other).archived_at is None
    assert "A merge takes" in text_of(preview(client, tenant, "merge", third))


def test_other_memory_to_merge_with_is_picked_by_a_search(client: Client, tenant: Tenant) -> None:
    own, *_ = make_bakery_memories(tenant)
    for query, headers in (("", {}), ("?q=Brodersen", {}), ("?q=Brodersen", HTMX)):
        response = client.get(page("memory-merge", tenant, own.pk) + query, headers=headers)
        assert own.pk not in {hit.memory.pk for hit in response.context["hits"]}
        assert response.context["hits"]
    assert client.get(page("memory-merge", tenant, own.pk), {"q": "x" * 5_000}).status_code == 422
    assert client.get(page("memory-merge", tenant, uuid4())).status_code == 404


IMPOSSIBLE_ACTS = [
    {},
    {"action": "erase", "selected": f"{uuid4()}:1"},
    {"action": "archive", "selected": ""},
    {"action": "archive", "selected": "rubbish"},
    {"action": "archive", "selected": f"{uuid4()}:1"},
    {"action": "archive", "selected": " ".join(f"{uuid4()}:1" for _ in range(1_001))},
    {"action": "merge", "selected": f"{uuid4()}:1 {uuid4()}:1"},
]


def test_act_that_cannot_be_done_reports_an_error_and_changes_nothing(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for sent in IMPOSSIBLE_ACTS:
        assert "flash-error" in text_of(client.post(page("memories-bulk", tenant), sent, follow=True))
    assert archived(tenant) == 0


@pytest.mark.parametrize(
    "query", [{}, {"action": "erase"}, {"action": "archive"}, {"action": "archive", "id": "rubbish"}]
)
def test_preview_of_nothing_goes_back_to_the_list(query: dict[str, str], client: Client, tenant: Tenant) -> None:
    response = client.get(page("memories-bulk", tenant), query, follow=True)
    assert response.redirect_chain[-1][0].startswith(page("memories", tenant))
    assert "flash-error" in text_of(response)


def test_undo_of_what_is_undone_or_unknown(client: Client, tenant: Tenant) -> None:
    undo = undo_of(perform(client, tenant, "pin", make_bakery_memories(tenant)[0]))
    client.post(undo)
    assert "Not undone" in text_of(client.post(undo, follow=True))
    assert client.post(page("memories-bulk-undo", tenant, uuid4())).status_code == 404


def test_viewer_is_offered_nothing_and_refused(tenant: Tenant) -> None:
    first, *_ = make_bakery_memories(tenant)
    viewer = client_of(new_operator("vera", "viewer", tenant))
    text = text_of(viewer.get(page("memories", tenant)))
    for offered in ('id="bulk"', 'name="id"', "row-acts"):
        assert offered not in text
    assert (
        viewer.post(page("memories-bulk", tenant), {"action": "archive", "selected": chosen(first)}).status_code == 403
    )
    assert viewer.post(page("memories-bulk-undo", tenant, uuid4())).status_code == 403
    assert viewer.get(page("memory-merge", tenant, first.pk)).status_code == 403
    assert archived(tenant) == 0


def test_act_of_a_row_keeps_the_place_of_the_list(client: Client, tenant: Tenant) -> None:
    rows = make_bakery_memories(tenant)
    address = page("memory-archive", tenant, rows[0].pk)
    part = client.post(f"{address}?back=kind%3Dfact", headers=HTMX)
    assert "<html" not in text_of(part)
    assert text_of(part).count("memory-link") == 3
    plain = client.post(f"{page('memory-archive', tenant, rows[1].pk)}?back=kind%3Dfact")
    assert plain["Location"] == page("memories", tenant) + "?kind=fact"
    back = client.post(undo_of(client.get(plain["Location"])))
    assert back["Location"] == plain["Location"]
    assert archived(tenant) == 1
