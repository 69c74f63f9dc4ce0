"""The API's docs page in a real browser, under the strict Content-Security-Policy."""

from collections import Counter
from typing import Any

from playwright.sync_api import Browser, Page, expect

METHODS = {"get", "post", "put", "patch", "delete"}


def test_docs_page_renders_every_endpoint_without_errors(live_server: object, page: Page) -> None:
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{live_server}/api/docs/")
    document = page.request.get(f"{live_server}/api/schema/?format=json").json()
    expect(page.locator(".opblock-tag")).to_have_count(len(document["tags"]), timeout=30_000)
    operations = [path[method] for path in document["paths"].values() for method in METHODS & set(path)]
    counts = Counter(tag for operation in operations for tag in operation["tags"])
    for tag in document["tags"]:
        group = page.locator(f'.opblock-tag[data-tag="{tag["name"]}"]')
        group.click()
        expect(page.locator(".opblock")).to_have_count(counts[tag["name"]])
        group.click()
    page.locator('.opblock-tag[data-tag="memories"]').click()
    operation = page.locator("#operations-memories-memories_create")
    operation.locator(".opblock-summary-control").click()
    expect(operation).to_contain_text("Alex prefers meetings before noon.")
    expect(operation.locator(".responses-table")).to_contain_text("application/problem+json")
    assert faults == []
    expect(page.get_by_role("link", name="Back to console")).to_have_attribute("href", "/")


def test_docs_page_without_javascript_leads_to_the_document(live_server: Any, browser: Browser) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{live_server}/api/docs/")
    expect(page.get_by_role("link", name="/api/schema/")).to_be_visible()
    page.close()


def test_docs_page_finds_operations_by_words_of_their_path_method_or_summary(live_server: Any, page: Page) -> None:
    page.goto(f"{live_server}/api/docs/")
    box = page.get_by_label("Filter operations")
    box.fill("Post EXPLAIN")
    rows = page.locator(".opblock")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("/context/explain")
    box.fill("no such operation")
    expect(rows).to_have_count(0)
    box.fill("")
    expect(page.locator('.opblock-tag[data-is-open="true"]')).to_have_count(0)
    expect(page.locator(".opblock-tag").nth(1)).to_be_visible()


def test_filter_of_docs_page_adds_no_history_and_closes_only_groups_that_it_opened(
    live_server: Any, page: Page
) -> None:
    page.goto(f"{live_server}/api/docs/")
    by_hand = page.locator('.opblock-tag[data-tag="memories"]')
    by_hand.click()
    state = "({ url: location.href, entries: history.length })"
    before = page.evaluate(state)
    box = page.get_by_label("Filter operations")
    for letter in "me":
        box.press_sequentially(letter)
        expect(page.locator('.opblock-tag[data-is-open="false"]')).to_have_count(0)
    expect(page.locator('.opblock-tag[data-is-open="true"]').nth(2)).to_be_visible()
    box.fill("")
    expect(page.locator('.opblock-tag[data-is-open="true"]')).to_have_count(1)
    expect(by_hand).to_have_attribute("data-is-open", "true")
    assert page.evaluate(state) == before
    page.locator('.opblock-tag[data-tag="keys"]').click()
    assert page.evaluate(state)["entries"] == before["entries"] + 1, "a group opened by hand adds no entry"
