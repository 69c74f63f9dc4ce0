"""Two-factor sign-in in a browser: set up on a phone, then used with the keyboard alone."""

import re

import pyotp
import pytest
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.console_pages import ConsolePage
from tests.e2e.console import NARROW
from tests.e2e.memory_platform.test_accessible import AXE, faults_of
from tests.users import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def faults(console: Page, *addresses: str) -> list[str]:
    return [
        f"{address}: {fault}"
        for address in addresses
        for fault in faults_of(console, ConsolePage(address, address), by_choice=False)
    ]


def test_two_factor_sign_in_is_set_up_and_used(console: Page, acme: Tenant) -> None:
    console.add_init_script(AXE)
    assert faults(console, "/account", "/account/second-factor") == []
    console.set_viewport_size(NARROW)
    console.goto("/account/second-factor")
    totp = pyotp.TOTP(console.locator("#setup-key").inner_text())
    expect(console.get_by_role("img", name="QR code of the key")).to_be_visible()
    console.get_by_label("Password", exact=True).fill(PASSWORD)
    console.get_by_label("Code", exact=True).fill(totp.now())
    console.keyboard.press("Enter")
    expect(console.get_by_role("heading", name="Recovery codes")).to_be_focused()
    recovery_code = console.locator("#recovery-codes").inner_text().split()[0]
    assert console.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    console.context.clear_cookies()

    console.goto("/sign-in")
    expect(console.get_by_label("User name")).to_be_focused()
    for typed, key in (("olga", "Tab"), (PASSWORD, "Enter")):
        console.keyboard.type(typed)
        console.keyboard.press(key)
    console.wait_for_url("**/sign-in/code")
    assert faults(console, "/sign-in/code") == []
    console.goto("/sign-in/code")
    expect(console.get_by_label("Code")).to_be_focused()
    console.keyboard.type("000000")
    console.keyboard.press("Enter")
    expect(console.get_by_text("The code is wrong, already used or expired.")).to_be_visible()
    console.get_by_label("Code").fill(recovery_code)
    console.keyboard.press("Enter")
    console.wait_for_url(re.compile(r"/t/"))
    expect(console.locator(".flash-error")).to_contain_text("1 failed sign-in of this account since")
