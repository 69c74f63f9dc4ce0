"""A real Chromium for the page tests: the machine's own, which `make test` installs where it may."""

import os
import shutil
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# Playwright keeps an event loop in the thread of the test, where Django would refuse to use the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        for item in items:
            if "/e2e/" in item.path.as_posix():
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine: see bin/chromium"))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    is_root = os.geteuid() == 0  # Chromium's sandbox refuses root
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": ["--no-sandbox"] if is_root else []}
