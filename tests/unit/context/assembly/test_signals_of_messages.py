"""Signals that read conversations: words, neighbours, person, statements; and the columns they read."""

import numpy as np
import pytest

from context.services.assembly.signals.adjacent_turns import neighbours
from context.services.assembly.signals.entity_match import person
from context.services.assembly.signals.informativeness import statements
from context.services.assembly.signals.lexical_overlap import words
from tests.unit.signal_rows import memory, pool, turn


def test_a_rare_word_tells_more_than_a_common_one():
    rows = [memory("a", lexemes=["lamp"]), *(memory("b", lexemes=["room"]) for _ in range(8)), memory("c")]
    found = words(pool(rows, lexemes=["lamp", "room"]))
    assert found[0] > 0.7 > 0.3 > found[1] > 0
    assert found[0] + found[1] == pytest.approx(1.0)
    assert found[-1] == 0.0


def test_a_memory_that_holds_all_words_has_them_in_full():
    rows = [memory("a", lexemes=["lamp", "room"]), memory("b")]
    assert words(pool(rows, lexemes=["lamp", "room"]))[0] == pytest.approx(1.0)


def test_words_of_the_messages_beside_count_too_the_less_the_further_off():
    rows = [turn(f"Ann: {number}", number) for number in range(1, 8)]
    rows[3]["holds"] = frozenset(["lamp"])
    assert words(pool(rows, lexemes=["lamp"])).tolist() == pytest.approx([0, 0.4, 0.6, 1, 0.8, 0.5, 0])


def test_other_sessions_and_other_partitions_are_not_beside():
    rows = [
        turn("Ann: a", 1, lexemes=["lamp"]),
        turn("Ann: b", 2, session="s2"),
        turn("Ann: c", 2, partition_path="conversation=other"),
        memory("d"),
    ]
    assert words(pool(rows, lexemes=["lamp"])).tolist() == pytest.approx([1, 0, 0, 0])


def test_the_name_of_a_speaker_tells_nothing_about_a_text():
    rows = [turn("Melanie: a", 1, lexemes=["melani"]), turn("Ann: b", 9, lexemes=["lamp"])]
    assert words(pool(rows, lexemes=["melani", "lamp"])).tolist() == pytest.approx([0.0, 1.0])


def test_no_words_no_share():
    assert words(pool([memory("a")])).tolist() == [0.0]
    assert words(pool([], lexemes=["lamp"])).tolist() == []


def test_what_follows_a_question_that_suits_gains_most():
    rows = [
        turn("Ann: Where is it?", 1, similarity=0.9),
        turn("Ben: There.", 2, similarity=0.1),
        turn("Ann: It is here.", 11, similarity=0.9),
        turn("Ben: Yes.", 12, similarity=0.1),
        turn("Ben: Elsewhere.", 30, similarity=0.1),
    ]
    found = neighbours(pool(rows))
    assert found[1] > found[3] > found[4] == 0.0


def test_notes_have_no_neighbours():
    assert neighbours(pool([memory("a", similarity=0.9), memory("b")])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "question", ["What did Ann buy?", "what is ann's plan?", "What is Ann’s plan?", "Did Ann Marie call?"]
)
def test_messages_of_the_person_named_are_found(question):
    rows = [turn("Ann: a lamp", 1), turn("Ben: Ann likes lamps", 2), turn("Annabel: hello", 3), turn("no name", 4)]
    assert person(pool(rows, question)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_nobody_named_nobody_found():
    assert person(pool([turn("Ann: a lamp", 1)], "What was bought?")).tolist() == [0.0]


def test_a_note_that_holds_the_name_is_about_them_whatever_its_kind():
    rows = [memory("Priya lives in Leeds.", kind="episode"), memory("Priyanka lives there."), memory("lives in Leeds")]
    assert person(pool(rows, "Where does Priya live?")).tolist() == [1.0, 0.0, 0.0]


def test_a_colon_in_a_note_names_no_speaker():
    rows = [memory("Deploy: every Friday", kind="episode"), turn("Ann: hello", 1)]
    candidates = pool(rows)
    assert candidates.speakers == ["", "ann"]
    assert candidates.bodies == ["Deploy: every Friday", "hello"]


def test_statements_before_assent_before_questions():
    rows = [
        turn("Ann: We moved to Leeds last spring because of the new job.", 1),
        turn("Ben: Wow!", 2),
        turn("Ann: I did. And where do you live?", 3),
        turn("Ben: And where do you live? I live here.", 4),
    ]
    found = statements(pool(rows))
    assert found[0] > found[3] > found[1] > found[2] == 0.0
    assert statements(pool([turn("Ann: " + "word " * 500, 1)])).tolist() == [1.0]


def test_questions_in_other_scripts_are_questions():
    assert statements(pool([turn("Ann: 你住在哪里？", 1)])).tolist() == [0.0]


def test_two_messages_at_one_place_have_the_same_neighbours():
    rows = [turn("Ann: a", 1, lexemes=["lamp"]), turn("Ben: b", 2), turn("Ben: c", 2)]
    assert words(pool(rows, lexemes=["lamp"])).tolist() == pytest.approx([1, 0.8, 0.8])


def test_ten_thousand_candidates_are_no_matter():
    rows = [turn(f"Ann: {number} lamp?", number, lexemes=["lamp"]) for number in range(10_000)]
    candidates = pool(rows, "What did Ann say?", ["lamp"])
    for signal in (words, neighbours, person, statements):
        assert np.isfinite(signal(candidates)).all()
