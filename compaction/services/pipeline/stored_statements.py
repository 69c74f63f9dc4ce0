"""Statements and facts as compactions store them, and whether the messages support a statement (ADR-0072)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Self

from compaction.services.pipeline.retention.check import RetainedFact, RetentionResult
from compaction.services.pipeline.statements.lexicon import STATEMENT_STOP_WORDS

#: A statement is dropped when fewer of its content words occur in what it cites.
SUPPORTED_SHARE_MIN = 1 / 3
#: Words are compared by this many first letters, so that inflections count.
STEM_CHARACTERS = 5

_WORD = re.compile(r"\w+(?:['’]\w+)*")
#: Words without content; who speaks is none either.
_STOP_WORDS = STATEMENT_STOP_WORDS | {"user", "assistant", "said", "says"}


@dataclass(frozen=True)
class CitedStatement:
    """A text and the messages it cites. `is_from_earlier`: from the former summary; `is_edited`: by a person, kept."""

    text: str
    message_ids: tuple[str, ...]
    kind: str = "fact"
    subject: str = ""
    stated_on: date | None = None
    is_from_earlier: bool = False
    is_edited: bool = False

    def as_record(self) -> dict[str, Any]:
        """Return the statement as JSON."""
        stated_on = self.stated_on.isoformat() if self.stated_on else None
        return asdict(self) | {"message_ids": list(self.message_ids), "stated_on": stated_on}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the statement of a stored record."""
        stated_on = date.fromisoformat(record["stated_on"]) if record.get("stated_on") else None
        return cls(**{**record, "message_ids": tuple(record["message_ids"]), "stated_on": stated_on})


def retention_to_record(retention: RetentionResult) -> dict[str, Any]:
    """Return the result as JSON for `Compaction.retention`."""
    return {
        "kept": [_fact_record(fact) for fact in retention.kept],
        "missing": [_fact_record(fact) for fact in retention.missing],
        "share": round(retention.share, 4),
    }


def _fact_record(fact: RetainedFact) -> dict[str, Any]:
    message_ids = [str(one) for one in fact.message_ids]
    return {"class": fact.kind, "text": fact.text, "normalised": fact.normalised, "message_ids": message_ids}


def recorded_facts(record: Mapping[str, Any], name: str) -> list[RetainedFact]:
    """Return the facts of a stored record: `name` is `kept` or `missing`."""
    return [
        RetainedFact(one["class"], one["text"], one["normalised"], tuple(one["message_ids"]))
        for one in record.get(name, [])
    ]


def is_supported(statement: str, cited: Sequence[str]) -> bool:
    """Return whether the cited texts contain enough of the statement's content words; without any, one text will do."""
    if not _stems(statement):
        return bool(cited)
    return shared_word_share(statement, "\n".join(cited)) >= SUPPORTED_SHARE_MIN


def shared_word_share(statement: str, text: str) -> float:
    """Return the share of the statement's content words that occur in `text`."""
    wanted = _stems(statement)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _stems(text: str) -> set[str]:
    words = (word.replace("’", "'").removesuffix("'s") for word in _WORD.findall(text.casefold()))
    return {word[:STEM_CHARACTERS] for word in words if word not in _STOP_WORDS}
