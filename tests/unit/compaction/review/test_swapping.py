"""Sentences of a summary swapped for candidates: order, text, and which sentences can be removed."""

import pytest

from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.review.kinds import kind_label, kind_priority
from compaction.services.review.swapping import StatementOrder, statements_to_leave, swap_text

RED = CitedStatement("Ann: The door is red.", ("1",), subject="Ann")
KEY = CitedStatement("Ann: The key is under the mat.", ("1",), "value", "Ann")
CAT = CitedStatement("Ben: Never feed the cat.", ("2",), "constraint", "Ben")
OWN = CitedStatement("Mind the step.", (), is_edited=True)
ORDER = StatementOrder(
    {"1": 0, "2": 1}, {"1": "The door is red. The key is under the mat.", "2": "Never feed the cat."}
)


def joined(statements: object) -> str:
    return "\n".join(one.text for one in statements)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statements", "added", "expected"),
    [
        ([RED, CAT], KEY, [RED, KEY, CAT]),
        ([KEY, CAT], RED, [RED, KEY, CAT]),
        ([RED, KEY], CAT, [RED, KEY, CAT]),
        ([OWN, CAT], RED, [OWN, RED, CAT]),
        ([RED, CAT], OWN, [RED, CAT, OWN]),
        ([], RED, [RED]),
    ],
)
def test_statement_is_at_the_position_of_its_message(
    statements: list[CitedStatement], added: CitedStatement, expected: list[CitedStatement]
) -> None:
    assert ORDER.insert(statements, added) == expected


def test_text_that_rules_rendered_is_rendered_again() -> None:
    def render(some: object) -> str:
        return f"9 March 2026:\n{joined(some)}"

    text = swap_text(render([RED, CAT]), [KEY, CAT], removed=RED, added=KEY, render=render, before=[RED, CAT])
    assert text == render([KEY, CAT])


def test_wording_of_a_person_stays() -> None:
    text = f"Notes so far\n{RED.text} {CAT.text}\n- Mind the step."
    changed = swap_text(text, [CAT, OWN], removed=RED, added=None, render=joined, before=[RED, CAT, OWN])
    assert changed == f"Notes so far\n{CAT.text}\n- Mind the step."
    assert swap_text(changed, [KEY, CAT, OWN], removed=None, added=KEY, render=joined, before=[CAT, OWN]) == (
        f"{KEY.text}\n{changed}"
    )
    assert swap_text(changed, [CAT, KEY, OWN], removed=None, added=KEY, render=joined, before=[CAT, OWN]) == (
        f"Notes so far\n{CAT.text}\n{KEY.text}\n- Mind the step."
    )


def test_line_with_only_a_heading_is_removed() -> None:
    dated = CitedStatement("The lift is out of order.", ("2",))
    text = f"Hall: {dated.text}\n{CAT.text}"
    assert swap_text(text, [CAT], removed=dated, added=None, render=str, before=[dated, CAT]) == CAT.text
    text = f"{CAT.text}\nHall: {dated.text}"
    assert swap_text(text, [CAT], removed=dated, added=None, render=str, before=[CAT, dated]) == CAT.text


def test_lowest_priority_that_frees_enough_tokens_is_left_out() -> None:
    statements, tokens = [RED, KEY, CAT, OWN], [6, 8, 20, 30]
    assert statements_to_leave(statements, tokens, 5) == [0, 1, 2]
    assert statements_to_leave(statements, tokens, 7) == [1, 2]
    assert statements_to_leave(statements, tokens, 9) == [2]
    assert statements_to_leave(statements, tokens, 21) == [], "a person's own sentence stays"


def test_kinds_have_words_and_an_order() -> None:
    assert (kind_label("question"), kind_label("verbatim")) == ("Open question", "Fact")
    assert kind_priority("decision") < kind_priority("constraint") < kind_priority("event") < kind_priority("fact")
