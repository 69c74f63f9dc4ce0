"""A person is invited, joins and gets another role, in a browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import WIDE, on_a_phone
from tests.integration.page_helpers import page
from tests.users import PASSWORD, new_operator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga(acme: Tenant) -> User:
    return new_operator("olga", "admin", acme)


@on_a_phone
def test_invited_person_joins_and_the_admin_changes_the_role(console: Page, acme: Tenant) -> None:
    console.goto(page("members", acme))
    console.get_by_label("Note").fill("Otto")
    console.get_by_role("button", name="Create link").click()
    link = console.locator("#new-link").inner_text()
    assert console.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert console.context.browser is not None
    visitor = console.context.browser.new_context(viewport=WIDE)
    otto = visitor.new_page()
    otto.goto(link)
    otto.get_by_label("User name").fill("otto")
    otto.get_by_label("Password", exact=True).fill(PASSWORD)
    otto.get_by_label("Password again").fill(PASSWORD)
    otto.get_by_role("button", name="Create account").click()
    expect(otto.locator(".flash")).to_contain_text("Welcome to Acme.")
    visitor.close()
    console.get_by_role("link", name="Done").click()
    console.get_by_label("Role of otto").select_option("viewer")
    console.get_by_role("button", name="Save role of otto").click()
    expect(console.locator(".flash")).to_contain_text("otto is now viewer.")
    console.get_by_role("link", name="Remove otto").click()
    console.locator("dialog").get_by_role("button", name="Remove").click()
    expect(console.locator(".flash")).to_contain_text("otto removed from Acme.")
