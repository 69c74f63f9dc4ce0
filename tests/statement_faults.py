"""What every statement must be: about somebody, readable on its own, and made of nothing but its messages' words."""

from collections.abc import Iterator, Mapping

from compaction.services.pipeline.statements.dates import RESOLVED_DATE
from compaction.services.pipeline.statements.extraction import unfit_opening
from compaction.services.pipeline.statements.lexicon import ARTICLES, CONTRACTIONS, STATEMENT_STOP_WORDS, word_set
from compaction.services.pipeline.statements.model import Statement, StatementMessage
from compaction.services.pipeline.statements.people import AND_OTHERS, ASSISTANT_NAME
from compaction.services.pipeline.statements.words import all_words, third_person

_WRITTEN_OUT = [word for full in CONTRACTIONS.values() for word in full.lower().split()]
#: Words that statements may hold without any message saying them.
GLUE_WORDS = STATEMENT_STOP_WORDS.union(
    _WRITTEN_OUT,
    map(third_person, _WRITTEN_OUT),
    word_set(f"{AND_OTHERS} suggests confirmed denied self own one's"),
)


def faults_of(statement: Statement, messages: Mapping[str, StatementMessage]) -> list[str]:
    """What is wrong with a statement, in words; [] when nothing is. `messages` are those it may cite, by id."""
    return [
        *_citation_faults(statement, messages),
        *_opening_faults(statement),
        *_invention_faults(statement, messages),
    ]


def _citation_faults(statement: Statement, messages: Mapping[str, StatementMessage]) -> Iterator[str]:
    if not statement.message_ids:
        yield "cites no message"
    for message_id in statement.message_ids:
        if message_id not in messages:
            yield f"cites the unknown message {message_id}"


def _opening_faults(statement: Statement) -> Iterator[str]:
    if not statement.body:
        yield "says nothing"
    elif first := unfit_opening(statement.lead, statement.body):
        yield f"opens with {first!r}, which stands for nothing it names"


def _invention_faults(statement: Statement, messages: Mapping[str, StatementMessage]) -> Iterator[str]:
    if invented := invented_words(statement, messages):
        yield f"says {', '.join(invented)}, which no cited message says"


def invented_words(statement: Statement, messages: Mapping[str, StatementMessage]) -> list[str]:
    """Words of a statement that are neither its messages' (in the third person), nor a name, nor a date, nor glue."""
    cited = [messages[message_id] for message_id in statement.message_ids if message_id in messages]
    said = {word for message in cited for word in all_words(message.content.replace("’", "'").replace("‘", "'"))}
    said |= {third_person(word) for word in said} | {word.removesuffix("'s") for word in said}
    names = {ASSISTANT_NAME.lower()}.union(*(all_words(message.speaker) for message in messages.values()))
    known = said | names | {f"{name}'s" for name in names} | GLUE_WORDS | ARTICLES
    return [word for word in all_words(RESOLVED_DATE.sub(" ", statement.text)) if word not in known]
