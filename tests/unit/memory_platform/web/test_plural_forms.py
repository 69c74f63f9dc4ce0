"""Counted nouns agree with their number: on pages, in errors and in what commands print."""

import re
from pathlib import Path

import pytest

from memory_platform.web.numerals import counted
from memory_platform.web.templatetags.figures import pluralized as counted_in_template

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = ["memory_platform", "memories", "context", "compaction"]
NOUNS = (
    "blocks|candidates|compactions|contexts|days|dimensions|facts|failures|jobs|keys|lines|links|memories|messages|pairs|"
    "partitions|parts|points|questions|receipts|rows|runs|sessions|snapshots|statements|summaries|targets|texts|tokens|"
    "turns|vectors|versions|votes|words"
)
# A number, perhaps closed by a tag, and a noun that stays plural; numbers of a page come through one of these filters.
IN_TEMPLATE = re.compile(rf"\{{\{{[^}}]*\|(?:number|length|intcomma)[^}}]*\}}\}}(?:</?\w+[^>]*>)* ?(?:{NOUNS})\b")
# Limits are constants above one, so they are in capitals; `.dimension` and the size of a vector are as well above one.
IN_PYTHON = re.compile(
    rf"\{{(?!(?:[A-Z_.]*[A-Z_]{{2,}}|\w+\.(?:days|default))\b)[\w.]*(?:\([^{{}}]*\))?(?::,)?\}} (?:live )?(?:{NOUNS})\b"
)
#: Numbers that are never 1: dimensions, budgets, minimums; text for programmers (`__str__`) and the audit log's key.
ALLOWED = (
    "embedder.dimension",
    "budget:,",
    "_plain_zero(value, 0)",
    "{needed} candidates",
    "self.rows",
)


def templates_with_a_bare_plural(text: str) -> list[str]:
    """Return every number in a template that is followed by a noun without a singular."""
    return [match[0] for match in IN_TEMPLATE.finditer(text)]


def literals_with_a_bare_plural(text: str) -> list[str]:
    """Return the same of Python source: f-strings with a number and a noun without a singular."""
    lines = text.splitlines()
    singular_is_handled = re.compile(r"if [\w.]+ [!=]= 1 else|_MAX|MAX_|_MIN|MIN_|\b[A-Z]{4,}\b")
    return [
        line.strip()
        for line in lines
        if 'f"' in line
        and IN_PYTHON.search(line)
        and not singular_is_handled.search(line)
        and not any(each in line for each in ALLOWED)
    ]


@pytest.mark.parametrize(("number", "words"), [(0, "0 memories"), (1, "1 memory"), (1200, "1,200 memories")])
def test_counted_noun_agrees_with_its_number(number: int, words: str) -> None:
    assert counted(number, "memory", "memories") == counted_in_template(number, "memory,memories") == words


def test_no_template_puts_a_bare_plural_after_a_number() -> None:
    found = {
        str(path.relative_to(ROOT)): plurals
        for path in (ROOT / "templates").rglob("*.html")
        if (plurals := templates_with_a_bare_plural(path.read_text()))
    }
    assert found == {}


def test_no_message_puts_a_bare_plural_after_a_number() -> None:
    found = {
        str(path.relative_to(ROOT)): plurals
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (plurals := literals_with_a_bare_plural(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    "planted",
    [
        "{{ rows|length }} memories",
        "{{ count|number }}</b> messages",
        "{{ n|number }}<small>tokens",
    ],
)
def test_planted_plural_in_a_template_is_found(planted: str) -> None:
    assert templates_with_a_bare_plural(planted) == [planted]


@pytest.mark.parametrize(
    "planted", ['f"{len(rows)} memories are live"', 'f"{count:,} texts wait"', 'f"{row.lost} turns"']
)
def test_planted_plural_in_a_message_is_found(planted: str) -> None:
    assert literals_with_a_bare_plural(planted) == [planted]


@pytest.mark.parametrize(
    "correct", ['{{ n|counted:"memory,memories" }}', "{{ n|number }} memor{{ n|pluralize:'y,ies' }}"]
)
def test_correct_form_in_a_template_is_not_reported(correct: str) -> None:
    assert templates_with_a_bare_plural(correct) == []
