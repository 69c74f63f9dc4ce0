"""README and CONTRIBUTING name only files that exist."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[4]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "adr/README.md", "docs/console.md"]


def text_of(document: str) -> str:
    return (PROJECT / document).read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_to_a_file_leads_to_it(document):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of(document))
    missing = [link for link in links if not (PROJECT / document).parent.joinpath(link).exists()]
    assert links
    assert not missing


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_every_file_it_names_exists(document):
    """A path in backquotes that begins with a folder of the project."""
    paths = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text_of(document))
    folders = {path.name for path in PROJECT.iterdir() if path.is_dir()} - {"var", ".venv"}
    missing = [path for path in paths if path.split("/")[0] in folders and not (PROJECT / path).exists()]
    assert paths
    assert not missing


def test_a_command_repeats_each_table_of_reliability() -> None:
    """Named since the last heading or table; the table of clocks has rules and no figures."""
    without, has_command = [], False
    lines = text_of("docs/reliability.md").splitlines()
    for before, line in pairwise(lines):
        if line.startswith("#"):
            has_command = False
        has_command |= re.search(r"`(make|pytest|python -m) |`[^`]*test_\w+\.py`", f"{before}\n{line}") is not None
        if line.startswith("|") and not before.startswith("|"):
            without += [] if has_command else [line]
        if before.startswith("|") and not line.startswith("|"):
            has_command = False
    assert without == []


def test_every_row_of_a_table_has_as_many_cells_as_its_head():
    """Wrapping the lines of a document once joined the rows of tables."""
    documents = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("adr/*.md")]
    torn = [each for document in documents for each in torn_rows(document.read_text(encoding="utf-8"))]
    assert len(documents) > 150
    assert not torn


def torn_rows(text: str) -> list[str]:
    torn, cells = [], 0
    for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines():
        here = len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) if line.startswith("|") else 0
        if here and cells and here != cells:
            torn.append(line)
        cells = here
    return torn
