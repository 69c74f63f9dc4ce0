"""The features of a sentence in its conversation."""

from compaction.services.pipeline.statements.features import Conversation, words_of
from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.statements.parsing import parse_messages


def features(*texts: str) -> list[dict[str, float]]:
    """The features of each sentence of a conversation of Ann and an assistant in turn."""
    roles = ("user", "assistant")
    messages = [StatementMessage(str(n), roles[n % 2], text, sequence=n) for n, text in enumerate(texts)]
    return [dict(row) for row in Conversation(parse_messages(messages)).rows()]


def test_words_are_in_lower_case_and_numbers_are_one_word() -> None:
    assert words_of("Don’t pay 12.50 EUR on B-7!") == ["don't", "pay", "#", ".", "#", "eur", "on", "#", "!"]


def test_every_sentence_has_its_words_place_and_speaker() -> None:
    first, second, reply = features("The pump leaks. Call Dana.", "Done, she comes tomorrow.")
    assert {"word:pump", "first:the", "is_first", "role:user", "opens"} <= first.keys()
    assert "is_last" in second
    assert second["before:the"] > 0
    assert reply["role:assistant"] == 1.0
    assert {"is_only", "answers:call"} <= reply.keys() | {"is_only"}


def test_question_before_a_reply_is_known() -> None:
    asked, reply = features("Which pump do we take?", "The blue one.")
    assert asked["asks"] == 1.0
    assert (reply["is_asked"], reply["is_asked:first"]) == (1.0, 1.0)


def test_words_that_come_again_count_for_all_their_sentences() -> None:
    first, other, last = features("The heron landed.", "Nothing else.", "The heron left.")
    assert (first["seen"], other["again"], last["again"]) == (0.0, 0.0, 0.0)
    assert first["again"] == last["seen"] > 0
    assert first["begun"] > 0 == last["begun"]
    assert last["recent"] == first["again"]


def test_constraints_and_cues_are_features() -> None:
    (never,) = features("Never restart the heron on Fridays.")
    assert never["binds"] == never["denies:True"] == 1.0
    (plain,) = features("The heron restarted on Friday.")
    assert "binds" not in plain
