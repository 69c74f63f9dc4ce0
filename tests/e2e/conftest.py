"""Fixtures for tests in Chromium: the one of the machine, which `make test` installs if it may."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from memories.models import Tenant
from tests.e2e.console import CHROMIUM, WAIT_MAX_MS, WIDE
from tests.integration.page_helpers import client_of, make_bakery_memories
from tests.users import new_operator, new_shared_tenant

# Playwright keeps an event loop in the thread of the test, where Django would refuse to use the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
expect.set_options(timeout=WAIT_MAX_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        for item in items:
            if "/e2e/" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine: see bin/chromium"))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    is_root = os.geteuid() == 0  # Chromium's sandbox refuses root
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": ["--no-sandbox"] if is_root else []}


# Messages of Chromium about responses that tests cause to fail.
EXPECTED = re.compile(
    r"status of (40[34]|413|422|500)|net::ERR_FAILED|^Response Status Error Code|^htmx:(send(Error|Abort)|afterRequest)"
)


@pytest.fixture
def acme(transactional_db: None) -> Tenant:
    tenant = new_shared_tenant("Acme")
    make_bakery_memories(tenant)
    return tenant


@pytest.fixture
def olga(acme: Tenant) -> User:
    return new_operator("olga", "operator", acme)


@pytest.fixture
def viewport() -> Any:
    return WIDE


@pytest.fixture
def console(browser: Browser, live_server: Any, olga: User, viewport: Any) -> Iterator[Page]:
    """A page of a signed-in operator; at the end, the browser's console must contain no errors."""
    context = browser.new_context(viewport=viewport, base_url=live_server.url)
    opened, complaints = context.new_page(), []
    opened.set_default_timeout(WAIT_MAX_MS)
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    session = client_of(olga).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    yield opened
    context.close()
    assert [text for text in complaints if not EXPECTED.search(text)] == []
