"""Learned predictions: probabilities that hold for sentences without annotations."""

import pytest

from compaction.services.pipeline.statements.model import StatementKind, StatementMessage
from compaction.services.pipeline.statements.parsing import parse_messages
from compaction.services.pipeline.statements.prediction import (
    KIND_LETTERS,
    OUTPUTS,
    Form,
    predict_rows,
    predict_sentences,
    predict_text,
)

#: Clear sentences of the three languages; none is in an annotated session.
WORTH = [
    ("I am allergic to penicillin.", StatementKind.CONSTRAINT),
    ("Never restart the ledger service before the night batch has finished.", StatementKind.CONSTRAINT),
    ("We decided to move the warehouse to Tavira on 9 June 2027.", StatementKind.DECISION),
    ("My phone number is 0151 2345678 and my name is Ada Lindqvist.", StatementKind.IDENTITY),
    ("Ich bin allergisch gegen Penicillin.", StatementKind.CONSTRAINT),
    ("Wir haben entschieden, das Lager am 9. Juni nach Husum zu verlegen.", StatementKind.DECISION),
    ("Soy alérgica a la penicilina.", StatementKind.CONSTRAINT),
    ("Hemos decidido trasladar el almacén a Tavira el 9 de junio.", StatementKind.DECISION),
]
IDLE = [
    "Thanks, that sounds great!",
    "You must be so happy!",
    "No worries at all.",
    "Let me have a quick look.",
    "Super, vielen Dank dir!",
    "Na, dann viel Spaß!",
    "¡Qué bien, me alegro mucho!",
    "Vale, gracias.",
]


def test_probabilities_are_between_0_and_1_and_forms_and_kinds_sum_to_1() -> None:
    parsed = parse_messages(
        [
            StatementMessage("a", "user", "The pump leaks. Call Dana by Friday."),
            *(StatementMessage(str(n), "assistant", text, sequence=n + 1) for n, text in enumerate(IDLE)),
        ]
    )
    for predicted in (one for sentences in predict_sentences(parsed) for one in sentences):
        assert all(
            0 <= share <= 1 for share in (predicted.worth, predicted.lasting, predicted.replaced, predicted.replaces)
        )
        assert sum(predicted.forms.values()) == pytest.approx(1)
        assert sum(predicted.kinds.values()) == pytest.approx(1)


def test_outputs_are_the_columns_of_the_weights() -> None:
    (predicted,) = predict_rows([[("opens", 1.0)]])
    assert set(predicted.forms) == set(Form)
    assert set(predicted.kinds) == set(KIND_LETTERS)
    assert len(OUTPUTS) == len(set(OUTPUTS))
    assert predict_rows([]) == []


@pytest.mark.parametrize("text", [text for text, _ in WORTH])
def test_what_binds_or_identifies_is_worth_more_than_any_small_talk(text: str) -> None:
    _, predicted = predict_text(text)
    assert predicted.worth > max(predict_text(idle)[1].worth for idle in IDLE)
    assert predicted.forms[Form.ALONE] > 0.5


def test_most_clear_sentences_have_their_kind() -> None:
    right = [text for text, kind in WORTH if predict_text(text)[1].kind == kind]
    assert len(right) >= len(WORTH) - 1


def test_text_without_words_gets_a_prediction_too() -> None:
    language, predicted = predict_text("…")
    assert language.name == "en"
    assert predicted.worth < 0.5
