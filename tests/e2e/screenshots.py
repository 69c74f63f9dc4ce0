"""Take screenshots of every page of a running instance, in both themes and at both widths.

make run                       # in one terminal
make screenshots               # in another: writes var/screenshots/<page>-<width>-<theme>.png

The pages are those of `tests/console_pages.py`; `tests/e2e/page_states.py` adds what only some
data or a click brings. All of it is shown with a tenant here, `Workshop pictures`, made at the first call. With
`--docs` the six pictures of docs/console.md are taken instead, from the tenant of the demo.
"""

import argparse
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import django
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_platform.settings")
os.environ.setdefault("DATABASE_POOL_SIZE", "0")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright runs an event loop in this thread
django.setup()

from django.contrib.auth.models import User
from django.utils import timezone

from compaction.models import Compaction
from context.models import EvaluationRun
from memories.models import (
    Memory,
    Tenant,
)
from memories.tenancy.actions.operators import create_operator
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.scopes import (
    admin_write_scope,
    tenant_scope,
)
from memory_platform.postgres.roles import CONSOLE, logged_in_as
from tests.console_pages import (
    PAGES,
    address_of,
    console_pages,
    converters_of,
    operator_patterns,
)
from tests.demo_fixture import (
    BY,
    console_page_ids,
    load_demo_tenant,
)
from tests.e2e.console import CHROMIUM
from tests.e2e.page_states import (
    DOCS,
    LOOKS,
    STATES,
    PageStage,
    PageState,
)
from tests.integration.page_helpers import client_of

WIDTHS = {"wide": (1280, 900), "narrow": (390, 844)}
_THEMES = ("light", "dark")
_OUT, DOCS_OUT = Path("var/screenshots"), Path("docs/images")
_TENANT, EMPTY_TENANT, DEMO_TENANT = "Workshop pictures", "Nothing stored yet", "Fennrad"
TALLEST = 6000


@dataclass
class ScreenshotTenants:
    """The tenants and operators of the screenshots, and the address of each page."""

    url: str
    tenant: Tenant
    ids: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.patterns = {str(pattern.name): pattern for pattern in operator_patterns()}

    def address(self, look: PageState) -> str:
        """Of a page with a query string, for the rows of the tenant or those that the look names."""
        ids = self.ids | {name: self.ids.get(str(value), value) for name, value in look.ids.items()}
        path = address_of(self.patterns[look.page], ids)
        return f"{path}?{look.query.format(**ids)}" if look.query else path


def screenshot_tenant(name: str) -> Tenant | None:
    with admin_write_scope():
        found: Tenant | None = Tenant.objects.filter(name=name).first()
    return found


def further_ids_of(tenant: Tenant) -> dict[str, Any]:
    """The rows that `looks.LOOKS` names beside those of every check."""
    with tenant_scope(tenant.pk):
        runs = EvaluationRun.objects.for_tenant(tenant.pk).order_by("created_at")
        proposed = Compaction.objects.for_tenant(tenant.pk).filter(state=Compaction.State.PROPOSED).latest("created_at")
        return {
            "first_run_id": runs[0].pk,
            "second_run_id": runs[1].pk,
            "proposed_session_id": proposed.session_id,
            "linked_memory_id": Memory.objects.for_tenant(tenant.pk).get(content__startswith="Swapping the torque").pk,
        }


def empty_tenant() -> Tenant:
    if (known := screenshot_tenant(EMPTY_TENANT)) is not None:
        return known
    with admin_write_scope():
        return create_tenant(name=EMPTY_TENANT, by=BY, now=timezone.now())


def screenshot_user(username: str, role: str, *tenants: Tenant) -> User:
    """Return an operator with a random password, who never signs in with it."""
    with admin_write_scope():
        known: User | None = User.objects.filter(username=username).first()
        if known is not None:
            return known
        return create_operator(
            username=username,
            password=secrets.token_urlsafe(32),
            role=role,
            tenants=tenants,
            by=BY,
            now=timezone.now(),
        )


def pages_of(show: ScreenshotTenants, empty: ScreenshotTenants) -> Iterator[tuple[str, str]]:
    """Name and address of every page: those that are tested, further looks, then those of a tenant with nothing."""
    seen: dict[str, int] = {}
    for place in console_pages(show.ids):
        if place.name == "design":  # which is there in development only
            continue
        seen[place.name] = seen.get(place.name, 0) + 1
        number = seen[place.name]
        yield place.name if number == 1 else f"{place.name}-{number}", place.address
    for look in LOOKS:
        yield f"{look.page}-{look.name}", show.address(look)
    for name in PAGES:
        pattern = show.patterns.get(name)
        if pattern is not None and set(converters_of(pattern)) == {"tenant_id"} and "" in PAGES[name]:
            yield f"empty-{name}", empty.address(PageState(name, "empty"))


def take_screenshot(page: Page, path: Path) -> None:
    """Take the whole page in a window of its height, so that elements fixed to an edge cover nothing."""
    size = page.viewport_size
    assert size is not None
    height = min(TALLEST, page.evaluate("() => document.documentElement.scrollHeight"))
    page.set_viewport_size(ViewportSize(width=size["width"], height=max(height, size["height"])))
    page.wait_for_timeout(60)
    page.screenshot(path=path)
    page.set_viewport_size(size)


def signed_in(browser: Browser, show: ScreenshotTenants, user: User, width: str, theme: str) -> BrowserContext:
    wide, high = WIDTHS[width]
    context = browser.new_context(
        viewport=ViewportSize(width=wide, height=high),
        color_scheme="dark" if theme == "dark" else "light",
        locale="en-GB",
        base_url=show.url,
    )
    session = client_of(user).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": show.url}])
    context.set_default_timeout(20_000)
    return context


def screenshot_all_pages(
    browser: Browser,
    show: ScreenshotTenants,
    empty: ScreenshotTenants,
    people: tuple[User, User],
    chosen: argparse.Namespace,
) -> None:
    for width in WIDTHS:
        for theme in _THEMES:
            ending = f"{width}-{theme}.png"
            if chosen.as_ not in f"{width}-{theme}":
                continue
            context = signed_in(browser, show, people[0], width, theme)
            page = context.new_page()
            for name, address in pages_of(show, empty):
                if name.startswith(chosen.only):
                    page.goto(address, wait_until="load")
                    page.wait_for_function("() => !document.querySelector('.htmx-request')")
                    take_screenshot(page, _OUT / f"{name}-{ending}")
            other = signed_in(browser, show, people[1], "wide", "light")
            for name, act in STATES.items():
                if name.startswith(chosen.only):
                    act(PageStage(page, other, show.address, width == "narrow"))
                    page.screenshot(path=_OUT / f"{name}-{ending}")
            context.close()
            other.close()


def screenshot_docs_pages(browser: Browser, show: ScreenshotTenants, user: User) -> None:
    """The pictures of the documentation, as wide as its column, the part that matters only."""
    page = signed_in(browser, show, user, "wide", "light").new_page()
    for name, (find, height) in DOCS.items():
        page.set_viewport_size(ViewportSize(width=1280, height=height))
        find(page, f"/t/{show.tenant.pk}")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(600)  # the progress bar fades
        page.screenshot(path=DOCS_OUT / f"{name}.png")
    page.context.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default=f"http://127.0.0.1:{os.environ.get('PORT', '8000')}")
    arguments.add_argument("--only", default="", help="only what has a name that begins so")
    arguments.add_argument("--as", dest="as_", default="", help="only this of wide-light, wide-dark, narrow, ...")
    arguments.add_argument("--docs", action="store_true", help="the pictures of the documentation instead")
    chosen = arguments.parse_args()
    _OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, logged_in_as(CONSOLE):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        if chosen.docs:
            tenant = screenshot_tenant(DEMO_TENANT)
            assert tenant is not None, "the instance has no demo data"
            screenshot_docs_pages(
                browser, ScreenshotTenants(chosen.url, tenant), screenshot_user("maren", "admin", tenant)
            )
        else:
            tenant, empty = screenshot_tenant(_TENANT) or load_demo_tenant(_TENANT), empty_tenant()
            people = (screenshot_user("ada", "admin", tenant, empty), screenshot_user("ida", "operator", tenant, empty))
            show = ScreenshotTenants(chosen.url, tenant, console_page_ids(tenant, "ida") | further_ids_of(tenant))
            screenshot_all_pages(
                browser, show, ScreenshotTenants(chosen.url, empty, {"tenant_id": empty.pk}), people, chosen
            )
        browser.close()


if __name__ == "__main__":
    main()
