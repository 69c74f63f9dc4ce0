"""What was learned of sentences: probabilities that hold for sentences nobody annotated."""

import numpy as np
import pytest

from compaction.services.pipeline.statements.features import Conversation
from compaction.services.pipeline.statements.judgement import (
    KIND_LETTERS,
    OUTPUTS,
    Form,
    first_shares,
    judge_sentences,
    judge_text,
    neighbour_rows,
)
from compaction.services.pipeline.statements.model import StatementKind, StatementMessage
from compaction.services.pipeline.statements.reading import read_messages

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
    reads = read_messages(
        [
            StatementMessage("a", "user", "The pump leaks. Call Dana by Friday."),
            *(StatementMessage(str(n), "assistant", text, sequence=n + 1) for n, text in enumerate(IDLE)),
        ]
    )
    for judged in (one for sentences in judge_sentences(reads) for one in sentences):
        assert all(0 <= share <= 1 for share in (judged.worth, judged.lasting, judged.replaced, judged.replaces))
        assert sum(judged.forms.values()) == pytest.approx(1)
        assert sum(judged.kinds.values()) == pytest.approx(1)


def test_outputs_are_the_columns_of_the_weights() -> None:
    _, judged = judge_text("The pump leaks.")
    assert set(judged.forms) == set(Form)
    assert set(judged.kinds) == set(KIND_LETTERS)
    assert first_shares([[("opens", 1.0)]]).shape == (1, len(set(OUTPUTS)))
    assert judge_sentences([]) == []


@pytest.mark.parametrize("text", [text for text, _ in WORTH])
def test_what_binds_or_identifies_is_worth_more_than_any_small_talk(text: str) -> None:
    _, judged = judge_text(text)
    assert judged.worth > max(judge_text(idle)[1].worth for idle in IDLE)
    assert judged.forms[Form.ALONE] > 0.5


def test_most_clear_sentences_have_their_kind() -> None:
    right = [text for text, kind in WORTH if judge_text(text)[1].kind == kind]
    assert len(right) >= len(WORTH) - 1


def test_text_without_words_is_judged_too() -> None:
    language, judged = judge_text("…")
    assert language.name == "en"
    assert judged.worth < 0.5


def test_second_step_reads_the_odds_of_a_sentence_and_of_those_around_it() -> None:
    told = [("a", "The pump leaks. Call Dana."), ("b", "She comes on Friday.")]
    reads = read_messages([StatementMessage(one, "user", text, one, sequence=n) for n, (one, text) in enumerate(told)])
    conversation = Conversation(reads)
    shares = np.full((3, len(OUTPUTS)), 0.5)
    shares[0] = 0.9
    rows = neighbour_rows(conversation, shares)
    own, before = rows[:, 0], rows[:, len(OUTPUTS)]
    assert own == pytest.approx([np.log(9), 0, 0], abs=1e-6)
    assert before == pytest.approx([-9, np.log(9), -9])
