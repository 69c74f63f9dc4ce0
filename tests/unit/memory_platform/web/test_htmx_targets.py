"""Every element that an htmx attribute names by its id exists; otherwise, htmx fails with a script error."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import ROOT

IDS = re.compile(r'\bid="([\w-]+)"')
ATTRIBUTES = re.compile(r'\b(?:hx-(?:target|include|select|indicator|sync|trigger)|target|sync)="([^"]*)"')
NAMED = re.compile(r"#([\w-]+)")


def templates() -> dict[Path, str]:
    return {path: path.read_text() for path in sorted((ROOT / "templates").rglob("*.html"))}


def missing_ids(sources: dict[Path, str]) -> Iterator[str]:
    known = {name for text in sources.values() for name in IDS.findall(text)}
    for path, text in sources.items():
        for value in ATTRIBUTES.findall(text):
            yield from (f"{path.name}: #{name}" for name in NAMED.findall(value) if name not in known)


def test_every_id_that_htmx_names_is_on_a_page() -> None:
    sources = templates()
    assert sum(len(ATTRIBUTES.findall(text)) for text in sources.values()) > 50
    assert list(missing_ids(sources)) == []


@pytest.mark.parametrize(
    "attribute", ['hx-target="#gone"', 'hx-sync="#gone:abort"', 'sync="#gone"', 'hx-include="#gone"']
)
def test_an_id_that_no_page_has_is_found(attribute: str) -> None:
    assert list(missing_ids({Path("page.html"): f'<p id="here" {attribute}>'})) == ["page.html: #gone"]
