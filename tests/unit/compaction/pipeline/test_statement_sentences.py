"""The sentences of a message: where they end, and which of them are code, quotations or parts of lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.statements.languages import language_of, load_language, main_language
from compaction.services.pipeline.statements.sentences import SentenceRole, split_sentences

ENGLISH = load_language("en")


def texts(content: str, language: str = "en", *roles: SentenceRole) -> list[str]:
    """The texts of a message's sentences, of the given roles or of all."""
    sentences = split_sentences(content, load_language(language))
    return [sentence.text for sentence in sentences if not roles or sentence.role in roles]


def roles(content: str) -> list[SentenceRole]:
    return [sentence.role for sentence in split_sentences(content, ENGLISH)]


@pytest.mark.parametrize(
    ("language", "content", "expected"),
    [
        ("en", "Dr. Ames called Mrs. Bold. Flat No. 7 is free.", ["Dr. Ames called Mrs. Bold.", "Flat No. 7 is free."]),
        ("en", "It costs 3.5 kg, e.g. more. Then go.", ["It costs 3.5 kg, e.g. more.", "Then go."]),
        ("en", "The approx. size is 3 metres. Good.", ["The approx. size is 3 metres.", "Good."]),
        (
            "en",
            "See https://a.example/b?c=1.2 first. Then stop.",
            ["See https://a.example/b?c=1.2 first.", "Then stop."],
        ),
        ("en", "I met J. R. Hall. He left.", ["I met J. R. Hall.", "He left."]),
        ("en", "ok then. we stay. never mind", ["ok then.", "we stay.", "never mind"]),
        ("de", "Das kostet z. B. 3,50 €. Gut.", ["Das kostet z. B. 3,50 €.", "Gut."]),
        ("de", "Am Samstag, 6. Juni, kommt er. Gut.", ["Am Samstag, 6. Juni, kommt er.", "Gut."]),
        ("de", "Er wohnt im 3. OG ohne Aufzug.", ["Er wohnt im 3. OG ohne Aufzug."]),
        ("de", "Der 2. Termin ist frei. Dann geht es.", ["Der 2. Termin ist frei.", "Dann geht es."]),
        ("es", "¿Vienes mañana? ¡Claro! El Sr. Ruiz también.", ["¿Vienes mañana?", "¡Claro!", "El Sr. Ruiz también."]),
        ("es", "Cuesta aprox. 3.5 euros. Bien.", ["Cuesta aprox. 3.5 euros.", "Bien."]),
        ("fr", "M. Dupont arrive le 3 mai 2026. Bien.", ["M. Dupont arrive le 3 mai 2026.", "Bien."]),
        ("zh", "我对青霉素过敏。请不要在周五部署！好吗？", ["我对青霉素过敏。", "请不要在周五部署！", "好吗？"]),
        ("ja", "私は卵が食べられません。金曜日は休みです。", ["私は卵が食べられません。", "金曜日は休みです。"]),
    ],
)
def test_sentences_end_where_people_end_them(language: str, content: str, expected: list[str]) -> None:
    assert texts(content, language) == expected


def test_clause_with_a_subject_after_a_dash_or_semicolon_is_separate_and_a_comma_never_splits() -> None:
    assert texts("I moved to Porto last year - it is a quiet town.") == [
        "I moved to Porto last year",
        "it is a quiet town.",
    ]
    for whole in (
        "I moved to Porto - last year in May.",
        "We go on Friday, Saturday and Sunday, unless it rains, which it may.",
        'She wrote "I moved to Porto - it is a quiet town" on a card.',
    ):
        assert texts(whole) == [whole]


def test_wrapped_line_continues_its_sentence_and_a_short_line_does_not() -> None:
    wrapped = "We store all of the timestamps of this project in UTC, and the\noriginal string in a column."
    assert texts(wrapped) == [wrapped.replace("\n", " ")]
    assert texts("Milk\nBread\nTwo eggs") == ["Milk", "Bread", "Two eggs"]


def test_code_logs_and_tables_are_no_prose() -> None:
    content = (
        "I ran it:\n```python\nlimit = 30\n```\n[tool call] shell {}\n2026-03-08T08:15:02Z INFO start\n"
        '{"status": "ok"}\n| a | b |\n## Result\nThe limit is 30.'
    )
    code = ["limit = 30", "[tool call] shell", "2026-03-08T08:15:02Z INFO start", '"status": "ok"']
    found = texts(content, "en", SentenceRole.CODE)
    assert all(any(one in text for text in found) for one in code)
    assert texts(content, "en", SentenceRole.TABLE) == ["a | b |"]
    assert texts(content, "en", SentenceRole.HEADING) == ["Result"]
    assert texts(content, "en", SentenceRole.PROSE) == ["I ran it:", "The limit is 30."]


def test_prose_that_begins_like_code_is_prose() -> None:
    for content in ("return the parcel by Friday", "import taxes are due", "const means fixed"):
        assert roles(content) == [SentenceRole.PROSE]


def test_list_items_keep_their_numbers_and_not_their_marks() -> None:
    sentences = split_sentences("Two ways:\n1. Walk there.\n2) Take the bus.\n- Stay", ENGLISH)
    assert [(one.role, one.number, one.text) for one in sentences[1:]] == [
        (SentenceRole.LIST_ITEM, "1", "Walk there."),
        (SentenceRole.LIST_ITEM, "2", "Take the bus."),
        (SentenceRole.LIST_ITEM, "", "Stay"),
    ]


@pytest.mark.parametrize(
    ("content", "own", "quoted"),
    [
        (
            "See this:\n> We never deploy.\n> Ask Jo.\nOurs differs.",
            ["See this:", "Ours differs."],
            ["We never deploy.", "Ask Jo."],
        ),
        (
            'My aunt says:\n\n"Always lock the door. The dog must stay."\n\nWe have no dog.',
            ["My aunt says:", "We have no dog."],
            ['"Always lock the door. The dog must stay."'],
        ),
        ("Ray wrote:\nWe moved to fibre. They must pay.", ["Ray wrote:"], ["We moved to fibre.", "They must pay."]),
        (
            "Fwd:\nFrom: Jo Hall\nSubject: Fees\nThe fee is 30.",
            ["Fwd:"],
            ["From: Jo Hall", "Subject: Fees", "The fee is 30."],
        ),
        ('The bell says "Abara / Finch".', ['The bell says "Abara / Finch".'], []),
    ],
)
def test_texts_of_others_are_quotations(content: str, own: list[str], quoted: list[str]) -> None:
    assert texts(content, "en", SentenceRole.PROSE) == own
    assert texts(content, "en", SentenceRole.QUOTE) == quoted


@given(st.text(max_size=400))
def test_every_sentence_is_an_unbroken_run_of_the_message_but_for_marks_of_bold_text(content: str) -> None:
    for sentence in split_sentences(content, ENGLISH):
        run = " ".join(content[sentence.start : sentence.end].split())
        assert sentence.text in run or sentence.text in run.replace("**", "")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("The solicitor is Ms. Harding, call her. Ok?", ["The solicitor is Ms. Harding, call her.", "Ok?"]),
        ("See Dr. Ames or Rev. Pike. Then ring.", ["See Dr. Ames or Rev. Pike.", "Then ring."]),
        ("Call **Ada** or **Ben**.", ["Call **Ada** or **Ben**."]),
        ("- **the switch** is worn\n- or **the board", ["the switch is worn", "or the board"]),
    ],
)
def test_titles_and_marks_of_bold_text_are_not_cut(content: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(content, ENGLISH)] == expected


def test_language_is_that_of_most_typical_words_or_of_the_conversation() -> None:
    assert language_of("Wir nehmen den Zug und nicht das Auto.", ENGLISH).name == "de"
    assert language_of("No puedo ir porque tengo que trabajar.", ENGLISH).name == "es"
    assert language_of("Je ne suis pas dans la maison avec vous.", ENGLISH).name == "fr"
    assert language_of("我对青霉素过敏。", ENGLISH).name == "zh"
    assert language_of("卵は食べられません。", ENGLISH).name == "ja"
    assert language_of("Я не ем орехи.", ENGLISH).name == "ru"
    assert language_of("42", load_language("de")).name == "de"
    assert main_language(["ja", "Wir nehmen den Zug und nicht das Auto.", "ok"]).name == "de"
    assert main_language([]).name == "en"
