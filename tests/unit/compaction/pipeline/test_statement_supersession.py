"""What a later statement of a conversation replaces."""

import pytest

from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage
from compaction.services.pipeline.statements.supersession import conflicting_values, drop_replaced


def held(*turns: str) -> list[str]:
    """What holds at the end of a conversation; "Bot: ..." is the assistant's, everything else Ann's."""
    messages = []
    for number, turn in enumerate(turns):
        is_bot = turn.startswith("Bot: ")
        role, name = ("assistant", "") if is_bot else ("user", "Ann")
        messages.append(StatementMessage(str(number), role, turn.removeprefix("Bot: "), name, None, number))
    return [statement.body for statement in extract_statements(messages)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The loan period is 7 days.", "The loan period is now 10 days."),
        ("We'll set a timeout of 10 seconds.", "Make the timeout 25 seconds instead."),
        ("Let's move to Postgres.", "Scrap Postgres, back to SQLite in WAL mode."),
        ("We go live on Tuesday 15 September.", "Let's move the launch to Tuesday 29 September instead."),
        ("I'll bake a walnut cake for the party.", "Sorry, I meant a lemon cake for the party!"),
        ("Let's do the party in the hall.", "Forget the hall, we do it in the garden after all."),
        ("Let's call the option `--since` then.", "No, I meant it differently: call it `--from-date` please."),
        ("Start at 3 pm, coffee and cake first.", "The party starts at 2 pm, bring cups."),
        ("Send the router to my sister in Quarry Lane instead.", "Scrap that, deliver the router to my home address."),
        ("60 Kartons reichen.", "Wir brauchen 85 Kartons statt 60."),
        ("Wir machen den Umzug selbst, mit Freunden.", "Doch nicht selbst: wir nehmen eine Umzugsfirma."),
        ("Neuer Termin: Samstag, 20. Juni.", "Also doch wieder der 27. Juni für alle."),
        ("El límite del presupuesto es de 300 euros.", "El límite del presupuesto es ahora de 400 euros."),
    ],
)
def test_later_statement_about_the_same_replaces_the_earlier_one(older: str, newer: str) -> None:
    assert len(held(older)) == len(held(newer)) == 1
    assert held(older, newer) == held(newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The loan period for drills is 7 days.", "The fee for ladders is now 10 euros."),
        ("Felix is allergic to walnuts and pecans.", "Sorry, I meant lemon cake, not walnut cake!"),
        ("I'll text you on Thursday 16 April at noon.", "The visit was moved to Tuesday 21 April."),
        ("The budget of the kitchen is 300 euros.", "The budget of the garden is 400 euros."),
        ("We rent the blue van on Friday 3 May.", "We rent the trailer on Saturday 4 May."),
    ],
)
def test_statement_about_something_else_replaces_nothing(older: str, newer: str) -> None:
    assert held(older, newer) == [*held(older), *held(newer)]


def test_what_holds_again_is_kept_and_what_came_between_is_not() -> None:
    turns = ("The loan period is 7 days.", "The loan period is now 10 days.", "The loan period is now 7 days again.")
    assert held(*turns) == ["The loan period is now 7 days again."]


def test_replaced_statements_are_listed_with_their_messages() -> None:
    messages = [
        StatementMessage(str(number), "user", text, "Ann", None, number)
        for number, text in enumerate(
            ("The loan period is 7 days.", "The loan period is now 10 days.", "The loan period is now 14 days.")
        )
    ]
    (current,) = extract_statements(messages)
    assert [(one.text, one.message_ids) for one in current.replaces] == [
        ("Ann: The loan period is 7 days.", ("0",)),
        ("Ann: The loan period is now 10 days.", ("1",)),
    ]


def test_repetitions_of_a_stale_value_are_replaced_too() -> None:
    turns = ("The loan period is 7 days.", "Bot: The loan period of 7 days is in the settings.")
    assert held(*turns, "The loan period is now 10 days.") == ["The loan period is now 10 days."]


def test_quotations_questions_and_texts_of_a_person_are_not_replaced() -> None:
    old = [
        Statement("Ann (quoted): The loan period is 7 days.", ("a",), StatementKind.QUOTED, "Ann (quoted)"),
        Statement("Ann: The loan period is 7 days.", ("b",), StatementKind.VALUE, "Ann", is_edited=True),
        Statement("Ann: Is the loan period 7 days?", ("c",), StatementKind.QUESTION, "Ann"),
    ]
    new = Statement("Ann: The loan period is now 10 days.", ("d",), StatementKind.CORRECTION, "Ann")
    assert drop_replaced([*old, new]) == [*old, new]
    quoted = Statement("Ann (quoted): Make the loan period 10 days.", ("e",), StatementKind.QUOTED, "Ann (quoted)")
    stated = Statement("Ann: The loan period is 7 days.", ("b",), StatementKind.VALUE, "Ann")
    assert drop_replaced([stated, quoted]) == [stated, quoted]


def test_correction_that_is_not_understood_alone_still_replaces() -> None:
    assert held("Send the router to my sister instead, 3 Quarry Lane.", "Scrap that.") == []


def test_only_values_of_one_kind_and_unit_conflict() -> None:
    assert conflicting_values("It takes 25 seconds.", "It takes 10 seconds.")
    assert not conflicting_values("The oven takes 25 minutes.", "The oven weighs 10 kg.")
    assert not conflicting_values("Room 5 is free.", "Flat 7 is free.")
    assert conflicting_values("Call it `--until`.", "Call it `--since`.") == {"--since"}
    assert not conflicting_values("It starts tomorrow (8 May 2026).", "It starts tomorrow (7 May 2026).")
