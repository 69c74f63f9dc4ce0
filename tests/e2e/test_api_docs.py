"""The API's docs page in a real browser, under the strict Content-Security-Policy."""

from playwright.sync_api import Page, expect


def test_docs_page_renders_every_endpoint_without_errors(live_server: object, page: Page) -> None:
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{live_server}/api/docs/")
    operation = page.locator("#operations-memories-memories_create")
    expect(operation).to_be_visible(timeout=30_000)
    expect(page.locator(".opblock")).to_have_count(12)
    operation.locator(".opblock-summary-control").click()
    expect(operation).to_contain_text("Alex prefers meetings before noon.")
    expect(operation.locator(".responses-table")).to_contain_text("application/problem+json")
    assert faults == []
