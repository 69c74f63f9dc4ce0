"""Markup that Python builds for hundreds of rows: no value can break out of its place."""

from dataclasses import dataclass

from compaction.sessions.minimap import Piece
from compaction.sessions.templatetags.pressure import draw_minimap
from memory_platform.web.tables import target_links
from memory_platform.web.templatetags.figures import datalist_options, local_time

EVIL = '"><script>'
TAME = "&quot;&gt;&lt;script&gt;"


@dataclass(frozen=True)
class Target:
    id: str
    url: str
    short: str


def test_options_are_escaped() -> None:
    assert datalist_options(["user=a", EVIL]) == f'<option value="user=a"></option><option value="{TAME}"></option>'
    assert datalist_options([]) == ""


def test_ids_are_escaped_and_lead_where_a_page_shows_them() -> None:
    with_page, without = target_links([Target(EVIL, f"/t/{EVIL}", EVIL), Target(EVIL, "", "cut…")])
    assert with_page == f'<a class="mono nowrap" href="/t/{TAME}" title="{TAME}">{TAME}</a>'
    assert without == f'<span class="mono" title="{TAME}">cut…</span>'


def test_time_that_is_none_is_escaped() -> None:
    assert local_time(None, EVIL) == f'<span class="text-secondary">{TAME}</span>'


def test_pieces_of_a_strip_have_labels() -> None:
    masked = Piece(first=3, last=3, tokens=1, role="tool", state="masked", x=12.5, width=0.25)
    some = Piece(first=4, last=9, tokens=1200, role=EVIL, state="live", x=12.75, width=87.25)
    one, several = str(draw_minimap([masked, some], "/s")).split("</a>")[:2]
    assert '<a href="/s?at=3#m-3" tabindex="-1"><title>Message 3: tool, 1 token, masked</title>' in one
    assert '<rect class="minimap-tool minimap-masked" x="12.5%" width="0.25%" y="14" height="14"/>' in one
    assert f"Messages 4 to 9: {TAME}, 1,200 tokens</title>" in several
    assert 'y="4" height="24"/>' in several
    assert EVIL not in several
