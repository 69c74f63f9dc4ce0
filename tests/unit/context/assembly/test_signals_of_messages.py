"""Signals of conversations: words, adjacent turns, people, statements; and the columns that they read."""

import numpy as np
import pytest

from context.services.assembly.signals.messages import adjacent_turns, entity_match, informativeness, lexical_overlap
from tests.unit.signal_rows import signal_memory, signal_pool, signal_turn


def test_rare_word_weighs_more_than_a_common_one():
    rows = [
        signal_memory("a", lexemes=["lamp"]),
        *(signal_memory("b", lexemes=["room"]) for _ in range(8)),
        signal_memory("c"),
    ]
    found = lexical_overlap(signal_pool(rows, lexemes=["lamp", "room"]))
    assert found[0] > 0.7 > 0.3 > found[1] > 0
    assert found[0] + found[1] == pytest.approx(1.0)
    assert found[-1] == 0.0


def test_a_memory_with_all_words_has_full_overlap():
    rows = [signal_memory("a", lexemes=["lamp", "room"]), signal_memory("b")]
    assert lexical_overlap(signal_pool(rows, lexemes=["lamp", "room"]))[0] == pytest.approx(1.0)


def test_words_of_adjacent_messages_count_less_with_distance():
    rows = [signal_turn(f"Ann: {number}", number) for number in range(1, 8)]
    rows[3]["holds"] = frozenset(["lamp"])
    assert lexical_overlap(signal_pool(rows, lexemes=["lamp"])).tolist() == pytest.approx([0, 0.4, 0.6, 1, 0.8, 0.5, 0])


def test_other_sessions_and_other_partitions_are_not_beside():
    rows = [
        signal_turn("Ann: a", 1, lexemes=["lamp"]),
        signal_turn("Ann: b", 2, session="s2"),
        signal_turn("Ann: c", 2, partition_path="conversation=other"),
        signal_memory("d"),
    ]
    assert lexical_overlap(signal_pool(rows, lexemes=["lamp"])).tolist() == pytest.approx([1, 0, 0, 0])


def test_name_of_a_speaker_has_no_weight():
    rows = [signal_turn("Melanie: a", 1, lexemes=["melani"]), signal_turn("Ann: b", 9, lexemes=["lamp"])]
    assert lexical_overlap(signal_pool(rows, lexemes=["melani", "lamp"])).tolist() == pytest.approx([0.0, 1.0])


def test_no_words_no_share():
    assert lexical_overlap(signal_pool([signal_memory("a")])).tolist() == [0.0]
    assert lexical_overlap(signal_pool([], lexemes=["lamp"])).tolist() == []


def test_what_follows_a_question_that_suits_gains_most():
    rows = [
        signal_turn("Ann: Where is it?", 1, similarity=0.9),
        signal_turn("Ben: There.", 2, similarity=0.1),
        signal_turn("Ann: It is here.", 11, similarity=0.9),
        signal_turn("Ben: Yes.", 12, similarity=0.1),
        signal_turn("Ben: Elsewhere.", 30, similarity=0.1),
    ]
    found = adjacent_turns(signal_pool(rows))
    assert found[1] > found[3] > found[4] == 0.0


def test_notes_have_no_neighbours():
    assert adjacent_turns(signal_pool([signal_memory("a", similarity=0.9), signal_memory("b")])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "question", ["What did Ann buy?", "what is ann's plan?", "What is Ann’s plan?", "Did Ann Marie call?"]
)
def test_messages_of_the_person_named_are_found(question):
    rows = [
        signal_turn("Ann: a lamp", 1),
        signal_turn("Ben: Ann likes lamps", 2),
        signal_turn("Annabel: hello", 3),
        signal_turn("no name", 4),
    ]
    assert entity_match(signal_pool(rows, question)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_query_without_a_name_matches_no_person():
    assert entity_match(signal_pool([signal_turn("Ann: a lamp", 1)], "What was bought?")).tolist() == [0.0]


def test_a_note_that_contains_a_name_matches_the_person_whatever_its_kind():
    rows = [
        signal_memory("Priya lives in Leeds.", kind="episode"),
        signal_memory("Priyanka lives there."),
        signal_memory("lives in Leeds"),
    ]
    assert entity_match(signal_pool(rows, "Where does Priya live?")).tolist() == [1.0, 0.0, 0.0]


def test_messages_are_beside_each_other_in_one_session_and_of_two_in_one_position_the_later_counts():
    places = [("s1", 1), ("s2", 2), ("s1", 2), ("s1", 2), ("s1", 4), ("s1", 7)]
    beside = signal_pool([signal_turn("Hi", at, session=session) for session, at in places]).beside
    assert {distance: found.tolist() for distance, found in beside.items()} == {
        -2: [-1, -1, -1, -1, 3, -1],
        -1: [-1, -1, 0, 0, -1, -1],
        1: [3, -1, -1, -1, -1, -1],
        2: [-1, -1, 4, 4, -1, -1],
    }


def test_a_text_is_read_once_for_all_queries_unless_it_is_long():
    first, again = (signal_pool([signal_turn("Ann: hello", 1), signal_turn("a" * 501, 2)]).texts for _ in range(2))
    assert first[0] is again[0]
    assert first[1] is not again[1]


def test_a_colon_in_a_note_names_no_speaker():
    rows = [signal_memory("Deploy: every Friday", kind="episode"), signal_turn("Ann: hello", 1)]
    candidates = signal_pool(rows)
    read = [(text.speaker, text.body) for text in candidates.texts]
    assert read == [("", "Deploy: every Friday"), ("ann", "hello")]


def test_statements_before_assent_before_questions():
    rows = [
        signal_turn("Ann: We moved to Leeds last spring because of the new job.", 1),
        signal_turn("Ben: Wow!", 2),
        signal_turn("Ann: I did. And where do you live?", 3),
        signal_turn("Ben: And where do you live? I live here.", 4),
    ]
    found = informativeness(signal_pool(rows))
    assert found[0] > found[3] > found[1] > found[2] == 0.0
    assert informativeness(signal_pool([signal_turn("Ann: " + "word " * 500, 1)])).tolist() == [1.0]


def test_questions_in_other_scripts_are_questions():
    assert informativeness(signal_pool([signal_turn("Ann: 你住在哪里？", 1)])).tolist() == [0.0]


def test_two_messages_at_one_place_have_the_same_neighbours():
    rows = [signal_turn("Ann: a", 1, lexemes=["lamp"]), signal_turn("Ben: b", 2), signal_turn("Ben: c", 2)]
    assert lexical_overlap(signal_pool(rows, lexemes=["lamp"])).tolist() == pytest.approx([1, 0.8, 0.8])


def test_ten_thousand_candidates_are_no_matter():
    rows = [signal_turn(f"Ann: {number} lamp?", number, lexemes=["lamp"]) for number in range(10_000)]
    candidates = signal_pool(rows, "What did Ann say?", ["lamp"])
    for signal in (lexical_overlap, adjacent_turns, entity_match, informativeness):
        assert np.isfinite(signal(candidates)).all()
