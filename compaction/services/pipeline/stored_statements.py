"""Statements and facts as compactions store them, and whether the messages support a statement (ADR-0072)."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Self

from compaction.services.pipeline.journal_entries import is_waiting
from compaction.services.pipeline.retention.check import RetainedFact, RetentionResult, fact_weight
from compaction.services.pipeline.retention.constraints import words_of_content

#: A statement is dropped if a smaller share of its content words occurs in the cited messages. Of 1,210 facts that a
#: model extracted from conversations, 83 % reach this share with the messages that they cite, and 2 % with other
#: messages of the session.
SUPPORTED_SHARE_MIN = 0.5
#: A compaction stores this many of the next-best statements, which a reviewer can swap in.
CANDIDATES_MAX = 30
#: Words are compared by this many first letters, so that inflections count.
SHARED_STEM_CHARACTERS = 5

#: Why there is no share: the messages state nothing that counts, or are in a language without rules.
NO_FACTS, NO_RULES = "no_facts", "no_rules_for_language"


@dataclass(frozen=True)
class CitedStatement:
    """A text and its cited messages. `is_from_earlier`: from the former summary; `is_edited`: by a person, always kept.

    `replaces` are the texts of earlier statements that it replaced, `worth` the probability that a reader would keep it
    (1 for those of a model or a person). `is_possible_instruction`: it may instruct the assistant, so a person has to
    approve it.
    """

    text: str
    message_ids: tuple[str, ...]
    kind: str = "fact"
    subject: str = ""
    stated_on: date | None = None
    is_from_earlier: bool = False
    is_edited: bool = False
    replaces: tuple[str, ...] = ()
    worth: float = 1.0
    is_possible_instruction: bool = False

    def as_record(self) -> dict[str, Any]:
        """Return the statement as JSON."""
        stated_on = self.stated_on.isoformat() if self.stated_on else None
        lists = {"message_ids": list(self.message_ids), "replaces": list(self.replaces)}
        return asdict(self) | lists | {"stated_on": stated_on}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the statement of a stored record; older records have fewer fields."""
        stated_on = date.fromisoformat(record["stated_on"]) if record.get("stated_on") else None
        tuples = {"message_ids": tuple(record["message_ids"]), "replaces": tuple(record.get("replaces", ()))}
        return cls(**{**record, **tuples, "stated_on": stated_on})


def retention_to_record(retention: RetentionResult) -> dict[str, Any]:
    """Return the result as JSON for `Compaction.retention`."""
    return {
        "kept": [_fact_record(fact) for fact in retention.kept],
        "missing": [_fact_record(fact) for fact in retention.missing],
        "share": None if retention.share is None else round(retention.share, 4),
        "not_measured": why_not_measured(retention),
    }


def retention_of(record: Mapping[str, Any]) -> RetentionResult:
    """Return the result of a stored record."""
    kept, missing = (tuple(recorded_facts(record, name)) for name in ("kept", "missing"))
    return RetentionResult(kept, missing, record.get("share"))


def is_measured(record: Mapping[str, Any]) -> bool:
    """Return whether a stored record has a share; False too for facts in a language without rules."""
    return record.get("share") is not None


def why_not_measured(retention: RetentionResult) -> str:
    """Return `NO_FACTS` or `NO_RULES` for a result without a share, "" for one with it."""
    if retention.share is not None:
        return ""
    return NO_RULES if retention.kept or retention.missing else NO_FACTS


def possible_instructions(
    statements: Iterable[Mapping[str, Any]], journal: Iterable[Mapping[str, Any]]
) -> Collection[str]:
    """Return the new texts among stored statements and waiting facts that may instruct the assistant, each once."""
    new = (record for record in statements if not record.get("is_from_earlier"))
    return {one["text"] for one in (*new, *filter(is_waiting, journal)) if one.get("is_possible_instruction")}


def _fact_record(fact: RetainedFact) -> dict[str, Any]:
    message_ids = [str(one) for one in fact.message_ids]
    fields = {"class": fact.kind, "text": fact.text, "normalised": fact.normalised, "weight": fact.weight}
    return {**fields, "message_ids": message_ids}


def recorded_facts(record: Mapping[str, Any], name: str) -> list[RetainedFact]:
    """Return the facts of a stored record: `name` is `kept` or `missing`."""
    return [
        RetainedFact(
            one["class"],
            one["text"],
            one["normalised"],
            tuple(one["message_ids"]),
            one.get("weight", fact_weight(one["class"])),
        )
        for one in record.get(name, [])
    ]


def is_supported(statement: str, cited: Sequence[str]) -> bool:
    """Return whether the cited texts contain enough of the statement's content words; without any, one text will do."""
    return is_supported_by(shared_stems(statement), [shared_stems(text) for text in cited])


def is_supported_by(stems: Set[str], cited: Sequence[Set[str]]) -> bool:
    """Return the same as `is_supported` for texts given by their stems."""
    return share_in(stems, *cited) >= SUPPORTED_SHARE_MIN if stems else bool(cited)


def share_in(stems: Set[str], *texts: Set[str]) -> float:
    """Return the share of the content words of a statement that occur in one of the texts, all given by their stems."""
    return sum(any(stem in text for text in texts) for stem in stems) / len(stems) if stems else 0.0


def shared_stems(text: str) -> frozenset[str]:
    """Return the first letters of the content words of a text, by which a statement is compared with its sources."""
    return frozenset(word[:SHARED_STEM_CHARACTERS] for word in words_of_content(text))
