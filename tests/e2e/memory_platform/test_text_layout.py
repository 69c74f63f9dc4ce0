"""The check of every page for covered or cut text finds such text, and accepts what is intended."""

import pytest
from playwright.sync_api import Page

from tests.e2e.text_layout import covered_or_cut

FAULTS = {
    '<table style="table-layout: fixed; width: 120px"><tr><td>12345678901234567890</td><td>next</td></tr></table>': (
        "is narrower than its text"
    ),
    '<div style="width: 60px; overflow: hidden"><button style="white-space: nowrap">Archive all</button></div>': (
        "is cut off"
    ),
    '<div style="height: 8px; overflow: hidden"><h2>Contexts</h2></div>': "is cut off",
    '<h2 style="margin: 0">Contexts by key</h2><button style="margin-top: -20px">Save view</button>': "covers",
}
INTENDED = [
    '<div style="width: 60px; overflow: auto"><button style="white-space: nowrap">Archive all</button></div>',
    '<h2 style="width: 60px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">A long heading</h2>',
    '<span style="position: absolute; width: 1px; height: 1px; overflow: hidden">Position</span><h2>Contexts</h2>',
    "<details><summary>More</summary>, budget<table><tr><td>text</td></tr></table></details><h2>Contexts</h2>",
    "<table><tr><td>text</td><td>next</td></tr></table>",
    '<p style="--lines: 1; width: 60px; max-height: 1lh; overflow: hidden">The first line of several</p>',
]


@pytest.mark.parametrize("html", FAULTS)
def test_covered_or_cut_text_is_found(page: Page, html: str) -> None:
    page.set_content(html)
    assert any(FAULTS[html] in fault for fault in covered_or_cut(page))


def test_intended_layouts_are_accepted(page: Page) -> None:
    for html in INTENDED:
        page.set_content(html)
        assert covered_or_cut(page) == [], html
