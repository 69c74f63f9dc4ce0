"""An API key created in a browser at phone width, then used with the API."""

import json
import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.integration.page_helpers import page
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga(acme: Tenant) -> User:
    """The signed-in operator, an admin, because only admins create keys."""
    return new_operator("olga", "admin", acme)


@on_a_phone
def test_admin_makes_a_key_uses_its_curl_and_revokes_it(console: Page, acme: Tenant) -> None:
    console.goto(page("api-keys", acme))
    console.fill("#id_name", "support bot")
    console.locator("#id_name").press("Enter")
    expect(console.locator("#created-title")).to_be_focused()
    command = console.locator("#new-curl").inner_text()
    address = re.search(r"curl -sS (\S+)", command)
    headers = dict(re.findall(r"-H '([^:]+): ([^']+)'", command))
    body = re.search(r"-d '([^']+)'", command)
    assert address
    assert body
    assert headers["Authorization"] == f"Bearer {console.locator('#new-key').inner_text()}"
    answer = console.request.post(address[1], headers=headers, data=body[1])
    assert answer.status == 200
    assert len(json.loads(answer.text())["results"]) == 3
    assert console.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    console.get_by_role("link", name="Done").click()
    expect(console.locator("#id_name")).to_be_hidden()
    console.get_by_text("New API key").click()
    expect(console.locator("#id_name")).to_be_visible()
    assert headers["Authorization"].removeprefix("Bearer ") not in console.content()
    console.get_by_role("link", name="Revoke support bot").click()
    console.get_by_role("button", name="Revoke key").click()
    expect(console.locator("#flash")).to_contain_text("revoked")
    assert console.request.post(address[1], headers=headers, data=body[1]).status == 401
    console.goto(page("audit-log", acme))
    console.fill("#id_action", "api key")
    expect(console.locator("#rows tbody tr")).to_have_count(2)
    expect(console.locator("#rows")).to_contain_text("Revoked an API key")
