"""The messages of a conversation as sentences, with their speakers and languages (ADR-0102)."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.languages import Language, language_of, main_language
from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence, split_sentences
from compaction.services.sessions.drafts import ASSISTANT_ROLE, TOOL_ROLE, USER
from memories.services.time_limits import in_time

#: Sentences of one message that may become statements; a document has more.
SENTENCES_PER_MESSAGE_MAX = 200
#: Minimum letters of a first name in a short form of it.
SHORT_NAME_LETTERS_MIN = 3
#: The roles of sentences in the speaker's own words.
SPOKEN = frozenset({SentenceRole.PROSE, SentenceRole.LIST_ITEM})
#: A name and a colon before what was said.
_WRITTEN_SPEAKER = re.compile(r"([A-Z][\w'-]+(?: [A-Z][\w'-]+)?): +(?=\S)")
#: A name that is called at the beginning of a sentence.
_VOCATIVE = re.compile(r"@?([^\W\d_]+)\s*(?:[,!.–-]+\s+(?=\S)|[!.]*$)")


@dataclass(frozen=True)
class ParsedMessage:
    """A message with its sentences and their language.

    `people` are the first names of all speakers in lower case; `is_among_people`: several people talk, and no
    assistant takes part.
    """

    message: StatementMessage
    language: Language
    sentences: Sequence[SourceSentence]
    people: Collection[str] = field(default=())
    is_among_people: bool = False

    @property
    def spoken(self) -> Sequence[SourceSentence]:
        """The sentences in the speaker's own words."""
        return [sentence for sentence in self.sentences if sentence.role in SPOKEN]

    def opened(self, text: str) -> str:
        """Return a sentence without acknowledgements and names called at its beginning; "" if nothing else remains."""
        whole = text
        for _ in range(filters.OPENINGS_MAX):
            before = text
            text = filters.strip_opening(text, self.language)
            called = _VOCATIVE.match(text)
            is_alone = called is not None and called.end() == len(text)
            if called and is_called(called[1], self.people) and (not is_alone or text != whole):
                text = text[called.end() :]
            if text == before:
                break
        return text


def is_called(word: str, people: Collection[str]) -> bool:
    """Return whether the word is a speaker's first name or its beginning ("Mel" for Melanie)."""
    lower = word.lower()
    if lower in people:
        return True
    return len(lower) >= SHORT_NAME_LETTERS_MIN and any(name.startswith(lower) for name in people)


def parse_messages(messages: Sequence[StatementMessage]) -> list[ParsedMessage]:
    """Return the messages without recalled text; tool outputs and messages without sentences are excluded."""
    ordered = _with_speakers(sorted(messages, key=lambda message: message.sequence))
    spoken = [message for message in ordered if message.role != TOOL_ROLE]
    default = main_language(message.content for message in spoken)
    people = frozenset(message.name.split()[0].lower() for message in spoken if message.name.strip())
    is_among_people = len(people) > 1 and not any(message.role == ASSISTANT_ROLE for message in spoken)
    parsed = []
    for message in in_time(spoken):
        language = language_of(message.content, default)
        sentences = split_sentences(message.content, language)[:SENTENCES_PER_MESSAGE_MAX]
        if any(one.role in (*SPOKEN, SentenceRole.QUOTE) for one in sentences):
            parsed.append(ParsedMessage(message, language, sentences, people, is_among_people))
    return parsed


def _with_speakers(messages: Sequence[StatementMessage]) -> list[StatementMessage]:
    """Speakers written into the text ("Caroline: I ran.") become names; with a role, if two messages have it."""
    written = [_WRITTEN_SPEAKER.match(message.content) if not message.name else None for message in messages]
    counts = Counter(match[1] for match in written if match)
    return [
        replace(message, name=match[1], content=message.content[match.end() :])
        if match and (not message.role or (message.role == USER and counts[match[1]] > 1))
        else message
        for message, match in zip(messages, written, strict=True)
    ]
