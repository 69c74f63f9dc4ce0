"""The run of a statement: its sentence, with up to two sentences before it where it points back (ADR-0102)."""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.reading import ReadMessage
from compaction.services.pipeline.statements.references import open_pointers
from compaction.services.pipeline.statements.sentences import SourceSentence, run_text
from compaction.services.sessions.drafts import ASSISTANT_ROLE

#: Sentences before the statement's own that its run may take along.
CONTEXT_SENTENCES_MAX = 2


@dataclass(frozen=True)
class Run:
    """Words of a message without openings; `claim` is its last sentence.

    `is_pointing`: some word stands for something that the run does not name; `has_subject`: that word is not the
    subject of the claim.
    """

    text: str
    claim: str
    is_pointing: bool = False
    has_subject: bool = True


def find_run(read: ReadMessage, place: int) -> Run:
    """Return the shortest run that ends with the sentence at `place` and is understood alone, else the sentence."""
    sentence = read.sentences[place]
    claim = read.opened(sentence.text)
    pointers = open_pointers([claim], read.language, read.people)
    alone = Run(claim, claim, bool(pointers), not any(one.is_subject for one in pointers))
    if not pointers:
        return alone
    for count in range(1, CONTEXT_SENTENCES_MAX + 1):
        context = _context(read, place, count)
        if context is None:
            break
        texts = [read.opened(context[0].text), *(one.text for one in context[1:]), claim]
        if not texts[0] or open_pointers(texts, read.language, read.people):
            continue
        text = read.opened(run_text(read.message.content, context[0].start, sentence.end))
        if not filters.is_unfit(text):
            return Run(text, claim)
    rest = filters.after_colon(claim)
    if rest and filters.has_content(rest, 2, read.language) and not open_pointers([rest], read.language, read.people):
        return Run(rest, rest)
    return alone


def _context(read: ReadMessage, place: int, count: int) -> Sequence[SourceSentence] | None:
    """The sentences before, all of the same paragraph and role; None where one of them cannot be part of a run."""
    sentence, context = read.sentences[place], read.sentences[max(place - count, 0) : place]
    if len(context) < count:
        return None
    return context if all(_is_context(read, one, sentence) for one in context) else None


def _is_context(read: ReadMessage, former: SourceSentence, sentence: SourceSentence) -> bool:
    if former.paragraph != sentence.paragraph or former.role != sentence.role:
        return False
    text = read.opened(former.text)
    if filters.is_unfit(former.text) or filters.is_question(former.text) or filters.is_injection(text, read.language):
        return False
    return not (read.message.role == ASSISTANT_ROLE and filters.is_hedged(text, read.language))
