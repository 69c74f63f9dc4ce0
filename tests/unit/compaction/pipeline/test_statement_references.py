"""What a run of sentences points at without naming it."""

import pytest

from compaction.services.pipeline.statements.languages import load_language
from compaction.services.pipeline.statements.references import Need, open_pointers


def needs(language: str, *sentences: str) -> set[Need]:
    return {pointer.need for pointer in open_pointers(sentences, load_language(language), {"ann", "ben"})}


@pytest.mark.parametrize(
    ("language", "text", "need"),
    [
        ("en", "It starts at 5.", Need.THING),
        ("en", "I'll ask him by Friday.", Need.PERSON),
        ("en", "They rang on Monday.", Need.ANY),
        ("en", "That is too long.", Need.CLAUSE),
        ("en", "Don't restart it between 4 and 5.", Need.THING),
        ("en", "We went there on Monday.", Need.PLACE),
        ("en", "The blue one costs 5 euros.", Need.THING),
        ("en", "We met the same day.", Need.DAY),
        ("en", "Otherwise the refresh breaks.", Need.CLAUSE),
        ("en", "Ann said that she is late.", None),
        ("en", "My sister lives in Bath and her dog is old.", None),
        ("en", "That server has 512 MB.", None),
        ("en", "The parcel arrives on Monday and it is heavy.", None),
        ("en", "It takes 40 minutes to drive to York.", None),
        ("en", "There is a market in York.", None),
        ("en", "I know that the shop is closed.", None),
        ("de", "Sie kommt am Montag.", Need.THING),
        ("de", "Können Sie die Rechnung schicken?", None),
        ("de", "Das Paket kommt am Montag.", None),
        ("de", "Frau Pohl kommt am Montag und sie bringt Kuchen.", None),
        ("de", "Deshalb kommt der Maler am Montag.", Need.CLAUSE),
        ("es", "Eso es caro.", Need.CLAUSE),
        ("es", "Ella viene el lunes.", Need.PERSON),
        ("es", "El paquete llega el lunes.", None),
        ("ja", "それは高いです。", None),
    ],
)
def test_word_without_a_noun_before_it_points_back(language: str, text: str, need: Need | None) -> None:
    assert needs(language, text) == ({need} if need else set())


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("Callum was lovely with the guests.", "I'll ask him by Friday."),
        ("We rented a cabin in Wales.", "We stayed there for a week."),
        ("The market is on 5 May.", "We also meet the plumber that day."),
        ("She wants the blue van.", "The van has 9 seats."),
        ("The line is old.", "That is why it drops."),
    ],
)
def test_sentence_before_names_what_the_next_one_points_at(before: str, text: str) -> None:
    assert needs("en", before, text) == needs("en", before)


def test_thing_is_no_person_and_a_speaker_is_no_thing() -> None:
    assert needs("en", "The van is old.", "She likes red.") == {Need.PERSON}
    assert needs("en", "We met Ben.", "It was heavy.") == {Need.THING}


def test_pointer_at_the_beginning_is_the_subject() -> None:
    english = load_language("en")
    assert [one.is_subject for one in open_pointers(["It starts at 5."], english)] == [True]
    assert [one.is_subject for one in open_pointers(["Restart it at 5."], english)] == [False]
