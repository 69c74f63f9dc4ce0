"""The title of a session, and the minimap of all its messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.sessions.titles import SESSION_TITLE_CHARACTERS_MAX, session_title
from compaction.sessions.minimap import PIECES_MAX, Outline, Span, minimap

ID = "fbb73cc6-ad1a-4690-b078-dcba0720cd11"


@pytest.mark.parametrize(
    ("metadata", "message_text", "title"),
    [
        ({"title": "Swap in Kiel", "name": "x"}, "Hello.", "Swap in Kiel"),
        ({"title": "  ", "name": "Case K-7741"}, "Hello.", "Case K-7741"),
        ({"title": 7}, "  Hello,\n  it is me. ", "Hello, it is me."),
        ({}, "", "Session fbb73cc6"),
    ],
)
def test_title_is_the_first_of_name_words_and_id(metadata: dict[str, object], message_text: str, title: str) -> None:
    assert session_title(metadata, message_text, ID) == title


def test_long_title_is_cut_at_a_word() -> None:
    title = session_title({}, "Good evening, this is Greta Brodersen from Flensburg. My Otter 3 shows a fault", ID)
    assert title == "Good evening, this is Greta Brodersen from Flensburg. My Otter 3…"


@given(st.text(min_size=1))
def test_title_is_never_empty_and_never_long(message_text: str) -> None:
    assert 0 < len(session_title({}, message_text, ID)) <= SESSION_TITLE_CHARACTERS_MAX


def outlines_of(*tokens: int) -> list[Outline]:
    return [Outline(place, ("user", "assistant")[place % 2], "live", count) for place, count in enumerate(tokens)]


def test_messages_are_as_wide_as_their_tokens() -> None:
    strip = minimap(outlines_of(10, 30, 60), [], window_from=1, shown=None)
    assert [(piece.x, piece.width) for piece in strip.pieces] == [(0, 10), (10, 30), (40, 60)]
    assert (strip.window_x, strip.tokens, strip.shown) == (10, 100, None)


def test_bands_and_the_current_page_are_drawn_at_the_positions_of_their_messages() -> None:
    spans = [Span("one", 1, 0, 1), Span("two", 2, 2, 2)]
    strip = minimap(outlines_of(25, 25, 25, 25), spans, window_from=3, shown=(1, 2))
    assert [(band.x, band.width) for band in strip.bands] == [(0, 50), (50, 25)]
    assert strip.shown == (25, 50)


def test_long_session_is_drawn_in_few_pieces_that_cover_every_message() -> None:
    outlines = outlines_of(*(1 + place % 50 for place in range(5_000)))
    strip = minimap(outlines, [], window_from=None, shown=None)
    assert len(strip.pieces) <= PIECES_MAX
    assert sum(piece.tokens for piece in strip.pieces) == strip.tokens
    assert [piece.first for piece in strip.pieces[1:]] == [piece.last + 1 for piece in strip.pieces[:-1]]


def test_session_without_messages_has_an_empty_strip() -> None:
    strip = minimap([], [], window_from=0, shown=None)
    assert (strip.pieces, strip.tokens, strip.window_x) == ([], 0, None)
