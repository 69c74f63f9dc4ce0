"""Where texts state facts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.retention.check import (
    MARKED_PLACES_MAX,
    READ_CHARACTERS_MAX,
    MarkedTextPiece,
    RetainedFact,
    extract_facts,
    mark_facts,
)
from compaction.services.sessions.turns import SessionTurn

STATED = "Ida Brodersen paid 120 EUR on 3 March 2026 for FR-2210, see https://fennrad.example/o/7."


def facts_in(text: str) -> list[RetainedFact]:
    return extract_facts([SessionTurn("m1", "user", text, 1)])


def marked(text: str, facts: list[RetainedFact]) -> dict[str, str]:
    """Return the marked passages, each with its fact."""
    return {piece.text: facts[piece.fact].text for piece in mark_facts(text, facts) if piece.fact is not None}


def test_every_fact_of_a_message_is_marked_at_its_position() -> None:
    facts = facts_in(STATED)
    assert {"120 EUR", "3 March 2026", "FR-2210"} <= set(marked(STATED, facts))
    assert set(marked(STATED, facts).values()) == {fact.text for fact in facts}


def test_fact_written_another_way_is_marked_as_it_is_written_there() -> None:
    facts = facts_in("She paid 1200 EUR for it on 3 March 2026.")
    assert marked("Then €1,200 were paid on 2026-03-03.", facts) == {
        "€1,200": "1200 EUR",
        "2026-03-03": "3 March 2026",
    }


def test_text_without_any_of_the_facts_is_one_piece() -> None:
    facts = facts_in(STATED)
    assert mark_facts("Nothing of that.", facts) == [MarkedTextPiece("Nothing of that.")]
    assert mark_facts("Nothing of that.", []) == [MarkedTextPiece("Nothing of that.")]
    assert mark_facts("", facts) == []


def test_part_of_a_longer_word_is_not_marked() -> None:
    facts = [RetainedFact("identifier", "FR-22", "fr-22", ("m1",))]
    assert mark_facts("See FR-2210 and XFR-22.", facts) == [MarkedTextPiece("See FR-2210 and XFR-22.")]


def test_long_log_is_searched_for_facts_as_written_and_not_without_end() -> None:
    facts = [RetainedFact("identifier", "FR-2210", "fr-2210", ("m1",))]
    log = "frame FR-2210 ok\n" * (READ_CHARACTERS_MAX // 10)
    assert sum(piece.fact is not None for piece in mark_facts(log, facts)) == MARKED_PLACES_MAX


@pytest.mark.parametrize("text", [STATED, f"{STATED} {STATED}", "Q4: Q4 — Q4"])
def test_pieces_give_the_text_back(text: str) -> None:
    assert "".join(piece.text for piece in mark_facts(text, facts_in(STATED))) == text


@given(
    st.text(alphabet="Ida 120EUR-/.:\n", max_size=80), st.lists(st.text("Ida 120-", min_size=1, max_size=6), max_size=4)
)
def test_pieces_give_any_text_back(text: str, words: list[str]) -> None:
    facts = [RetainedFact("quoted", word, word, ("m1",)) for word in words]
    pieces = mark_facts(text, facts)
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)
