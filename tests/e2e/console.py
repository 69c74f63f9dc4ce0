"""Shared by the tests of the console in a browser: two widths, a query and the first steps."""

import re
import shutil

import pytest
from playwright.sync_api import Page

from memories.models import Tenant
from tests.integration.page_helpers import page
from tests.users import PASSWORD

#: bin/chromium checks the same names in the same order.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
#: The time limit of every wait; only a busy machine needs much of it.
WAIT_MAX_MS = 30_000
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
QUESTION = "What does ERR_4012 mean?"

#: For a flow that differs on a phone. Other tests use the wide window; `test_accessible.py` checks every page at both
#: widths.
on_a_phone = pytest.mark.parametrize("viewport", [NARROW], ids=["narrow"])


def sign_in_to_console(opened: Page) -> None:
    opened.fill("#id_username", "olga")
    opened.fill("#id_password", PASSWORD)
    opened.get_by_role("button", name="Sign in").click()
    opened.wait_for_url(re.compile(r"/t/"))


def open_preview(opened: Page, tenant: Tenant, max_tokens: int = 400) -> None:
    opened.goto(f"{page('context-preview', tenant)}?query={QUESTION}&max_tokens={max_tokens}")


def used(opened: Page) -> str:
    return opened.locator("#budget-title").inner_text()
