"""Partitions on the console: the tree with the figures of each node, opened level by level, and one partition."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memories.models import Partition, Tenant
from memories.partitions.actions import save_summary
from memories.services.partitions.paths import parse_partition
from memories.store.actions.edit import archive_memory, update_memory
from memories.store.live_rows import ensure_partitions
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import (
    HTMX,
    TESTER,
    client_of,
    make_bakery_memories,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.integration.session_scripts import make_long_session
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def address(tenant: Tenant, **query: str) -> str:
    return f"{page('partitions', tenant)}?{urlencode(query)}"


def made(tenant: Tenant, *paths: str) -> None:
    with tenant_scope(tenant.pk):
        ensure_partitions(tenant.pk, [parse_partition(path) for path in paths])


def nodes_of(tree: Any) -> dict[str, Any]:
    """Return every listed node by its path."""
    found: dict[str, Any] = {}

    def collect(nodes: Any) -> None:
        for node in nodes:
            found[node.path] = node
            collect(node.children)

    collect(tree.nodes)
    return found


def figures(client: Client, tenant: Tenant, path: str) -> dict[str, tuple[int, int]]:
    """Return the counts of a node: (its own, with all partitions below)."""
    node = nodes_of(client.get(address(tenant)).context["tree"])[path]
    memories, sessions = node.facts.standing.memories, node.facts.sessions
    counted = {name: (memories.own[name], memories.total[name]) for name in ("memories", "pinned")}
    return counted | {"sessions": (sessions.own["sessions"], sessions.total["sessions"])}


def test_tree_counts_the_memories_in_each_node_and_below_it(client: Client, tenant: Tenant) -> None:
    rows = make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        archive_memory(memory=rows[2], by=TESTER, now=timezone.now())
        update_memory(memory=rows[3], changes={"pinned": True}, by=TESTER, now=timezone.now())
    store_memories_for_pages(
        tenant, ("Gone.", "agent=support", "fact"), expires_at=timezone.now() - timedelta(minutes=5)
    )
    make_long_session(tenant, turns=1, path="agent=support/user=c-1")
    assert figures(client, tenant, "agent=support") == {"memories": (1, 2), "pinned": (0, 1), "sessions": (0, 1)}
    assert figures(client, tenant, "agent=support/user=c-1") == {
        "memories": (1, 1),
        "pinned": (1, 1),
        "sessions": (1, 1),
    }
    tree = client.get(address(tenant)).context["tree"]
    top = tree.top.standing.memories
    assert (top.own["memories"], top.total["memories"]) == (0, 4)
    assert top.total["tokens"] == sum(row.tokens_o200k_base for row in rows) - rows[2].tokens_o200k_base


def test_partition_beginning_like_another_is_not_below_it(client: Client, tenant: Tenant) -> None:
    store_memories_for_pages(
        tenant, ("One.", "user=al", "fact"), ("Two.", "user=al-2", "fact"), ("Three.", "user=al/topic=x", "fact")
    )
    assert figures(client, tenant, "user=al")["memories"] == (1, 2)
    assert figures(client, tenant, "user=al-2")["memories"] == (1, 1)
    made(tenant, "user=al-2/topic=y", "user=al-2/topic=z", "user=al 3", "user=al0")
    nodes = nodes_of(client.get(address(tenant)).context["tree"])
    assert (nodes["user=al"].below, nodes["user=al-2"].below) == (1, 2)


def test_unlisted_siblings_count_for_the_node_above_alone(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.partitions.tree.WHOLE_MAX", 0)
    monkeypatch.setattr("memories.partitions.tree.SIBLINGS_MAX", 1)
    places = ("agent=a", "agent=a/user=x", "agent=a b", "agent=ab", "agent=a0/user=y", "agent=b")
    rows = store_memories_for_pages(
        tenant, *((f"Memory {number}.", path, "fact") for number, path in enumerate(places))
    )
    tree = client.get(address(tenant)).context["tree"]
    assert list(nodes_of(tree)) == ["agent=a"]
    assert figures(client, tenant, "agent=a")["memories"] == (1, 2)
    assert tree.top.standing.memories.total["memories"] == len(rows)


def test_tree_as_page_and_as_fragment(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for headers in ({}, HTMX):
        text = text_of(client.get(address(tenant), headers=headers))
        assert "agent%3Dsupport/user%3Dc-1" in text
        assert "<details" in text
        assert ("<html" in text) == (not headers)


def test_empty_partition_list_explains_how_to_create_one(client: Client, tenant: Tenant) -> None:
    assert "No partitions yet" in text_of(client.get(address(tenant)))


@pytest.mark.parametrize("query", [{"partition": "nonsense"}, {"after": "nonsense"}, {"q": "x" * 201}])
def test_partition_that_is_none_is_answered_422(query: dict[str, str], client: Client, tenant: Tenant) -> None:
    assert client.get(address(tenant, **query)).status_code == 422


def test_stranger_and_other_tenant_see_no_tree(operator: User, tenant: Tenant, other_tenant: Tenant) -> None:
    for name in ("partitions", "partition-children"):
        assert Client().get(page(name, tenant))["Location"].startswith("/sign-in")
        assert client_of(operator).get(page(name, other_tenant)).status_code == 404


def test_summary_shows_whether_memories_were_stored_after_it(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        save_summary(
            tenant=tenant,
            partition=parse_partition("agent=service"),
            style="compact",
            content="Swaps take 45 minutes.",
            origin="operator",
            by=TESTER,
            now=timezone.now(),
        )

    def state() -> Any:
        tree = client.get(address(tenant)).context["tree"]
        return nodes_of(tree)["agent=service"].facts.standing.summaries[0]

    assert (state().style, state().is_behind) == ("compact", False)
    store_memories_for_pages(tenant, ("A new one.", "agent=service", "fact"), now=timezone.now())
    assert state().is_behind
    assert "outdated" in text_of(client.get(address(tenant, partition="agent=service")))


def test_chosen_partition_leads_to_what_is_filtered_to_it(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    text = text_of(client.get(address(tenant, partition="agent=support/user=c-1")))
    for name in ("memories", "sessions", "context-log", "context-preview"):
        assert f"{page(name, tenant)}?partition=agent%3Dsupport/user%3Dc-1" in text
    assert "We repair cargo bikes." in text
    assert "Roll up now" in text
    viewer = client_of(new_operator("vera", "viewer", tenant))
    seen = text_of(viewer.get(address(tenant, partition="agent=support/user=c-1")))
    assert "Roll up now" not in seen
    assert "<textarea" not in seen


def test_partition_without_anything_can_be_opened(client: Client, tenant: Tenant) -> None:
    response = client.get(address(tenant, partition="user=nobody"))
    assert response.status_code == 200
    assert response.context["facts"].standing.memories.total["memories"] == 0


@pytest.fixture
def big(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Tenant:
    """More partitions than one list shows, listed two siblings at a time."""
    monkeypatch.setattr("memories.partitions.tree.WHOLE_MAX", 3)
    monkeypatch.setattr("memories.partitions.tree.SIBLINGS_MAX", 2)
    made(tenant, *(f"user=u{number}/topic=t{topic}" for number in range(5) for topic in range(3)))
    return tenant


def test_big_tree_lists_the_levels_that_lead_to_the_chosen_one(client: Client, big: Tenant) -> None:
    tree = client.get(address(big)).context["tree"]
    assert list(nodes_of(tree)) == ["user=u0", "user=u1"]
    assert (tree.rest_after, tree.total) == ("user=u1", 20)
    assert nodes_of(tree)["user=u0"].is_unread
    opened = client.get(address(big, partition="user=u4/topic=t2"))
    nodes = nodes_of(opened.context["tree"])
    assert list(nodes) == ["user=u0", "user=u1", "user=u4", "user=u4/topic=t0", "user=u4/topic=t1", "user=u4/topic=t2"]
    assert nodes["user=u4"].is_open
    assert not nodes["user=u0"].is_open
    assert 'aria-current="true">topic=t2' in text_of(opened)


def test_big_tree_is_walked_to_its_end_without_a_script(client: Client, big: Tenant) -> None:
    seen, after = [], ""
    while True:
        tree = client.get(address(big, partition="user=u1", after=after)).context["tree"]
        node = nodes_of(tree)["user=u1"]
        seen += [child.name for child in node.children]
        after = node.rest_after
        if not after:
            break
    assert seen == ["topic=t0", "topic=t1", "topic=t2"]


def test_opened_node_requests_its_children(client: Client, big: Tenant) -> None:
    branch = f"{page('partition-children', big)}?{urlencode({'partition': 'user=u3'})}"
    part = client.get(branch, headers=HTMX)
    assert [node.path for node in part.context["nodes"]] == ["user=u3/topic=t0", "user=u3/topic=t1"]
    assert "Show more after user=u3/topic=t1" in text_of(part)
    assert "<html" not in text_of(part)
    assert client.get(branch)["Location"] == f"{page('partitions', big)}?partition=user%3Du3"
    assert client.get(page("partition-children", big) + "?partition=nonsense").status_code == 404


def test_partitions_are_found_by_a_part_of_their_path(client: Client, big: Tenant) -> None:
    found = client.get(address(big, q="TOPIC=T1"), headers=HTMX)
    assert list(nodes_of(found.context["tree"])) == ["user=u0/topic=t1", "user=u1/topic=t1"]
    assert found.context["tree"].rest_after == "user=u1/topic=t1"
    assert "No partition contains" in text_of(client.get(address(big, q="zeppelin")))


def test_number_of_queries_does_not_grow_with_the_partitions(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    make_bakery_memories(tenant)
    addresses = [address(tenant), address(tenant, partition="agent=support"), address(tenant, q="agent")]
    counts = []
    for each in addresses:
        with django_assert_max_num_queries(41) as queries:
            client.get(each)
        counts.append(len(queries))
    store_memories_for_pages(tenant, *[(f"Memory {n}.", f"agent=shop/user=u-{n}/topic=t", "fact") for n in range(30)])
    made(tenant, *(f"agent=mill/user=m{number}" for number in range(300)))
    with tenant_scope(tenant.pk):
        assert Partition.objects.for_tenant(tenant.pk).row_count() > 350
    for each, count in zip(addresses, counts, strict=True):
        with django_assert_max_num_queries(count):
            client.get(each)
