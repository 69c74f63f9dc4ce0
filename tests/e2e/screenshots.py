"""Every page of a running instance in both themes and both widths, as PNGs to look at.

make run                       # in one terminal
make screenshots               # in another: writes var/screenshots/*.png
"""

import argparse
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS = {"wide": (1280, 900), "narrow": (390, 844)}
THEMES = ("light", "dark")
QUESTION = "A customer sees ERR_4012 on the display. What do we tell them, and what does it cost?"


def pages(page: Page, base: str, tenant: str) -> Iterator[tuple[str, str]]:
    """Name and address of every page worth a look, empty and failing states among them."""
    yield "overview", f"{base}/"
    yield "tenant", tenant
    yield "tenant-90-days", f"{tenant}?range=90d"
    yield "memories", f"{tenant}/memories"
    yield "memories-search", f"{tenant}/memories?q=battery+warranty+invoice"
    yield "memories-nothing", f"{tenant}/memories?partition=agent%3Dnobody"
    yield "memories-archived", f"{tenant}/memories?state=archived"
    yield "memories-invalid", f"{tenant}/memories?partition=nonsense"
    for act in ("archive", "kind"):
        yield f"memories-act-{act}", f"{tenant}/memories/act?act={act}&scope=page&back=partition%3Dagent%253Dsupport"
    yield "search", f"{tenant}/search?q=support"
    yield "search-nothing", f"{tenant}/search?q=zeppelin"
    page.goto(f"{tenant}/memories?q=return+policy")
    memory = page.locator("a.memory-link").first.get_attribute("href") or ""
    yield "memory", memory
    yield "memory-merge", f"{memory}/merge"
    page.goto(f"{tenant}/memories?q=ERR_4012+torque+sensor+zero+point")
    yield "memory-links", page.locator("a.memory-link").first.get_attribute("href") or ""
    yield "preview-empty", f"{tenant}/context"
    yield "preview", f"{tenant}/context?query={QUESTION}&partition=agent%3Dsupport&max_tokens=600"
    yield "preview-nothing-fits", f"{tenant}/context?query={QUESTION}&max_tokens=20"
    yield "preview-xml", f"{tenant}/context?query=&partition=agent%3Dcoder&max_tokens=400&style=xml&ordering=u_curve"
    yield "preview-invalid", f"{tenant}/context?query=x&max_tokens=0"
    run = f"query={QUESTION}&partition=agent%3Dsupport&max_tokens=400"
    yield "preview-elastic", f"{tenant}/context?{run}&packer=elastic&before={quote(run)}"
    yield "preview-window", f"{tenant}/context?{run}&packer=optimal&model=gpt-4&directive=3000&against=nothing"
    yield "preview-focus", f"{tenant}/context?query={QUESTION}&focus_memory=torque+sensor"
    page.goto(f"{tenant}/context?{run}")
    yield "preview-entry", page.locator(".entry a").first.get_attribute("href") or ""
    yield "preview-optimal", f"{tenant}/context?{run}&packer=optimal&as_of=2026-06-01T00:00"
    yield "budgets", f"{tenant}/budgets"
    draft = "default_tokens=700&overfetch_ratio=2&minimum_score=0.4&packer=greedy&ordering=u_curve"
    yield (
        "budgets-draft",
        f"{tenant}/budgets?{draft}&include_memories_top_k=5&query={QUESTION}&partition=agent%3Dsupport",
    )
    yield "budgets-invalid", f"{tenant}/budgets?{draft}&include_memories_top_k=0"
    yield "budgets-compare", f"{tenant}/budgets/compare?left=default+0&right=default+0"
    yield "budgets-assignments", f"{tenant}/budgets/assignments"
    yield "scoring", f"{tenant}/scoring"
    yield "scoring-shipped", f"{tenant}/scoring/profiles/conversation-recall"
    yield "scoring-compare", f"{tenant}/scoring/compare?left=adr-0040+1&right=conversation-recall+1"
    yield "scoring-assignments", f"{tenant}/scoring/assignments"
    yield from compared_pages(tenant)
    yield from measured_pages(page, tenant)
    yield "memo", f"{tenant}/memo"
    yield "partitions", f"{tenant}/partitions"
    yield "partitions-found", f"{tenant}/partitions?q=user"
    yield "partitions-none", f"{tenant}/partitions?q=zeppelin"
    yield "partition", f"{tenant}/partitions?partition=agent%3Dsupport"
    yield "partition-root", f"{tenant}/partitions?partition="
    yield "embeddings", f"{tenant}/embeddings"
    yield "snapshots", f"{tenant}/snapshots"
    page.goto(f"{tenant}/snapshots")
    if page.locator("th a").count():
        shown, deletion = (page.locator(f"{cell} a").first.get_attribute("href") or "" for cell in ("th", "td"))
        last = (page.locator("th a").last.get_attribute("href") or "").rpartition("/")[2]
        yield "snapshot", shown
        yield "snapshot-compare", f"{shown}?with={'today' if shown.endswith(last) else last}"
        yield "snapshot-delete", deletion
    page.goto(f"{tenant}/contexts")
    yield "contexts", page.url
    if page.locator("a.memory-link").count():
        given = page.locator("a.memory-link").first.get_attribute("href") or ""
        yield "context", given
        yield "context-today", f"{given}?with=today"
    yield from session_pages(page, tenant)
    yield "api-keys", f"{tenant}/keys"
    yield "audit-log", f"{tenant}/audit"
    yield "audit-log-nothing", f"{tenant}/audit?actor=nobody"
    yield "settings", f"{tenant}/settings"
    yield "parts", f"{base}/parts"
    yield "not-found", f"{base}/t/00000000-0000-0000-0000-000000000000"


def compared_pages(tenant: str) -> Iterator[tuple[str, str]]:
    """The same of two profiles side by side, a draft, its gate, and what asks first."""
    asked = f"query={QUESTION}&partition=agent%3Dsupport&max_tokens=600"
    yield "compare-empty", f"{tenant}/context/compare"
    yield "compare", f"{tenant}/context/compare?{asked}&left=adr-0040&right=support-recall"
    yield "compare-invalid", f"{tenant}/context/compare?{asked}&left=nobody"
    yield "scoring-draft", f"{tenant}/scoring/profiles/support-recall"
    yield "scoring-effect", f"{tenant}/scoring/profiles/support-recall/effect?version=1"
    yield "scoring-publish", f"{tenant}/scoring/profiles/support-recall/2/publish"
    yield "scoring-publish-missing", f"{tenant}/scoring/profiles/support-recall/1/publish"
    yield "budgets-workshop", f"{tenant}/budgets/profiles/workshop"
    yield "budgets-roll-back", f"{tenant}/budgets/profiles/workshop/1/roll-back"
    yield "budgets-effect", f"{tenant}/budgets/profiles/workshop/effect?default_tokens=400"


def measured_pages(page: Page, tenant: str) -> Iterator[tuple[str, str]]:
    """The same of the pages that measure, and of what may be wrong with what is stored."""
    recall = f"query={QUESTION}&partition=agent%3Dsupport&max_tokens=600&profile=conversation-recall"
    yield "preview-recall", f"{tenant}/context?{recall}"
    yield "curve-empty", f"{tenant}/context/curve"
    yield "curve", f"{tenant}/context/curve?{recall}"
    yield "golden-questions", f"{tenant}/golden-questions"
    yield "golden-new", f"{tenant}/golden-questions/new?text={QUESTION}&partition=agent%3Dsupport"
    page.goto(f"{tenant}/golden-questions")
    if page.locator("a.memory-link").count():
        yield "golden-question", page.locator("a.memory-link").first.get_attribute("href") or ""
    yield "evaluations", f"{tenant}/evaluations"
    page.goto(f"{tenant}/evaluations")
    if page.locator("a.memory-link").count():
        runs = [link.get_attribute("href") or "" for link in page.locator("a.memory-link").all()]
        yield "evaluation", runs[0]
        if len(runs) > 1:
            yield "evaluation-compare", f"{runs[0]}?with={runs[1].rpartition('/')[2]}"
    yield "hygiene", f"{tenant}/hygiene"
    yield "hygiene-contradictions", f"{tenant}/hygiene/contradiction"
    yield "hygiene-never-retrieved", f"{tenant}/hygiene/never_retrieved"


def session_pages(page: Page, tenant: str) -> Iterator[tuple[str, str]]:
    """The same of the pages about sessions."""
    yield "sessions", f"{tenant}/sessions"
    yield "sessions-nothing", f"{tenant}/sessions?least=200"
    page.goto(f"{tenant}/sessions?sort=-messages")
    links = [link.get_attribute("href") or "" for link in page.locator("a.memory-link").all()]
    for number, link in enumerate(links[:3], start=1):
        yield f"session-{number}", link
    yield "session-search", f"{links[0]}?q=sensor"
    yield "session-compact", f"{links[1]}/compact"
    yield "session-simulate", f"{links[0]}/simulate?window=1200&target=40"
    yield "session-simulate-invalid", f"{links[0]}/simulate?window=1"
    yield "reviews", f"{tenant}/compactions"
    page.goto(f"{tenant}/compactions")
    links = [link.get_attribute("href") or "" for link in page.locator("a.memory-link").all()]
    for number, link in enumerate(links[:3], start=1):
        yield f"review-{number}", link
    yield "jobs", f"{tenant}/jobs"
    yield "jobs-nothing", f"{tenant}/jobs?kind=evaluation&state=failed"
    yield "prompts", f"{tenant}/prompts"


def acts(page: Page, tenant: str, shoot: Callable[[str], None]) -> None:
    """What shows only after a click; nothing stays changed."""
    page.goto(f"{tenant}/memories?q=torque+sensor+swap", wait_until="networkidle")
    page.locator("a.memory-link").first.click()
    page.locator("#edit summary").click()
    page.fill("#id_kind", "Not A Word")
    page.locator("#edit button:has-text('Save')").click()
    page.locator(".errorlist").first.wait_for()
    shoot("memory-refused")
    page.goto(page.url)
    page.locator("button:has-text('Archive')").click()
    page.locator(".flash").first.wait_for()
    shoot("memory-archived")
    page.locator(".flash button:has-text('Undo')").click()
    page.locator(".flash:has-text('Restored')").wait_for()
    page.goto(f"{tenant}/context?query={QUESTION}&partition=agent%3Dsupport&max_tokens=300", wait_until="networkidle")
    page.locator(".block:has(.score-table) summary").first.click()
    page.locator(".entry a").first.click()
    page.locator(".entry strong").first.wait_for()
    shoot("preview-score-table")
    menu = page.locator("button[popovertarget=nav]").first
    if menu.is_visible():
        menu.click()
        page.screenshot(path=OUT / "menu-narrow.png")


def sign_in(browser: Browser, base: str, login: Path, width: str, theme: str) -> Page:
    name, password = (line.partition(": ")[2].strip() for line in login.read_text().splitlines()[:2])
    size = WIDTHS[width]
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if theme == "dark" else "light",
        locale="en-GB",
    )
    page = context.new_page()
    page.goto(f"{base}/sign-in")
    page.screenshot(path=OUT / f"sign-in-{width}-{theme}.png", full_page=True)
    page.fill("#id_username", name)
    page.fill("#id_password", password)
    page.click("button:has-text('Sign in')")
    return page


def tenant_address(page: Page, base: str, name: str) -> str:
    page.goto(f"{base}/")
    if "/t/" in page.url:
        return page.url
    return base + (page.locator(f"th a:has-text('{name}')").first.get_attribute("href") or "")


def _shoot(page: Page, suffix: str, name: str) -> None:
    page.screenshot(path=OUT / f"{name}-{suffix}.png", full_page=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--url", default=f"http://127.0.0.1:{os.environ.get('PORT', '8000')}")
    data_dir = Path(os.environ.get("DATA_DIR", "var"))
    arguments.add_argument("--login", type=Path, default=data_dir / "secrets" / "first-login.txt")
    arguments.add_argument("--tenant", default="Fennrad", help="name of the tenant to show")
    arguments.add_argument("--only", default="", help="only pages whose name begins so")
    chosen = arguments.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width in WIDTHS:
            for theme in THEMES:
                page = sign_in(browser, chosen.url, chosen.login, width, theme)
                tenant = tenant_address(page, chosen.url, chosen.tenant)
                for name, address in pages(page, chosen.url, tenant):
                    if name.startswith(chosen.only):
                        page.goto(
                            address if address.startswith("http") else chosen.url + address, wait_until="networkidle"
                        )
                        page.screenshot(path=OUT / f"{name}-{width}-{theme}.png", full_page=True)
                if not chosen.only:
                    acts(page, tenant, partial(_shoot, page, f"{width}-{theme}"))
                page.context.close()
        browser.close()


OUT = Path("var/screenshots")

if __name__ == "__main__":
    main()
