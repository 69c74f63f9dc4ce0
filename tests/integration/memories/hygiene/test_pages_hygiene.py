"""The hygiene page for operators and viewers: lists, filters, paging, the effect before an action, undo after it."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.hygiene import findings
from memories.hygiene.maintenance import detect_pairs_in_batch, find_unused_and_expiring_memories
from memories.models import Memory, MemoryFinding, MemoryPair, Tenant
from memories.services.hygiene.rules import LISTS, NEVER_RETRIEVED_AFTER
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, as_stored, client_of, page, store_memories_for_pages, text_of, undo_of
from tests.users import new_operator

KINDS = tuple(LISTS)
BREAD = "Alex prefers rye flour for the sourdough bread."
BREAD_AGAIN = "Alex prefers rye flour for sourdough bread!"
RENT = "The rent of the workshop in Kiel is 1,200 EUR a month."
OWES = ("Anna owes Ben 20 euros.", "Ben owes Anna 20 euros.")
RENT_NOW = "The rent of the workshop in Kiel is 1,350 EUR a month."


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def found(tenant: Tenant, *texts: str, partition: str = "user=alex") -> list[Memory]:
    """Store memories with these texts, long ago and never retrieved, and compare them with each other."""
    now = timezone.now()
    before = now - NEVER_RETRIEVED_AFTER - timedelta(days=1)
    moments = (before + timedelta(minutes=number) for number in range(len(texts)))
    memories = [
        store_memories_for_pages(tenant, (text, partition, "fact"), now=at)[0]
        for text, at in zip(texts, moments, strict=True)
    ]
    while detect_pairs_in_batch(tenant.pk, now=now):
        pass
    find_unused_and_expiring_memories(now=now)
    return memories


def pair_ids(tenant: Tenant, kind: str) -> list[int]:
    with tenant_scope(tenant.pk):
        return list(MemoryPair.objects.for_tenant(tenant.pk).of_kind(kind).values_list("id", flat=True))


def finding_ids(tenant: Tenant) -> list[int]:
    with tenant_scope(tenant.pk):
        return list(MemoryFinding.objects.for_tenant(tenant.pk).order_by("at").values_list("id", flat=True))


def act(client: Client, tenant: Tenant, kind: str, **fields: Any) -> Any:
    return client.post(page("hygiene-bulk", tenant, kind), fields, follow=True)


def test_each_list_explains_itself_and_shows_a_text_if_it_is_empty(client: Client, tenant: Tenant) -> None:
    for kind in KINDS:
        whole = client.get(page("hygiene-list", tenant, kind))
        part = client.get(page("hygiene-list", tenant, kind), headers=HTMX)
        for response in (whole, part):
            assert response.status_code == 200
            assert LISTS[kind].meaning in text_of(response).replace("&#x27;", "'")
            assert "No findings" in text_of(response)
        assert "<html" in text_of(whole)
        assert "<html" not in text_of(part)


def test_progress_of_comparing_polls_until_all_are_compared(client: Client, tenant: Tenant) -> None:
    store_memories_for_pages(tenant, (BREAD, "user=alex", "fact"))
    assert "1 memory is waiting" in text_of(client.get(page("hygiene", tenant)))
    waits = text_of(client.get(page("hygiene-progress", tenant), headers=HTMX))
    assert "1 memory is waiting" in waits
    assert 'hx-trigger="every 5s"' in waits
    while detect_pairs_in_batch(tenant.pk, now=timezone.now()):
        pass
    done = text_of(client.get(page("hygiene-progress", tenant), headers=HTMX))
    assert "Comparison complete" in done
    assert "hx-trigger" not in done
    assert client.get(page("hygiene-progress", tenant))["Location"] == page("hygiene", tenant)


def test_unknown_list_is_absent(client: Client, tenant: Tenant) -> None:
    assert client.get(page("hygiene-list", tenant, "everything")).status_code == 404
    assert client.post(page("hygiene-bulk", tenant, "everything"), {"action": "merge", "id": "1"}).status_code == 404


def test_pair_shows_both_texts_with_the_differing_numbers_marked(client: Client, tenant: Tenant) -> None:
    found(tenant, RENT, RENT_NOW)
    text = text_of(client.get(page("hygiene-list", tenant, "contradiction")))
    marked = re.findall(r'<mark class="differs differs-value">([^<]+)</mark>', text)
    assert marked == ["1,200", "1,350"]
    assert "No findings" in text_of(client.get(page("hygiene", tenant)))


def test_text_of_a_memory_is_escaped_in_a_pair(client: Client, tenant: Tenant) -> None:
    found(tenant, f"<script>x</script> {BREAD}", f"<script>x</script> {BREAD_AGAIN}")
    text = text_of(client.get(page("hygiene", tenant)))
    assert "finding-side" in text
    assert "<script>x" not in text


def test_merge_from_a_row_keeps_the_chosen_and_undo_brings_both_back(client: Client, tenant: Tenant) -> None:
    first, second = found(tenant, BREAD, BREAD_AGAIN)
    (pair,) = pair_ids(tenant, "near_duplicate")
    done = act(client, tenant, "near_duplicate", action="merge", id=pair, keep=first.pk)
    assert "Merged: 1 archived, 1 kept." in text_of(done)
    assert as_stored(first).archived_at is None
    assert as_stored(second).archived_at is not None
    assert "No findings" in text_of(client.get(page("hygiene", tenant)))
    back = client.post(undo_of(done), follow=True)
    assert "Undone: 2 memories restored to their former state." in text_of(back)
    assert as_stored(second).archived_at is None
    again = client.post(undo_of(done), follow=True)
    assert "Not undone" in text_of(again)


def test_bulk_shows_its_effect_before_and_changes_nothing_by_showing(client: Client, tenant: Tenant) -> None:
    memories = found(tenant, BREAD, BREAD_AGAIN, RENT)
    store_memories_for_pages(tenant, (f"{RENT[:-1]}!", "user=alex", "fact"))
    detect_pairs_in_batch(tenant.pk, now=timezone.now())
    ids = pair_ids(tenant, "near_duplicate")
    assert len(ids) == 2
    query = urlencode([("action", "merge"), *(("id", number) for number in ids)])
    shown = client.get(f"{page('hygiene-bulk', tenant, 'near_duplicate')}?{query}")
    assert "Merge 2 pairs?" in text_of(shown)
    assert "2 memories are archived" in text_of(shown)
    assert all(as_stored(memory).archived_at is None for memory in memories)
    done = act(client, tenant, "near_duplicate", action="merge", id=ids)
    assert "Merged: 2 archived, 2 kept." in text_of(done)


def test_pairs_that_hang_together_are_merged_into_one(client: Client, tenant: Tenant) -> None:
    memories = found(tenant, BREAD, BREAD_AGAIN, BREAD.replace(".", "!!"))
    ids = pair_ids(tenant, "near_duplicate")
    assert len(ids) == 3
    done = act(client, tenant, "near_duplicate", action="merge", id=ids)
    assert "Merged: 2 archived, 1 kept." in text_of(done)
    assert [as_stored(memory).archived_at is None for memory in memories].count(True) == 1


def test_near_texts_that_state_something_else_are_not_proposed_for_merging(client: Client, tenant: Tenant) -> None:
    found(tenant, "The door code of room 12 is 4711.", "The door code of room 21 is 1174.", *OWES)
    assert pair_ids(tenant, "near_duplicate") == pair_ids(tenant, "recall_loop") == []


def test_merge_leaves_out_what_does_not_state_the_same_as_the_kept_one(client: Client, tenant: Tenant) -> None:
    bread, again, (owed, owing) = *found(tenant, BREAD, BREAD_AGAIN), found(tenant, *OWES)
    ids = pair_ids(tenant, "near_duplicate")
    with tenant_scope(tenant.pk):
        pairs = [
            MemoryPair(
                tenant=tenant, kind="near_duplicate", older=older, newer=newer, similarity=0.99, found_at=timezone.now()
            )
            for older, newer in ((again, owed), (owed, owing))
        ]
        stale = [pair.pk for pair in MemoryPair.objects.bulk_create(pairs)]
    done = act(client, tenant, "near_duplicate", action="merge", id=stale[1])
    assert "These memories do not make the same statement. Nothing was merged." in text_of(done)
    chosen = urlencode([("action", "merge"), ("keep", bread.pk), *(("id", number) for number in (*ids, stale[0]))])
    shown = client.get(f"{page('hygiene-bulk', tenant, 'near_duplicate')}?{chosen}")
    assert "1 memory stays, because the text differs in meaning from the kept one." in text_of(shown)
    done = act(client, tenant, "near_duplicate", action="merge", id=[*ids, stale[0]], keep=bread.pk)
    assert "Merged: 1 archived, 1 kept." in text_of(done)
    assert as_stored(again).archived_at is not None
    assert as_stored(owed).archived_at is as_stored(owing).archived_at is None


def test_bulk_merge_shows_which_memory_states_something_else(client: Client, tenant: Tenant) -> None:
    memories = found(tenant, *OWES)
    query = urlencode([("action", "merge"), *(("id", memory.pk) for memory in memories)])
    shown = text_of(client.get(f"{page('memories-bulk', tenant)}?{query}"))
    assert "1 memory differs in meaning from the suggested one." in shown
    assert shown.count(">differs in meaning<") == 1


def test_newer_memory_of_a_contradiction_is_kept_by_default(client: Client, tenant: Tenant) -> None:
    old, new = found(tenant, RENT, RENT_NOW)
    act(client, tenant, "contradiction", action="merge", id=pair_ids(tenant, "contradiction"))
    later = max(old, new, key=lambda memory: (memory.created_at, memory.pk))
    assert later == new
    assert as_stored(new).archived_at is None
    assert as_stored(old).archived_at is not None


def test_single_memories_are_archived_or_no_problem(client: Client, tenant: Tenant) -> None:
    first, _, third = found(tenant, "one thing", "the second", "number three")
    ids = finding_ids(tenant)
    done = act(client, tenant, "never_retrieved", action="archive", id=ids[0], partition="user=alex")
    assert "1 archived" in text_of(done)
    assert done.redirect_chain[-1][0].endswith("?partition=user%3Dalex")
    assert as_stored(first).archived_at is not None
    act(client, tenant, "never_retrieved", action="dismiss", id=ids[1])
    text = text_of(client.get(page("hygiene-list", tenant, "never_retrieved")))
    assert text.count("memory-link") == 1
    assert str(third.pk) in text


def test_list_is_narrowed_to_a_partition_and_sorted(client: Client, tenant: Tenant) -> None:
    found(tenant, "short", "a good deal longer than the other one", partition="user=a")
    found(tenant, "elsewhere", partition="user=b/topic=c")
    address = page("hygiene-list", tenant, "never_retrieved")
    assert text_of(client.get(f"{address}?partition=user%3Db")).count("memory-link") == 1
    text = text_of(client.get(f"{address}?sort=tokens&partition=user%3Da"))
    assert text.index("a good deal longer") < text.index(">short<")
    for refused in ("sort=weight", "partition=nonsense"):
        response = client.get(f"{address}?{refused}")
        assert response.status_code == 422
        assert "Invalid request" in text_of(response)


@pytest.mark.parametrize("sort", ["oldest", "tokens"])
def test_pages_show_every_row_once(sort: str, client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "ROWS_PER_PAGE", 3)
    found(
        tenant, *(f"a note about {word}" for word in ["ships", "trains", "bikes", "trams", "planes", "cars", "boats"])
    )
    address, seen = f"{page('hygiene-list', tenant, 'never_retrieved')}?sort={sort}", []
    while address:
        text = text_of(client.get(address))
        seen += re.findall(r'memory-link" href="([^"]+)"', text)
        following = re.search(r'href="([^"]+cursor[^"]+)">More', text)
        address = following[1].replace("&amp;", "&") if following else ""
    assert len(seen) == len(set(seen)) == 7


@pytest.mark.parametrize("kind", ["near_duplicate", "never_retrieved"])
def test_query_count_does_not_grow_with_the_rows(kind: str, client: Client, tenant: Tenant) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(page("hygiene-list", tenant, kind)).status_code == 200
        return len(captured)

    found(tenant, BREAD, BREAD_AGAIN)
    few = queries()
    found(tenant, RENT, RENT.replace("workshop", "workshops"), *(f"{BREAD} {'Yes! ' * n}" for n in range(1, 5)))
    assert queries() == few


def test_counting_stops_at_its_limit_and_reports_it(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "COUNTED_MAX", 2)
    found(tenant, "one thing", "the second", "number three")
    assert "2+" in text_of(client.get(page("hygiene", tenant)))


def test_viewer_sees_and_may_do_nothing(viewer: Client, tenant: Tenant) -> None:
    first, second = found(tenant, BREAD, BREAD_AGAIN)
    (pair,) = pair_ids(tenant, "near_duplicate")
    text = text_of(viewer.get(page("hygiene", tenant)))
    assert "finding-side" in text
    assert "Keep this" not in text
    shown = viewer.get(page("hygiene-bulk", tenant, "near_duplicate") + f"?action=merge&id={pair}")
    assert "btn-danger" not in text_of(shown)
    assert act(viewer, tenant, "near_duplicate", action="merge", id=pair).status_code == 403
    assert as_stored(first).archived_at is as_stored(second).archived_at is None


def test_rows_of_another_tenant_are_neither_shown_nor_touched(
    client: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    memories = found(other_tenant, BREAD, BREAD_AGAIN)
    (foreign,) = pair_ids(other_tenant, "near_duplicate")
    assert "No findings" in text_of(client.get(page("hygiene", tenant)))
    done = act(client, tenant, "near_duplicate", action="merge", id=foreign)
    assert "no longer in the list" in text_of(done)
    assert all(as_stored(memory).archived_at is None for memory in memories)
    assert client.get(page("hygiene", other_tenant)).status_code == 404


INVALID_ACTIONS = [
    {},
    {"action": "merge"},
    {"action": "explode", "id": "1"},
    {"action": "merge", "id": "x"},
    {"action": "merge", "id": "9" * 30},
    {"action": "merge", "id": "1", "keep": "nobody"},
    {"action": "archive", "id": "1"},
    {"action": "dismiss", "id": [str(number) for number in range(1, 300)]},
]


def test_nonsense_is_refused_in_words(client: Client, tenant: Tenant) -> None:
    found(tenant, BREAD, BREAD_AGAIN)
    for fields in INVALID_ACTIONS:
        for answer in (
            act(client, tenant, "near_duplicate", **fields),
            client.get(page("hygiene-bulk", tenant, "near_duplicate"), fields, follow=True),
        ):
            assert answer.status_code == 200
            assert "flash-error" in text_of(answer)
    assert len(pair_ids(tenant, "near_duplicate")) == 1


def test_act_by_htmx_returns_the_list(client: Client, tenant: Tenant) -> None:
    found(tenant, BREAD, BREAD_AGAIN)
    (pair,) = pair_ids(tenant, "near_duplicate")
    fields = {"action": "dismiss", "id": pair}
    answer = client.post(page("hygiene-bulk", tenant, "near_duplicate"), fields, headers=HTMX)
    assert answer.status_code == 200
    assert 'id="hygiene-list"' in text_of(answer)
    assert "<html" not in text_of(answer)
    assert "1 dismissed." in text_of(answer)
    assert undo_of(answer)


@pytest.mark.parametrize("cursor", ["x", "eyJvIjoiLWNyZWF0ZWRfYXQifQ"])
def test_bad_cursor_begins_at_the_start(cursor: str, client: Client, tenant: Tenant) -> None:
    found(tenant, BREAD, BREAD_AGAIN)
    assert "finding-side" in text_of(client.get(page("hygiene", tenant) + f"?cursor={cursor}"))
