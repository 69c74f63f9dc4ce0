"""The sentences with the facts that a summary lost (ADR-0104)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from compaction.services.pipeline.retention.check import RetainedFact, text_fact_keys
from compaction.services.pipeline.retention.stated import stated_sentences
from compaction.services.pipeline.statements.dates import date_text
from compaction.services.sessions.turns import SessionTurn


@dataclass(frozen=True)
class FactSentence:
    """A verbatim sentence, its speaker and date, and the facts in it."""

    speaker: str
    sentence: str
    message_id: str
    facts: tuple[RetainedFact, ...]
    stated_on: date | None = None

    @property
    def text(self) -> str:
        """The sentence with its speaker and date, so that it can be understood alone."""
        day = f" ({date_text(self.stated_on)})" if self.stated_on else ""
        return f"{self.speaker}{day}: {self.sentence}"

    @property
    def weight(self) -> float:
        """The total weight of its facts."""
        return sum(fact.weight for fact in self.facts)

    @property
    def is_binding(self) -> bool:
        """Whether a person reviews a summary without it."""
        return any(fact.is_binding for fact in self.facts)


def sentences_with_facts(missing: Iterable[RetainedFact], turns: Mapping[str, SessionTurn]) -> list[FactSentence]:
    """Return for each fact the sentence that first says it, each once; binding ones first, then those of most weight.

    A fact that no whole sentence says, such as a line of a log, has none. Each message is read once.
    """
    unstated = {fact.key: fact for fact in missing}
    keys_of: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for fact in unstated.values():
        for message_id in map(str, fact.message_ids):
            keys_of[message_id].add(fact.key)
    sentences = []
    for message_id, turn in turns.items():
        keys = keys_of.get(message_id, set()) & unstated.keys()
        for sentence in stated_sentences(turn) if keys else ():
            stated = [unstated.pop(key) for key in text_fact_keys(sentence) if key in keys and key in unstated]
            if stated:
                day = turn.created_at.date() if turn.created_at else None
                speaker = turn.name.strip() or turn.role.capitalize()
                sentences.append(FactSentence(speaker, sentence, message_id, tuple(stated), day))
    return sorted(sentences, key=lambda one: (not one.is_binding, -one.weight))
