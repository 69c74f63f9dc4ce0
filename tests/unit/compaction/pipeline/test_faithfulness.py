"""A model's statements compared with the messages that they cite: each reason for rejection, and what passes."""

from datetime import UTC, datetime

import pytest

from compaction.services.pipeline.faithfulness import (
    CitedSources,
    Flaw,
    Source,
    SupersededText,
    check_statements,
    find_flaw,
)
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn

AT = datetime(2026, 5, 8, 9, 0, tzinfo=UTC)


def turn(text: str, role: str = "user", name: str = "Ann", place: int = 1) -> SessionTurn:
    return SessionTurn(f"m{place}", role, text, 1, name=name if role == "user" else "", created_at=AT)


MOVED = "I moved to Lisbon on 3 May 2026 because of the job at Arbor Labs."
FLAT = "My flat costs 950 EUR a month, and I pay for three rooms."
ALLERGY = "I am not allergic to nuts, but never serve me peanuts."


@pytest.mark.parametrize(
    ("statement", "turns", "flaw"),
    [
        ("Ann moved to Lisbon on 3 May 2026 for a job at Arbor Labs.", [turn(MOVED)], None),
        ("Ann moved to Lisbon.", [turn("Mel, I moved to Lisbon.")], None),
        ("Ann moved to Lisbon on 7 May 2026.", [turn("I moved to Lisbon yesterday.")], None),
        ("Ann moved to Lisbon in March 2019.", [turn("I moved to Lisbon yesterday.")], Flaw.FIGURE),
        ("Ann moved to Porto.", [turn(MOVED)], Flaw.NAME),
        ("Ann moved to Lisbon for Berta.", [turn(MOVED)], Flaw.NAME),
        ("Ann adopted two cats and painted the fence.", [turn(MOVED)], Flaw.UNSUPPORTED),
        ("Ann moved to Lisbon.", [], Flaw.UNSUPPORTED),
        ("Ann's flat costs 950 EUR a month for 3 rooms.", [turn(FLAT)], None),
        ("Ann's flat costs 590 EUR a month.", [turn(FLAT)], Flaw.FIGURE),
        ("Ann's flat does not cost 950 EUR a month.", [turn(FLAT)], Flaw.NEGATION),
        ("Ann is not allergic to nuts.", [turn(ALLERGY)], None),
        ("Ann is allergic to nuts.", [turn("I am not allergic to nuts.")], Flaw.NEGATION),
        ("Serve Ann peanuts.", [turn("Never serve me peanuts.")], Flaw.NEGATION),
        ("Ann looks forward to the move to Lisbon.", [turn("I can't wait for the move to Lisbon.")], None),
        ("Which flat costs 950 EUR a month?", [turn(FLAT)], Flaw.QUESTION),
        ("Ann uses Redis for the queue.", [turn("Should I use Redis for the queue?")], Flaw.QUESTION),
        (
            "Ann uses Redis for the queue.",
            [turn("Do you use Redis for the queue?", "assistant"), turn("Yes, that one.", place=2)],
            None,
        ),
        ("The build passed with 214 tests.", [turn("build passed with 214 tests", "tool")], Flaw.TOOL),
        ("The queue uses Redis.", [turn("The queue could use Redis.", "assistant")], Flaw.HEDGED),
        ("The assistant suggested that the queue uses Redis.", [turn("The queue could use Redis.", "assistant")], None),
        ("The bridge closes on Monday for repairs.", [turn("> The bridge closes on Monday for repairs.")], Flaw.QUOTE),
        (
            "The notice that Ann quoted says the bridge closes on Monday for repairs.",
            [turn("> The bridge closes on Monday for repairs.")],
            None,
        ),
        ("Ann zieht nicht nach Porto.", [turn("Ich ziehe nach Porto.")], Flaw.NEGATION),
        ("Ann no se muda a Porto.", [turn("Me mudo a Porto mañana.")], Flaw.NEGATION),
    ],
)
def test_statement_is_kept_only_if_its_messages_support_it(
    statement: str, turns: list[SessionTurn], flaw: Flaw | None
) -> None:
    assert find_flaw(statement, CitedSources([Source.of(turn) for turn in turns], Source("Ann"))) == flaw


def test_statement_of_a_replaced_value_is_dropped_unless_it_cites_the_later_one() -> None:
    turns = [turn("The limit is 30 EUR."), turn("No, the limit is 40 EUR.", place=2)]
    gone = SupersededText("Ann: The limit is 30 EUR.", ("m1",), "Ann: the limit is 40 EUR.", ("m2",))
    stale = CitedStatement("Ann's limit is 30 EUR.", ("m1",))
    current = CitedStatement("Ann's limit is 40 EUR.", ("m2",))
    both = CitedStatement("Ann's limit is 40 EUR, it was 30 EUR.", ("m1", "m2"))
    checked = check_statements([stale, current, both], turns, superseded=[gone])
    assert (checked.kept, checked.flaws) == ((current, both), (Flaw.SUPERSEDED,))


def test_earlier_statement_is_carried_over_by_its_own_text() -> None:
    earlier = CitedStatement("Ann keeps the key 7714 with Ines.", ("old",))
    same, other = (CitedStatement(f"Ann keeps the key {key} with Ines.", ("old",)) for key in (7714, 7715))
    checked = check_statements([same, other], [turn(MOVED)], earlier=[earlier])
    assert (checked.kept, checked.flaws) == ((same,), (Flaw.FIGURE,))
