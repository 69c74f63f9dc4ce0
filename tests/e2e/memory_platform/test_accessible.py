"""Every page in Chromium, opened once: axe-core wide and light, then narrow and dark, and checks of the layout."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from memories.models import Tenant
from tests.console_pages import ConsolePage, console_pages, show_design_page
from tests.demo_fixture import console_page_ids
from tests.e2e.conftest import EXPECTED
from tests.e2e.console import NARROW, WIDE
from tests.e2e.text_layout import covered_or_cut
from tests.integration.page_helpers import client_of
from tests.users import new_operator, new_shared_tenant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

AXE = (Path(__file__).parents[1] / "vendor" / "axe" / "axe.min.js").read_text()
GRAVE = {"serious", "critical"}
SHIFT_MAX = 0.05

# axe-core would measure colours in the middle of a transition. The content policy allows a constructed style sheet.
STILL = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*, *::before, *::after { transition: none !important; animation: none !important; }');
  document.adoptedStyleSheets = [sheet];
}"""
# The impact of a rule is fixed, so rules that are neither serious nor critical need not run.
# Most of the time of axe-core is spent on contrast, which depends on a few styles of a text and of its background. Of
# texts with the same styles, such as those in the rows of a table, three are checked.
FIND = """async () => {
  const ofText = ['color', 'fontSize', 'fontWeight', 'textShadow', 'webkitTextStrokeWidth', 'webkitTextStrokeColor'];
  const behind = ['backgroundColor', 'backgroundImage', 'opacity', 'filter', 'mixBlendMode'];
  const read = (node, names, style = getComputedStyle(node)) => names.map((name) => style[name]).join();
  const plain = 'rgba(0, 0, 0, 0),none,1,none,normal', backgrounds = new Map([[null, '']]), counts = new Map();
  const backgroundsOf = (node) => {
    if (!backgrounds.has(node)) {
      const own = read(node, behind);
      backgrounds.set(node, backgroundsOf(node.parentElement) + (own === plain ? '' : `${own};`));
    }
    return backgrounds.get(node);
  };
  const contrast = axe._audit.rules.find((rule) => rule.id === 'color-contrast');
  contrast.applies ??= contrast.matches;
  contrast.matches = (node, ...rest) => {
    const look = `${read(node, ofText)};${backgroundsOf(node)}`, before = counts.get(look) ?? 0;
    if (before === 3 || !contrast.applies(node, ...rest)) return false;
    counts.set(look, before + 1);
    return true;
  };
  const slight = axe._audit.rules.filter((rule) => !['serious', 'critical'].includes(rule.impact));
  const options = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], resultTypes: ['violations'],
                    rules: Object.fromEntries(slight.map((rule) => [rule.id, { enabled: false }])),
                    iframes: false, preload: false };
  const found = await axe.run(document, options);
  return found.violations.map((rule) => ({
    impact: rule.impact, id: rule.id, nodes: rule.nodes.map((node) => node.target.join(' ') + ': ' + node.html),
  }));
}"""
# The sum of Chromium's layout shifts since the page was opened.
SHIFTS = """() => new Promise((resolve) => {
  let sum = 0;
  const moved = [];
  const add = (list) => list.getEntries().forEach((entry) => {
    if (entry.hadRecentInput) return;
    sum += entry.value;
    entry.sources.forEach(({ node }) => moved.push(node ? `${node.nodeName} ${node.className || ''}` : '?'));
  });
  new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve([sum, moved.slice(0, 5)]), 30);
})"""
HEADINGS = "() => document.querySelectorAll('h1').length"
OVER_THE_EDGE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return null;
  const wide = [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > width + 1);
  return wide.slice(-3).map((one) => one.outerHTML.slice(0, 160)).join(' | ');
}"""


@pytest.fixture
def opened(browser: Any, live_server: Any, demo_tenant: Tenant) -> Iterator[Page]:
    """A page of a signed-in admin of two tenants."""
    context = browser.new_context(viewport=WIDE, base_url=live_server.url)
    ada = new_operator("ada", "admin", demo_tenant, new_shared_tenant("Globex"))
    session = client_of(ada).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    context.add_init_script(AXE)  # Chromium compiles it once, and not again for each page as for `evaluate`
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


def faults_of(page: Page, place: ConsolePage, *, by_choice: bool) -> Iterator[str]:
    """Return the faults of a page. The dark theme is that of the system or, with `by_choice`, the operator's."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    page.goto(place.address)
    page.wait_for_function("() => !document.querySelector('.htmx-request, .result-loader')")
    shift, moved = page.evaluate(SHIFTS)
    # The design page, which exists only in development, has charts in both themes and once moved on a busy machine.
    if shift > SHIFT_MAX and place.name != "design":
        yield f"moves by {shift:.3f} while it loads: {', '.join(moved)}"
    if (headings := page.evaluate(HEADINGS)) != 1:
        yield f"has {headings} headings of level 1"
    if over := page.evaluate(OVER_THE_EDGE):
        yield f"is wider than {WIDE['width']} px: {over}"
    yield from (f"wide: {fault}" for fault in covered_or_cut(page))
    page.evaluate(STILL)
    yield from (f"wide, light: {fault}" for fault in grave(page.evaluate(FIND)))
    page.set_viewport_size(NARROW)
    if by_choice:
        page.evaluate("() => document.documentElement.setAttribute('data-bs-theme', 'dark')")
    else:
        page.emulate_media(color_scheme="dark")
    if over := page.evaluate(OVER_THE_EDGE):
        yield f"is wider than {NARROW['width']} px: {over}"
    yield from (f"narrow: {fault}" for fault in covered_or_cut(page))
    yield from (f"narrow, dark: {fault}" for fault in grave(page.evaluate(FIND)))


def grave(found: list[dict[str, Any]]) -> Iterator[str]:
    """Return a line for each serious or critical violation."""
    for rule in found:
        if rule["impact"] in GRAVE:
            nodes = rule["nodes"]
            yield f"{rule['impact']} {rule['id']}, {len(nodes)} times: {'; '.join(node[:240] for node in nodes[:3])}"


def test_every_page_is_accessible_and_keeps_its_layout(opened: Page, demo_tenant: Tenant, settings: Any) -> None:
    faults: list[str] = []
    here = ""

    def complained(text: str) -> None:
        if not EXPECTED.search(text):
            faults.append(f"{here}: {text}")

    opened.on("console", lambda message: complained(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complained(str(error)))
    for number, place in enumerate(console_pages(console_page_ids(demo_tenant, "ada"))):
        if os.environ.get("ONLY", "") not in place.name:
            continue
        here = place.name if "?" not in place.address else f"{place.name}?{place.address.partition('?')[2]}"
        show_design_page(settings, place)
        faults += [f"{here}: {fault}" for fault in faults_of(opened, place, by_choice=number % 2 == 1)]
    assert not faults, "\n" + "\n".join(faults)
