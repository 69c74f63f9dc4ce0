"""Whether a statement replaces an earlier one: the project's table of pairs, and properties for any text."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.services.hygiene.replacement import replaces
from memories.services.hygiene.replacement.reading import CHARACTERS_MAX
from tests.timing import seconds_of

HERE = Path(__file__).parent


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


PAIRS = rows_of("replacement_pairs.jsonl")
SAME = [row for row in rows_of("statement_pairs.jsonl") if row["label"] == "same"]
#: Minimum share of the replacements that are recognised: of all, and of each language.
RECALL_MIN, RECALL_PER_LANGUAGE_MIN = 0.78, 0.7
_SAMPLE = """
The meeting is on from Monday Friday 3 May 9:30 5 km 12 to not no longer moved Anna Ben lives in Berlin now costs 30 €
stopped drinks tea Der Termin ist am Montag verschoben auf nicht mehr La cita es el lunes ya no cambiado a : , . ?
"""
texts = st.lists(st.sampled_from(_SAMPLE.split()), min_size=1, max_size=14).map(" ".join)


def test_table_has_at_least_as_many_current_as_replaced_facts() -> None:
    labels = [pair["label"] for pair in PAIRS]
    assert labels.count("holds") >= labels.count("replaces") >= 90
    assert {pair["language"] for pair in PAIRS} == {"en", "de", "es"}


def test_current_facts_are_never_replaced() -> None:
    holding = [pair for pair in PAIRS if pair["label"] == "holds"]
    assert [pair["id"] for pair in holding if replaces(pair["newer"], pair["older"])] == []


def test_earlier_statement_of_current_facts_replaces_nothing_either() -> None:
    holding = [pair for pair in PAIRS if pair["label"] == "holds"]
    assert [pair["id"] for pair in holding if replaces(pair["older"], pair["newer"])] == []


def test_most_replacements_are_recognised() -> None:
    replaced = [pair for pair in PAIRS if pair["label"] == "replaces"]
    found = [pair for pair in replaced if replaces(pair["newer"], pair["older"])]
    assert len(found) >= RECALL_MIN * len(replaced)


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_no_language_is_left_behind(language: str) -> None:
    replaced = [pair for pair in PAIRS if (pair["label"], pair["language"]) == ("replaces", language)]
    found = sum(replaces(pair["newer"], pair["older"]) for pair in replaced)
    assert found >= RECALL_PER_LANGUAGE_MIN * len(replaced)


def test_statements_of_the_same_replace_nothing() -> None:
    pairs = [(row["a"], row["b"]) for row in SAME] + [(row["b"], row["a"]) for row in SAME]
    assert [pair for pair in pairs if replaces(*pair)] == []


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("The bus now arrives at 10.", "The bus leaves at 9."),
        ("Ben changed the price of the kayak to 300 euros.", "Ines changed the price of the bicycle to 200 euros."),
        ("Jonas is now the captain of the second team.", "Marta is the captain of the first team."),
        ("We switched the website to a new logo.", "The website runs on Heroku."),
        ("The dog now sleeps in the hall.", "The dog eats in the kitchen."),
        ("The kitchen has a new fridge now.", "The kitchen has a dishwasher."),
        ("The lamp in the kitchen is fixed now.", "The lamp in the hall is broken."),
        ("Our cat no longer sleeps in the kitchen.", "Our cat sleeps on the sofa."),
        ("Petra took over the Hamburg office.", "Karl manages the Berlin office."),
        ("Ich trinke abends keinen Kaffee mehr.", "Ich trinke morgens Kaffee."),
        ("Mi hermana se ha mudado a León.", "Mi hermano vive en Gijón."),
        ("The train now leaves from platform 6.", "The train leaves at 8:40."),
        ("I now work in marketing.", "I work in Berlin."),
        ("The museum is open on Sundays.", "The museum is closed on Mondays."),
        ("The blue team meets at 6.", "The red team meets at 5."),
        ("The second interview is on Thursday.", "The first interview is on Monday."),
        ("I have a meeting on Tuesday.", "I have a meeting on Monday."),
        ("The meeting is not on Friday.", "The meeting is on Monday."),
        ("They wanted to move the meeting to Friday.", "The meeting is on Monday."),
        ("The timeout in staging is 45 seconds.", "The timeout is 30 seconds."),
        ("The flight from Rome is at 18:20.", "The flight to Rome is at 9:40."),
        ("The red key opens the blue door.", "The blue key opens the red door."),
        ("The shop does not open on public holidays.", "On public holidays the shop stays closed."),
        ("Elena sold the cello to Viktor.", "Elena bought the cello from Viktor."),
        ("Anna no longer drinks coffee.", "Anna sells coffee."),
        ("The customer says the budget is 500.", "The budget is 300."),
        ("Ann: My flight is at 11:00.", "Ben: My flight is at 9:00."),
        ("> The budget is 500.", "The budget is 300."),
        ("Ana trabaja en Toledo.", "Ana vive en Madrid."),
        ("Der Kurs endet um zehn.", "Der Kurs beginnt um neun."),
        ("The printer on floor 3 is working again.", "The printer on floor 2 is broken."),
        ("Anna doesn't drink coffee after noon.", "Anna drinks coffee."),
        ("The red car is sold.", "The blue car is for sale."),
        ("Your flight leaves at 11:20.", "My flight leaves at 9:40."),
        ("The gym is open until 22:00.", "The gym is open from 6:00."),
        ("Sam is allergic to cats now.", "Sam is allergic to nuts."),
        ("Our dentist is Dr. Weber.", "Our doctor is Dr. Lund."),
        ("We use Slack, not email.", "We use Slack."),
        ("Use SQLite for the tests, not Postgres.", "Use Postgres for the shop."),
        ("Inés ha aplazado la boda al 23 de septiembre.", "La boda de Irene es el 18 de junio."),
        ("I went to Lisbon on 21 May 2026.", "I went to Lisbon on 1 May 2026."),
        ("Alex went to Lisbon on 21 May.", "Alex went to Lisbon on 1 May."),
        ("I went to Faro on 21 May and sold a tent for 110 EUR.", "I went to Faro on 1 May and sold a lamp for 9 EUR."),
        ("I sold the tent to Ines for 110 EUR.", "I went to Braga again and looked at the tent with Ines."),
        ("I brought a cake to Ana on 8 June.", "I brought a cake to Ana on 1 June."),
        ("Ich habe Ida am 8. Juni nach Köln gebracht.", "Ich habe Ida am 1. Juni nach Köln gebracht."),
    ],
)
def test_rival_with_another_statement_replaces_nothing(newer: str, older: str) -> None:
    assert not replaces(newer, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("The board meeting has been pushed to 11 March.", "The board meeting is on 4 March."),
        ("We switched from Jenkins to GitHub Actions for builds.", "We use Jenkins for builds."),
        ("The invoice has been paid.", "The invoice is overdue."),
        ("Marta no longer takes sugar in her tea.", "Marta takes her tea with sugar."),
        ("Invoices are handled by Jonas since March.", "Marta handles the invoices."),
        ("Mr Jain has retired and Ms Booth is our loan officer now.", "The loan officer is Mr Jain."),
        ("My mother swapped the Fiat for a Renault.", "My mother drives a Fiat."),
        ("Lea eats meat again.", "Lea doesn't eat meat."),
        ("Der Antrag wurde genehmigt.", "Der Antrag ist in Bearbeitung."),
        ("Migramos la web a Fly.io el fin de semana.", "La web la desplegamos en Heroku."),
        ("Use spaces instead of tabs for indentation.", "Use tabs for indentation."),
        ("Emma now works at Siemens.", "Emma works at Bosch."),
        ("Tom quit smoking.", "Tom smokes."),
        ("I moved to York last month.", "I live in Leeds."),
        ("Victor is the project lead now.", "The project lead is Marta."),
        ("User: I prefer light mode now.", "User: I prefer dark mode."),
        ("Das Treffen wurde auf Donnerstag verschoben.", "Das Treffen ist am Dienstag."),
        ("Lea trinkt keinen Kaffee mehr.", "Lea trinkt Kaffee."),
        ("Pedro ya no fuma.", "Pedro fuma."),
        ("La reunión se ha movido al jueves.", "La reunión es el martes."),
        ("The rent went up to 950 euros.", "The rent went up to 900 euros."),
    ],
)
def test_change_in_other_words_replaces_the_former_value(newer: str, older: str) -> None:
    assert replaces(newer, older)
    assert not replaces(older, older)


@given(st.text(max_size=300))
def test_no_text_replaces_itself(text: str) -> None:
    assert not replaces(text, text)


@settings(deadline=None)
@given(texts, texts)
def test_any_texts_can_be_compared(newer: str, older: str) -> None:
    assert replaces(newer, older) in (True, False)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_another_number_replaces_the_former_one(one: int, other: int) -> None:
    form = "The retry limit of the billing worker is {}."
    assert replaces(form.format(one), form.format(other)) == (one != other)


def test_long_texts_replace_nothing() -> None:
    padding = "The lamp is green. " * (CHARACTERS_MAX // 10)
    assert not replaces(f"{padding}The gate code is 4711.", "The gate code is 1174.")


@pytest.mark.parametrize("unit", ["a ", "1 ", "if a, ", "- ", "(", "not ", "Monday ", "12:30 ", "half past "])
def test_time_grows_with_the_length_of_the_text(unit: str) -> None:
    def seconds() -> float:
        one, other = (unit * CHARACTERS_MAX)[:CHARACTERS_MAX], (unit * CHARACTERS_MAX)[: CHARACTERS_MAX - 1] + "x"
        return seconds_of(lambda: replaces(one, other))

    assert min(seconds() for _ in range(3)) < 0.2
