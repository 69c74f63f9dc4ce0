"""Lists and searches as of a past time: what was true then, in the versions of that time."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Memory, Tenant
from memories.partitions.actions import link_memories, unlink_memories
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.rest_helpers import MEMORIES, SEARCH, assert_problem, every_page
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

START = FACTORY_NOW - timedelta(days=10)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


@pytest.fixture
def home(tenant: Tenant) -> Memory:
    """Lisbon from day 0, Porto from day 2, archived on day 4, back on day 6; tea from day 3 on."""
    home = make_memory(
        tenant, "Alex lives in Lisbon.", partition="user=alex", now=day(0), kind="fact", is_embedded=True
    )
    tea = make_memory(
        tenant, "Alex drinks tea.", partition="user=alex", now=day(3), kind="preference", is_embedded=True
    )
    with tenant_scope(tenant.pk):
        link = link_memories(source=home, target=tea, kind="related", by=TESTER, now=day(3))
        changes = {"content": "Alex lives in Porto.", "kind": "place", "pinned": True}
        home = update_memory(memory=home, changes=changes, by=TESTER, now=day(2))
        archive_memory(memory=home, by=TESTER, now=day(4))
        unlink_memories(link=link, by=TESTER, now=day(5))
        return restore_memory(memory=home, by=TESTER, now=day(6))


def listed(api: APIClient, when: datetime, **query: Any) -> list[str]:
    response = api.get(MEMORIES, {"as_of": when.isoformat(), "ordering": "created_at", **query})
    assert response.status_code == 200, response.json()
    return [row["content"] for row in response.json()["results"]]


def found(api: APIClient, when: datetime, **body: Any) -> list[str]:
    response = api.post(SEARCH, {"query": "Where does Alex live?", "as_of": when.isoformat(), **body})
    assert response.status_code == 200, response.json()
    return sorted(row["content"] for row in response.json()["results"])


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (-0.1, []),
        (0, ["Alex lives in Lisbon."]),
        (1.9, ["Alex lives in Lisbon."]),
        (2, ["Alex lives in Porto."]),
        (3, ["Alex lives in Porto.", "Alex drinks tea."]),
        (4, ["Alex drinks tea."]),
        (6, ["Alex lives in Porto.", "Alex drinks tea."]),
    ],
)
def test_list_and_search_read_the_versions_of_that_time(
    api: APIClient, home: Memory, number: float, texts: list[str]
) -> None:
    assert listed(api, day(number)) == texts
    assert found(api, day(number)) == sorted(texts)
    assert found(api, day(number), mode="lexical", query="Alex lives drinks") == sorted(texts)


def test_row_of_the_past_has_all_fields_of_its_version(api: APIClient, home: Memory) -> None:
    (row,) = api.get(MEMORIES, {"as_of": day(1).isoformat()}).json()["results"]
    today = api.get(f"{MEMORIES}/{home.pk}").json()
    assert set(row) == set(today)
    assert (row["id"], row["version"], row["kind"], row["pinned"]) == (str(home.pk), 1, "fact", False)
    assert row["updated_at"] == day(0).isoformat().replace("+00:00", "Z")
    assert (row["archived_at"], row["links"]) == (None, [])
    assert row["embedding"]["state"] == "ready"
    linked = api.get(MEMORIES, {"as_of": day(3).isoformat(), "kind": "place"}).json()["results"]
    assert [len(each["links"]) for each in linked] == [1]
    assert today["links"] == []
    (hit,) = api.post(SEARCH, {"query": "Alex", "as_of": day(1).isoformat()}).json()["results"]
    assert {name: hit[name] for name in row} == row


def test_offset_counts_and_filters_are_of_that_time(api: APIClient, home: Memory) -> None:
    shifted = (day(2) + timedelta(hours=2)).replace(tzinfo=None).isoformat() + "+02:00"
    assert [row["version"] for row in api.get(MEMORIES, {"as_of": shifted}).json()["results"]] == [2]
    for of_later in ({"kind": "place"}, {"pinned": "true"}, {"q": "Porto"}):
        assert listed(api, day(1), **of_later) == []
    assert listed(api, day(1), q="lisbon") == listed(api, day(1), kind="fact") == ["Alex lives in Lisbon."]
    assert found(api, day(1), filters={"kind": "place"}) == []


def test_pages_of_the_past_join_both_tables(api: APIClient, tenant: Tenant) -> None:
    rows = [make_memory(tenant, f"note {each}", now=day(each % 3)) for each in range(7)]
    with tenant_scope(tenant.pk):
        for row in rows[::2]:
            update_memory(memory=row, changes={"confidence": 0.1}, by=TESTER, now=day(8))
    for ordering in ("created_at", "-created_at", "-confidence", "updated_at", "-usefulness_score"):
        query = f"as_of={day(7).isoformat().replace('+', '%2B')}&ordering={ordering}"
        whole = api.get(f"{MEMORIES}?{query}").json()["results"]
        assert len(whole) == 7
        assert {row["confidence"] for row in whole} == {0.8}
        pages = every_page(api, f"{MEMORIES}?{query}&page_size=2")
        assert [row["id"] for page in pages for row in page] == [row["id"] for row in whole]


def test_key_reads_the_past_of_its_partition_alone(tenant: Tenant, home: Memory) -> None:
    with tenant_scope(tenant.pk):
        make_memory(tenant, "Sam lives in Faro.", partition="user=sam", now=day(0))
    sam = api_client(new_key(tenant, "read", partition="user=sam"))
    assert listed(sam, day(1)) == found(sam, day(1)) == ["Sam lives in Faro."]


@pytest.mark.parametrize(
    ("when", "code"),
    [("2999-01-01T00:00:00Z", "in_the_future"), ("2026-01-01T00:00:00", "no_offset"), ("yesterday", "not_a_time")],
)
def test_other_times_are_refused(api: APIClient, when: str, code: str) -> None:
    assert_problem(api.get(MEMORIES, {"as_of": when}), 400, code, "as_of")
    assert_problem(api.post(SEARCH, {"query": "x", "as_of": when}), 400, code, "as_of")


def test_archived_memories_have_no_past_list(api: APIClient) -> None:
    query = {"as_of": day(1).isoformat(), "archived": "true"}
    assert_problem(api.get(MEMORIES, query), 400, "not_with_as_of", "archived")
