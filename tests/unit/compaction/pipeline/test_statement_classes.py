"""The kinds of sentences, by the cue words of three languages."""

import time

import pytest

from compaction.services.pipeline.statements.classes import CUE_ORDER, RANKS, has_date, has_value, is_lasting, kind_of
from compaction.services.pipeline.statements.languages import CUE_LANGUAGES, load_language
from compaction.services.pipeline.statements.model import Statement, StatementKind

CASES = [
    ("en", "We decided to rent the blue van.", "decision"),
    ("en", "Let's go with the second design.", "decision"),
    ("en", "We'll use Postgres.", "decision"),
    ("en", "Make the timeout 25 seconds instead.", "correction"),
    ("en", "I changed my mind about the blue van.", "correction"),
    ("en", "The visit was moved to Tuesday.", "correction"),
    ("en", "I moved to Lisbon last March.", "fact"),
    ("en", "I am allergic to penicillin.", "constraint"),
    ("en", "Never deploy on a Friday.", "constraint"),
    ("en", "Please don't restart the server.", "constraint"),
    ("en", "No calls before 2 pm.", "constraint"),
    ("en", "The budget is 300 euros.", "constraint"),
    ("en", "Nobody merges without a review.", "constraint"),
    ("en", "You must see that film, it was a must-see.", "fact"),
    ("en", "I'll never forget that day.", "fact"),
    ("en", "I prefer short answers.", "preference"),
    ("en", "I'd much rather get a text than a call.", "preference"),
    ("en", "Always answer in French.", "instruction"),
    ("en", "I've always lived near the sea.", "fact"),
    ("en", "Dana will send the list by Wednesday.", "commitment"),
    ("en", "I'll send the list.", "fact"),
    ("en", "My name is Dana Ito.", "identity"),
    ("en", "My mail is dana@example.org.", "identity"),
    ("en", "The pump is broken.", "state"),
    ("en", "The next step is the import.", "state"),
    ("en", "The warning level is 2.35 m.", "value"),
    ("en", "The cat sat by the old window.", "fact"),
    ("en", "The parish council has agreed to close the path.", "decision"),
    ("en", "My tutor has agreed to read the draft.", "commitment"),
    ("en", "She is lending us her tent next week.", "commitment"),
    ("en", "The lift can't carry a piano above floor three.", "constraint"),
    ("en", "Whenever I paste a table, sort it by date.", "instruction"),
    ("en", "Don't book a table without asking me.", "instruction"),
    ("en", "Our midwife is called Ana.", "identity"),
    ("en", "If I had a boat, I'd never come back.", "fact"),
    ("en", "My uncle thinks nobody should pay taxes.", "fact"),
    ("en", "You must have been so tired.", "fact"),
    ("de", "Wir haben uns für den Zug entschieden.", "decision"),
    ("de", "Wir nehmen den blauen Wagen.", "decision"),
    ("de", "Also doch nicht der Zug.", "correction"),
    ("de", "Der Termin wurde auf Montag verschoben.", "correction"),
    ("de", "Ich bin allergisch gegen Nüsse.", "constraint"),
    ("de", "Höchstens 2.200 € dürfen es sein.", "constraint"),
    ("de", "In Kassel dürfen wir nicht vor 8 Uhr anfangen.", "constraint"),
    ("de", "Mails sind mir lieber als Anrufe.", "preference"),
    ("de", "Antworte bitte immer kurz.", "instruction"),
    ("de", "Ich beantrage den Platz bis Freitag.", "commitment"),
    ("de", "Meine Nummer ist 0171 39200 44.", "identity"),
    ("de", "Der Antrag ist beantragt.", "state"),
    ("de", "Der Chor hat beschlossen, im Mai zu singen.", "decision"),
    ("de", "Um den Schlüssel kümmert sich Jana.", "commitment"),
    ("de", "Der Schrank passt nicht durch die Tür.", "constraint"),
    ("de", "Wenn ich dir eine Tabelle schicke, sortiere sie nach Datum.", "instruction"),
    ("de", "Ich ziehe das Rad dem Auto vor.", "preference"),
    ("de", "Wenn ich ein Boot hätte, würde ich nie zurückkommen.", "fact"),
    ("de", "Mein Onkel meint, niemand sollte Steuern zahlen.", "fact"),
    ("es", "Hemos decidido alquilar la furgoneta azul.", "decision"),
    ("es", "Cambio de planes, en vez de tren vamos en coche.", "correction"),
    ("es", "Soy alérgica a la penicilina.", "constraint"),
    ("es", "Nunca despliegues los viernes.", "constraint"),
    ("es", "Prefiero respuestas cortas.", "preference"),
    ("es", "Responde siempre en inglés.", "instruction"),
    ("es", "Enviaré la lista antes del viernes.", "commitment"),
    ("es", "Me llamo Dana Ito.", "identity"),
    ("es", "El informe está terminado.", "state"),
    ("es", "La junta acordó cerrar el camino.", "decision"),
    ("es", "Jana se encarga de la llave.", "commitment"),
    ("es", "El armario no cabe por la puerta.", "constraint"),
    ("es", "Cuando te mande una tabla, ordénala por fecha.", "instruction"),
    ("es", "Me va mejor por la tarde.", "preference"),
    ("es", "Si tuviera un barco, no volvería nunca.", "fact"),
    ("es", "Mi tío cree que nadie debería pagar impuestos.", "fact"),
]


@pytest.mark.parametrize(("language", "text", "kind"), CASES, ids=[text for _, text, _ in CASES])
def test_cues_tell_the_kind(language: str, text: str, kind: str) -> None:
    assert kind_of(text, load_language(language), role="user") == StatementKind(kind)


def test_assistant_decides_forbids_and_prefers_nothing() -> None:
    language = load_language("en")
    for text in ("We'll use Postgres.", "Never deploy on a Friday.", "I prefer Postgres.", "Always check twice."):
        assert kind_of(text, language, role="assistant") == StatementKind.FACT
    assert kind_of("I've moved the visit to Tuesday 21 April.", language, role="assistant") == StatementKind.CORRECTION
    assert kind_of("Changed it back to the former one.", language, role="assistant") == StatementKind.FACT


def test_hedged_sentence_decides_and_promises_nothing() -> None:
    language = load_language("en")
    assert kind_of("Perhaps my tutor has agreed to read it.", language, role="user", is_hedged=True) == "fact"
    assert kind_of("Let's go with the second design, maybe.", language, role="user", is_hedged=True) == "fact"


@pytest.mark.parametrize("name", CUE_LANGUAGES)
def test_long_text_is_read_in_linear_time(name: str) -> None:
    language = load_language(name)

    def seconds(text: str) -> float:
        started = time.process_time()
        kind_of(text, language, role="user")
        return time.process_time() - started

    seconds("the cues are compiled at their first use")
    for words in ([f"w{number}" for number in range(4_000)], ["a" * 24_000]):
        text = " ".join(words)
        assert seconds(f"{text} {text}") < 3 * seconds(text) + 0.2


def test_every_kind_has_a_rank_and_decisions_come_before_facts() -> None:
    assert set(RANKS) == set(StatementKind)
    assert RANKS[StatementKind.DECISION] == RANKS[StatementKind.CORRECTION] < RANKS[StatementKind.CONSTRAINT]
    assert max(RANKS, key=lambda kind: RANKS[kind]) == StatementKind.QUOTED


@pytest.mark.parametrize("name", CUE_LANGUAGES)
def test_each_language_has_the_same_cues(name: str) -> None:
    language = load_language(name)
    assert set(language.cues) == {cue for cue, _ in CUE_ORDER}
    fields = set(load_language("en").given) - {"has_ordinals"}
    assert fields <= set(language.given)


def test_journal_keeps_what_is_in_force() -> None:
    lasting = {kind for kind in StatementKind if is_lasting(Statement("Ann: x", ("m1",), kind))}
    assert lasting == set(StatementKind) - {StatementKind.QUESTION, StatementKind.FACT, StatementKind.QUOTED}


def test_dates_and_values_are_found() -> None:
    english = load_language("en")
    assert all(has_date(text, english) for text in ("on Monday", "at 17:30", "by 2026-05-08", "5 pm"))
    assert has_date("next week", english)
    assert not has_date("some day soon", english)
    assert all(map(has_value, ("€300", "2.35 m", "LW-0417", "https://a.example", "10.0.0.1", "a@b.example", "`x`")))
    assert not has_value("the blue one")
