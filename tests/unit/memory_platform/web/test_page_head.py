"""The buttons of a page share a row with its lead; without a lead, they would have a row to themselves."""

import re
from collections.abc import Iterator, Mapping

from tests.architecture import ROOT

BUTTONS = re.compile(r"{% block actions %}(?!{% endblock)")
LEAD = re.compile(r"{% block lead %}(?!{% endblock)")


def pages_without_a_lead(sources: Mapping[str, str]) -> Iterator[str]:
    return (name for name, text in sources.items() if BUTTONS.search(text) and not LEAD.search(text))


def test_every_page_with_buttons_has_a_lead() -> None:
    sources = {path.name: path.read_text() for path in (ROOT / "templates").rglob("*.html") if path.name != "base.html"}
    assert sum(bool(BUTTONS.search(text)) for text in sources.values()) > 10
    assert list(pages_without_a_lead(sources)) == []


def test_a_page_with_buttons_alone_is_reported() -> None:
    button = '{% block actions %}<a class="btn">Add</a>{% endblock %}'
    both = button + '{% block lead %}<p class="lead">A.</p>{% endblock %}'
    assert list(pages_without_a_lead({"alone.html": button, "bare.html": "", "both.html": both})) == ["alone.html"]
