"""The API's docs page in a real browser, under the strict Content-Security-Policy."""

from typing import Any

from playwright.sync_api import Browser, Page, expect

METHODS = {"get", "post", "put", "patch", "delete"}


def test_docs_page_renders_every_endpoint_without_errors(live_server: object, page: Page) -> None:
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{live_server}/api/docs/")
    operation = page.locator("#operations-memories-memories_create")
    expect(operation).to_be_visible(timeout=30_000)
    paths = page.request.get(f"{live_server}/api/schema/?format=json").json()["paths"]
    expect(page.locator(".opblock")).to_have_count(sum(len(METHODS & set(path)) for path in paths.values()))
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
