"""The parts around every page: breadcrumbs and search."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse
from django.utils import timezone

from memories.models import Tenant
from memory_platform.web.navigation import NAVIGATION
from tests.architecture import ROOT
from tests.integration.context_helpers import assemble_test_context
from tests.integration.page_helpers import (
    HTMX,
    client_of,
    make_bakery_memories,
    make_snapshot,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.integration.session_scripts import make_long_session
from tests.users import new_operator

#: Pages at the first level that the navigation does not contain.
BESIDE_THE_NAVIGATION = {"search", "design"}


def _in_navigation() -> set[str]:
    named = re.findall(r'{% url "([a-z-]+)"', (ROOT / "templates/memory_platform/web/_nav.html").read_text())
    return {*named, *(entry.name for group in NAVIGATION for entry in group.entries)}


def _pages() -> list[Path]:
    templates = sorted((ROOT / "templates").rglob("*.html"))
    return [path for path in templates if '{% extends "base.html" %}' in path.read_text() and "base" not in path.stem]


def test_page_below_the_first_level_has_breadcrumbs() -> None:
    breadcrumbs = re.compile(r"{% block breadcrumbs %}.*<nav aria-label=\"Breadcrumb\"")
    pages = {path.stem.replace("_", "-"): path.read_text() for path in _pages()}
    without = {name for name, template in pages.items() if not breadcrumbs.search(template)}
    assert 0 < len(without) < len(pages)
    assert without - _in_navigation() - BESIDE_THE_NAVIGATION == set()


def _crumbs(client: Client, address: str) -> list[str]:
    """Return the addresses of the breadcrumbs of a page, each of which opens."""
    found = re.search(r'<nav aria-label="Breadcrumb">(.*?)</nav>', text_of(client.get(address)), re.DOTALL)
    links = re.findall(r'href="([^"]+)"', found[1]) if found else []
    assert [client.get(link).status_code for link in links] == [200] * len(links)
    return [resolve(link.partition("?")[0]).view_name for link in links]


def test_breadcrumbs_lead_up(operator: User, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    snapshot = make_snapshot(tenant, "before the import")
    client = client_of(operator)
    assert _crumbs(client, page("memory", tenant, memory.pk)) == ["memories", "memories"]
    assert _crumbs(client, page("memory-votes", tenant, memory.pk)) == ["memories", "memory"]
    assert _crumbs(client, page("snapshot-delete", tenant, snapshot.pk)) == ["snapshots", "snapshot"]
    assert _crumbs(client, page("partitions", tenant) + "?partition=agent%3Dservice") == ["partitions"]
    assert _crumbs(client, page("memories", tenant)) == []


@pytest.fixture
def viewer(tenant: Tenant) -> User:
    return new_operator("vera", "viewer", tenant)


def _found(response: Any) -> dict[str, list[str]]:
    """Return by group of a search the names of the pages to which its results lead."""
    return {group.name: [hit.address for hit in group.hits] for group in response.context["groups"]}


def test_search_finds_memories_contexts_sessions_and_partitions(viewer: User, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    receipt = assemble_test_context(tenant, "What does ERR_4012 mean?", now=timezone.now())
    session = make_long_session(tenant, turns=2)
    client = client_of(viewer)
    address = page("search", tenant)

    response = client.get(address, {"q": "ERR_4012"})
    assert f'<time datetime="{receipt.created_at.isoformat()}"' in text_of(response), "the same is asked more than once"
    found = _found(response)
    assert set(found) == {"memories", "receipts"}
    assert set(found["memories"]) == {page("memory", tenant, memories[n].pk) for n in (1, 2)}
    assert found["receipts"] == [page("receipt", tenant, receipt.id)]

    for name, wanted, key in (
        ("memories", page("memory", tenant, memories[3].pk), str(memories[3].pk)),
        ("memories", page("memory", tenant, memories[3].pk), memories[3].pk.hex[:24].upper()),
        ("receipts", page("receipt", tenant, receipt.id), f"{receipt.id}"[:13] + "…"),
        ("sessions", page("session", tenant, session.pk), str(session.pk)[:20]),
    ):
        assert _found(client.get(address, {"q": key})) == {name: [wanted]}
    assert _found(client.get(address, {"q": "USER=c"})) == {
        "partitions": [page("partitions", tenant) + "?partition=agent%3Dsupport%2Fuser%3Dc-1"]
    }


def test_search_shows_five_and_where_the_others_are_in_a_constant_number_of_queries(
    viewer: User, tenant: Tenant
) -> None:
    client = client_of(viewer)
    address = page("search", tenant)
    store_memories_for_pages(tenant, ("The wheel number 0 is true.", "agent=a0", "fact"))
    with CaptureQueriesContext(connection) as few:
        client.get(address, {"q": "wheel"})
    store_memories_for_pages(tenant, *((f"The wheel number {n} is true.", f"agent=a{n}", "fact") for n in range(1, 8)))
    with CaptureQueriesContext(connection) as many:
        response = client.get(address, {"q": "wheel"})
    assert len(_found(response)["memories"]) == 5
    assert page("memories", tenant) + "?q=wheel" in text_of(response)
    assert len(many) == len(few)


def test_search_while_typing_returns_options_and_their_number(viewer: User, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client = client_of(viewer)
    body = text_of(client.get(page("search", tenant), {"q": "torque"}, headers=HTMX))
    assert "<html" not in body
    assert body.count('role="option"') == 3
    assert '<div id="live" hx-swap-oob="innerHTML">2 results found</div>' in body
    assert 'role="option" aria-disabled="true"' in text_of(
        client.get(page("search", tenant), {"q": "zeppelin"}, headers=HTMX)
    )
    assert f"{page('memories', tenant)}?q=zeppelin" in text_of(client.get(page("search", tenant), {"q": "zeppelin"}))
    assert "at least two characters" in text_of(client.get(page("search", tenant), {"q": "t"}))


def test_search_refuses_what_is_too_long(viewer: User, tenant: Tenant) -> None:
    assert client_of(viewer).get(page("search", tenant), {"q": "x" * 201}).status_code == 422


def test_search_shows_nothing_of_another_tenant(operator: User, tenant: Tenant, other_tenant: Tenant) -> None:
    foreign = make_bakery_memories(other_tenant)[0]
    client = client_of(operator)
    for text in ("ERR_4012", str(foreign.pk), "agent"):
        assert _found(client.get(page("search", tenant), {"q": text})) == {}
    assert client.get(page("search", other_tenant), {"q": "ERR_4012"}).status_code == 404


def test_design_guide_is_for_development_alone(viewer: User, settings: Any) -> None:
    client = client_of(viewer)
    assert client.get(reverse("design")).status_code == 404
    settings.DEBUG = True
    body = text_of(client.get(reverse("design")))
    assert body.count('class="guide-theme guide-') == 2
    ids = re.findall(r'\sid="([^"]+)"', body)
    assert len(ids) == len(set(ids))
