"""The assets of pages exist, match static/vendor/README.md, and have a licence."""

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
VENDOR = ROOT / "static" / "vendor"
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| (?P<package>\S+) \| (?P<version>[\d.]+) \| .*`(?P<sha>[0-9a-f]{64})` \|$", re.M
)


def _rows() -> list[re.Match[str]]:
    return list(ROW.finditer((VENDOR / "README.md").read_text()))


def _templates() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "templates").rglob("*.html")))


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["file"])
def test_vendored_file_has_the_listed_hash_and_a_licence(row: re.Match[str]) -> None:
    file = VENDOR / row["file"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == row["sha"]
    assert (file.parent / "LICENSE").is_file()


def test_every_vendored_file_is_listed() -> None:
    here = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    listed = {row["file"] for row in _rows()}
    assert {name for name in here if not name.endswith(("LICENSE", "README.md"))} == listed


def test_every_icon_that_a_template_names_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (VENDOR / "icons" / "icons.svg").read_text()))
    named = set(re.findall(r'\{% icon "([^"]+)"|icon_name="([^"]+)"', _templates()))
    names = {first or second for first, second in named}
    assert len(names) > 10
    assert names - sprite == set()


def test_every_asset_that_a_template_names_is_here() -> None:
    assets = set(re.findall(r'\{% static "([^"]+)" %\}', _templates()))
    assert [name for name in assets if not (ROOT / "static" / name).is_file()] == []


def test_stylesheets_name_no_file_that_is_not_here() -> None:
    for sheet in (ROOT / "static").rglob("*.css"):
        named = re.findall(r"url\(\"?(?!\"?data:|\"?#)[^)]*\)|sourceMappingURL=\S+", sheet.read_text())
        assert named == [], sheet.name
