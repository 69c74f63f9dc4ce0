"""The sentence that a reply answers, and the pair of both."""

import pytest

from compaction.services.pipeline.statements.parsing import parse_messages
from compaction.services.pipeline.statements.replies import QUESTION_COST, SENTENCE_COST, answered_sentence
from tests.unit.compaction.pipeline.test_statements import texts, to_messages

REPLY = ("Ann", "Then 97 centimetres. My brother can stand on a book.")


def answered(said: tuple[str, str], place: int = 0) -> tuple[str, float] | None:
    """The sentence that sentence `place` of the reply answers, and its cost."""
    before, reply = parse_messages(to_messages(said, REPLY))
    found = answered_sentence(before, reply, place)
    return (before.sentences[found.place].text, found.cost) if found else None


@pytest.mark.parametrize(
    ("said", "sentence", "cost"),
    [
        ("I measured it. Which height do you want?", "Which height do you want?", QUESTION_COST),
        ("Which height do you want? The old one has 92.", "Which height do you want?", SENTENCE_COST),
        (
            "I measured it. The old worktop is 92 centimetres high.",
            "The old worktop is 92 centimetres high.",
            SENTENCE_COST,
        ),
    ],
)
def test_reply_answers_the_last_question_or_else_the_last_sentence(said: str, sentence: str, cost: float) -> None:
    assert answered(("Bot", said)) == (sentence, cost)


def test_later_sentence_of_a_reply_answers_only_a_final_question() -> None:
    assert answered(("Bot", "Which height do you want?"), place=1) == ("Which height do you want?", QUESTION_COST)
    assert answered(("Bot", "The old worktop is 92 centimetres high."), place=1) is None


@pytest.mark.parametrize(
    "said",
    [
        ("Ann", "The old worktop is 92 centimetres high."),
        ("System", "You plan the kitchen of a family."),
        ("Bot", "92 centimetres, then."),
        ("Bot", "You could also take 92 centimetres."),
        ("Bot", "> The old worktop is 92 centimetres high."),
    ],
)
def test_nobody_answers_themselves_a_system_a_short_remark_an_option_or_a_quotation(said: tuple[str, str]) -> None:
    assert answered(said) is None


def test_reply_that_needs_the_sentence_before_it_is_a_pair_word_for_word() -> None:
    said = "The wall behind the sink takes a worktop of 97 or 92 centimetres."
    assert (
        texts(("Bot", said), ("Ann", "Then 97 centimetres."))[1] == f'Assistant: "{said}" – Ann: Then 97 centimetres.'
    )


def test_reply_that_is_clear_alone_stays_alone() -> None:
    said = "The landlord wants the key of the cellar back on Friday 8 May."
    replied = "The club pays 300 euros a month for the hall in Porto."
    assert f"Ann: {replied}" in texts(("Bot", said), ("Ann", replied))
