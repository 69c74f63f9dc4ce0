"""Two tabs of one browser: each changes its own tenant, and both share one sign-in without conflict."""

import re

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories.models import Tenant
from memories.tenancy.actions.operators import add_member
from memories.tenancy.scopes import admin_write_scope
from tests.integration.page_helpers import TESTER, WORKSHOP, make_bakery_memories, page
from tests.users import PASSWORD, new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def globex(acme: Tenant, olga: User) -> Tenant:
    """Another tenant that Olga sees."""
    tenant = new_shared_tenant("Globex")
    make_bakery_memories(tenant)
    with admin_write_scope():
        add_member(user=olga, tenant=tenant, by=TESTER, now=timezone.now())
    return tenant


@pytest.fixture
def second(console: Page) -> Page:
    return console.context.new_page()


def enter(tab: Page, name: str = "olga") -> None:
    tab.fill("#id_username", name)
    tab.fill("#id_password", PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(lambda url: "/sign-in" not in url)


def sign_out(tab: Page) -> None:
    tab.get_by_role("button", name="Sign out").click()
    tab.wait_for_url(re.compile("/sign-in$"))


def archive_first(tab: Page) -> None:
    tab.locator("tbody tr").first.get_by_role("button", name="Archive").click()


def test_each_tab_acts_on_its_tenant_and_both_share_one_sign_in(
    console: Page, second: Page, acme: Tenant, globex: Tenant
) -> None:
    rows, others = console.locator("tbody tr"), second.locator("tbody tr")
    console.goto(page("memories", acme))
    second.goto(page("memories", globex))
    archive_first(second)
    archive_first(console)
    for each in (rows, others):
        expect(each).to_have_count(len(WORKSHOP) - 1)
    second.get_by_role("button", name="Undo").click()
    expect(others).to_have_count(len(WORKSHOP))
    expect(rows).to_have_count(len(WORKSHOP) - 1)

    sign_out(console)
    console.go_back()
    console.wait_for_url(re.compile(r"/sign-in\?next="))
    second.locator("#sort-tokens").click()
    second.wait_for_url(re.compile(r"/sign-in\?next="))
    enter(console)
    expect(console).to_have_url(re.compile(f"{acme.pk}/memories"))
    enter(second)
    expect(second).to_have_url(re.compile(f"{globex.pk}/memories"))
    # The page in the first tab is older than this sign-in.
    archive_first(console)
    expect(rows).to_have_count(len(WORKSHOP) - 2)

    console.goto(page("memo", acme))
    sign_out(second)
    enter(second)
    console.get_by_label("Memo text").fill("We repair bikes.")
    console.get_by_role("button", name="Save version").click()
    expect(console.locator(".flash")).to_be_visible()


def test_tab_of_one_operator_does_not_act_as_another(console: Page, second: Page, acme: Tenant) -> None:
    new_operator("ida", "admin", acme)
    console.goto(page("memories", acme))
    second.goto(page("memories", acme))
    sign_out(second)
    enter(second, "ida")
    archive_first(console)
    expect(console.locator("#errors")).to_contain_text("page is out of date")
    second.goto(page("memories", acme))
    expect(second.locator("tbody tr")).to_have_count(len(WORKSHOP))
