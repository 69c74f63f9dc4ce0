"""What counts as stated, constraints and negations as separate classes, and what is not measured."""

import pytest

from compaction.services.pipeline.missing_facts import sentences_with_facts
from compaction.services.pipeline.retention.check import (
    FACTS_PER_MESSAGE_MAX,
    RetainedFact,
    RetentionResult,
    check_retention,
    extract_facts,
)
from compaction.services.pipeline.retention.constraints import constraint_lookup, constraint_polarity
from compaction.services.pipeline.retention.languages import language_name, measured_share
from compaction.services.pipeline.retention.stated import WithdrawnText, stated_turns, without_withdrawn
from compaction.services.sessions.turns import SessionTurn
from tests.timing import assert_linear

CLASSES = {
    "negation": [
        "Never deploy on Fridays.",
        "Please don't call me before 9.",
        "You must not store card numbers.",
        "I can't eat gluten.",
        "No meetings before 10.",
        "Deliver it not before 9 am.",
        "Bitte nicht vor 9 Uhr anrufen.",
        "Ich esse kein Fleisch.",
        "Wir dürfen die Daten nicht in die USA schicken.",
        "No me llames antes de las 9.",
        "Nunca despliegues los viernes.",
    ],
    "constraint": [
        "I am allergic to penicillin.",
        "The server must stay in Frankfurt.",
        "The budget is at most 500 EUR.",
        "Only Ann may approve refunds.",
        "Ich bin allergisch gegen Nüsse.",
        "Die Rechnung muss bis Montag bezahlt sein.",
        "Soy alérgico a la penicilina.",
        "El informe debe estar en PDF.",
    ],
    "": [
        "I have never been to Rome.",
        "I don't know.",
        "We can't wait to see you.",
        "No problem at all.",
        "You must be tired.",
        "It is not just a tool.",
        "Should we never deploy?",
        "The order MV-20931 is here.",
        "Kein Problem!",
        "Ich habe keine Ahnung.",
        "No hay problema.",
    ],
}


def message(text: str, role: str = "user", place: int = 1, name: str = "") -> SessionTurn:
    return SessionTurn(f"m{place}", role, text, 1, name=name)


def counted(text: str, role: str = "user") -> set[tuple[str, str]]:
    return {(fact.kind, fact.text) for fact in extract_facts(stated_turns([message(text, role)]))}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in CLASSES.items() for text in texts])
def test_sentence_has_its_class(kind: str, text: str) -> None:
    found = {one for one, _ in counted(text)} & {"constraint", "negation"}
    assert found == ({kind} if kind else set())


@pytest.mark.parametrize(
    ("sentence", "text", "is_stated"),
    [
        ("I am allergic to penicillin.", "Ann: I am allergic to penicillin. She lives in Rome.", True),
        ("I am allergic to penicillin.", "The user has a penicillin allergy.", True),
        ("I am allergic to penicillin.", "The user takes penicillin.", False),
        ("No, never call me before 9.", "Ann: never call me before 9", True),
        ("Please don't call me before 9.", "Ann: Do not call before 10.", False),
        ("Never deploy on Fridays.", "Deployments on Fridays are forbidden.", True),
        ("Never deploy on Fridays.", "Deploy on Fridays.", False),
        ("Never deploy on Fridays.", "Never deploy on Mondays.", False),
        ("Bitte nicht vor 9 Uhr anrufen.", "Ann: nicht vor 9 Uhr anrufen.", True),
        ("Bitte nicht vor 9 Uhr anrufen.", "Ann: vor 9 Uhr anrufen.", False),
    ],
)
def test_constraint_is_kept_by_its_words_with_the_same_polarity(sentence: str, text: str, is_stated: bool) -> None:
    assert constraint_lookup([text])(sentence) is is_stated


def test_lost_constraint_weighs_more_than_lost_numbers() -> None:
    facts = extract_facts([message("I am allergic to penicillin. It costs 5 EUR, then 6 EUR, then 7 EUR.")])
    numbers, allergy = "It costs 5 EUR, then 6 EUR, then 7 EUR.", "I am allergic to penicillin."
    without_allergy, without_numbers = (check_retention(facts, [text]) for text in (numbers, allergy))
    assert [fact.kind for fact in without_allergy.missing] == ["constraint"]
    assert without_allergy.share == 3 / 8
    assert without_numbers.share == 5 / 8


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("user", "Is the order MV-20931 on its way?"),
        ("tool", "The order MV-20931 is on its way."),
        ("assistant", "You could also book the order MV-20931."),
        ("user", "> The order MV-20931 is on its way."),
        ("user", "```\nThe order MV-20931 is on its way.\n```"),
        ("user", 'She wrote: "The order MV-20931 is on its way and nobody may open it."'),
    ],
)
def test_unstated_facts_do_not_count(role: str, text: str) -> None:
    assert "MV-20931" not in str(counted(text, role))


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_is_stated_counts(role: str) -> None:
    assert ("identifier", "MV-20931") in counted("Thanks! The order MV-20931 is on its way. Is it?", role)


def test_fact_that_was_replaced_does_not_count_where_no_other_message_states_it() -> None:
    turns = [message("The limit is 30 EUR.", place=1), message("The limit is 40 EUR.", place=2)]
    facts = extract_facts(turns)
    left = without_withdrawn(facts, [WithdrawnText("User: The limit is 30 EUR.", ("m1",))])
    assert {fact.text for fact in facts} - {fact.text for fact in left} == {"30 EUR"}


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("The order is here, and it was paid.", 1.0),
        ("Die Bestellung ist da und bezahlt.", 1.0),
        ("Il ne faut jamais redémarrer le serveur avant midi, c'est une règle de la maison.", 0.0),
        ("我对花生过敏。", 0.0),
        ("私はピーナッツアレルギーです。", 0.0),
        ("MV-20931", 1.0),
        ("", 0.0),
    ],
)
def test_language_without_rules_is_not_measured(text: str, share: float) -> None:
    assert measured_share([text]) == share
    facts = extract_facts([message("Order MV-20931.")])
    assert (check_retention(facts, [""], is_measurable=share > 0).share is None) is (share == 0.0)


def test_no_facts_are_not_measured() -> None:
    assert check_retention(extract_facts([message("so it goes")]), ["so it goes"]).share is None


def test_language_is_detected_by_its_words() -> None:
    assert [language_name(text) for text in ("The cat is here", "Die Katze ist hier", "El gato está aquí")] == [
        "en",
        "de",
        "es",
    ]
    assert constraint_polarity("Ann muss zahlen.", "de") is False
    assert constraint_polarity("Ann pays.", "en") is None


# --- Sentences of lost facts ----------------------------------------------------------------------------------------


def test_lost_facts_come_with_whole_sentences_and_the_binding_ones_first() -> None:
    turn = message("We met Dr. Ames. The order MV-20931 costs 950 EUR. Never send it to Porto! Fine.", name="Ann")
    facts = extract_facts(stated_turns([turn]))
    never, order, *_ = sentences_with_facts(facts, {"m1": turn})
    assert (never.text, never.is_binding) == ("Ann: Never send it to Porto!", True)
    assert order.sentence == "The order MV-20931 costs 950 EUR."
    assert {fact.kind for fact in order.facts} >= {"identifier", "money"}
    for sentence in (never, order):
        assert not check_retention(sentence.facts, [sentence.text]).missing


def test_fact_has_no_sentence_if_its_message_is_missing_or_states_nothing() -> None:
    turn = message("The order MV-20931 is here.")
    facts = extract_facts([turn])
    assert sentences_with_facts(facts, {}) == []
    assert sentences_with_facts(facts, {"m1": message("Is the order MV-20931 here?")}) == []


def test_sentences_of_a_long_message_are_found_in_linear_time() -> None:
    def work(size: int) -> None:
        turn = message(" ".join(f"w{number}" for number in range(size)))
        facts = extract_facts([turn])
        assert len(facts) == FACTS_PER_MESSAGE_MAX
        sentences_with_facts(facts, {"m1": turn})

    assert_linear(work, 2_500)


# --- Review ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "floor", "waits"),
    [
        (0.84, 0.85, True),
        (0.85, 0.85, False),
        (1.0, 1.0, False),
        (None, 0.85, True),
        (None, 0.01, True),
        (None, 0.0, False),
        (0.0, 0.0, False),
    ],
)
def test_low_share_and_none_wait_unless_the_floor_is_0(share: float | None, floor: float, waits: bool) -> None:
    missing = (lost("number", "m1"), lost("number", "m2"))
    assert RetentionResult(missing=missing, share=share).waits_for_review(floor) is waits


def test_facts_of_next_to_no_weight_are_no_reason_for_a_review() -> None:
    slight = RetainedFact("name", "Mel", "mel", ("m1",), 0.25)
    assert not RetentionResult(missing=(slight,) * 7, share=0.2).waits_for_review(0.85)
    assert RetentionResult(missing=(slight,) * 8, share=0.2).waits_for_review(0.85)


def lost(kind: str, *message_ids: str) -> RetainedFact:
    return RetainedFact(kind, "text", "text", message_ids)


@pytest.mark.parametrize(
    ("missing", "before", "is_new"),
    [
        (lost("negation", "m1"), None, True),
        (lost("constraint", "m1"), None, True),
        (lost("rule", "m1"), None, True),
        (lost("number", "m1"), None, False),
        (lost("negation", "m1"), lost("negation", "m1"), False),
        (lost("negation", "m1", "m9"), lost("negation", "m1"), True),
        (lost("negation", "m1"), lost("constraint", "m1"), True),
    ],
)
def test_lost_constraint_is_new_unless_it_was_lost_before_and_not_stated_again(
    missing: RetainedFact, before: RetainedFact | None, is_new: bool
) -> None:
    result = RetentionResult(missing=(missing,))
    assert result.newly_lost_constraints([before] if before else []) == ([missing] if is_new else [])
