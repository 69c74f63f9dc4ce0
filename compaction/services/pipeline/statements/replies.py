"""Find the sentence that a reply answers, with which the reply may be understood (ADR-0360)."""

from dataclasses import dataclass

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.parsing import SPOKEN, ParsedMessage
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES

#: By how much the probability that a reply is understood must be higher with the sentence than without it: for the
#: question with which a message ends, and for any other sentence. Of 143 first sentences of replies to other messages
#: for which weights learned from other sessions give a probability of at least .4, 43 % need the preceding sentence,
#: and 34 % are clear without it.
QUESTION_COST, SENTENCE_COST = 0.15, 0.4
#: A sentence that is no question is answered only if it has at least this many words.
ANSWERED_WORDS_MIN = 5


@dataclass(frozen=True)
class AnsweredSentence:
    """The place of a sentence in the preceding message, and the cost of a pair of it and the reply."""

    place: int
    cost: float


def answered_sentence(before: ParsedMessage, reply: ParsedMessage, place: int) -> AnsweredSentence | None:
    """Return the sentence of the preceding message that sentence `place` of the reply answers; None without one.

    It is the question with which the message ends. Only the first sentence of a reply answers an earlier question of
    the message or, if there is none, its last sentence, unless that is an option of the assistant. A system message is
    never answered.
    """
    if before.message.speaker == reply.message.speaker or before.message.role in INSTRUCTING_ROLES:
        return None
    sentences = before.sentences
    spoken = [one for one, sentence in enumerate(sentences) if sentence.role in SPOKEN]
    questions = [one for one in spoken if filters.is_question(sentences[one].text)]
    last = len(sentences) - 1
    if last in questions:
        return AnsweredSentence(last, QUESTION_COST)
    if place or not spoken:
        return None
    answered = (questions or spoken)[-1]
    text = sentences[answered].text
    is_option = before.message.role == ASSISTANT_ROLE and filters.is_hedged(text, before.language)
    if (is_option and not questions) or len(text.split()) < ANSWERED_WORDS_MIN:
        return None
    return AnsweredSentence(answered, SENTENCE_COST)
