"""The tabs of *Compare versions*: each URL contains the selection of the other tabs."""

import re
from html import unescape
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memories.models import Tenant
from tests.integration.page_helpers import client_of, page

FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def budgets(client: Client, tenant: Tenant) -> None:
    """Two versions of the budget profile `default`, besides the built-in one."""
    for version, tokens in enumerate(("3000", "2000")):
        client.post(page("budgets", tenant), {"edited_from": str(version), "default_tokens": tokens})


def tabs_of(client: Client, address: str, **headers: str) -> dict[str, str]:
    """Return the URL of each tab by its label."""
    text = client.get(address, headers=headers).content.decode()
    nav = text.partition('id="compare-tabs"')[2].partition("</nav>")[0]
    return {label: unescape(url) for url, label in re.findall(r'href="([^"]*)"[^>]*>([^<]+)</a>', nav)}


def selected(client: Client, address: str) -> list[str]:
    """Return the selected options of the page."""
    text = client.get(address).content.decode()
    return re.findall(r'<option value="([^"]*)" selected>', text)


@pytest.mark.usefixtures("budgets")
def test_selection_survives_every_change_of_the_tab(client: Client, tenant: Tenant) -> None:
    start = f"{page('budget-compare', tenant)}?{urlencode({'left': 'default 1', 'right': 'default 2'})}"
    scoring = tabs_of(client, start)["Scoring profiles"]
    scoring += "&" + urlencode({"left": "adr-0040 1", "right": "conversation-recall 1"})
    contexts = tabs_of(client, scoring)["Contexts"]
    assert selected(client, contexts) == ["adr-0040", "conversation-recall", "default@1", "default@2"]
    contexts += "&query=bread"
    tabs = tabs_of(client, contexts)
    assert selected(client, tabs["Scoring profiles"]) == ["adr-0040 1", "conversation-recall 1"]
    assert selected(client, tabs["Budget profiles"]) == ["default 1", "default 2"]
    back = tabs_of(client, tabs["Budget profiles"])["Contexts"]
    assert dict(parse_qsl(urlsplit(back).query)) == dict(parse_qsl(urlsplit(contexts).query))


@pytest.mark.usefixtures("budgets")
def test_fragment_replaces_the_tabs(client: Client, tenant: Tenant) -> None:
    chosen = urlencode({"left": "default 1", "right": "default 2"})
    tabs = tabs_of(client, f"{page('budget-compare', tenant)}?{chosen}", **FRAGMENT)
    assert parse_qs(urlsplit(tabs["Scoring profiles"]).query)["left_budget"] == ["default 1"]
    tabs = tabs_of(client, f"{page('context-compare', tenant)}?query=bread&right=recall", **FRAGMENT)
    assert parse_qs(urlsplit(tabs["Scoring profiles"]).query)["right"] == ["recall"]


@pytest.mark.usefixtures("budgets")
def test_form_keeps_what_other_tabs_selected(client: Client, tenant: Tenant) -> None:
    text = client.get(f"{page('scoring-compare', tenant)}?left_budget=default+1&query=bread").content.decode()
    assert '<input type="hidden" name="left_budget" value="default 1">' in text
    assert '<input type="hidden" name="query" value="bread">' in text


def test_profile_without_version_is_compared_in_its_active_one(client: Client, tenant: Tenant) -> None:
    address = f"{page('scoring-compare', tenant)}?left=adr-0040&right=recall"
    assert selected(client, address)[0] == "adr-0040 1"
    assert client.get(address).status_code == 200
