"""Statements and facts as compactions store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

from compaction.services.pipeline.retention import RetainedFact, RetentionResult


@dataclass(frozen=True)
class CitedStatement:
    """A statement as compactions store it: a self-contained text, and the ids of the messages that it cites.

    `is_from_earlier`: taken from the former summary. `is_edited`: written by a person and never dropped.
    """

    text: str
    message_ids: tuple[str, ...]
    kind: str = "fact"
    subject: str = ""
    stated_on: date | None = None
    is_from_earlier: bool = False
    is_edited: bool = False

    def as_record(self) -> dict[str, Any]:
        """Return the statement as JSON."""
        return {
            "text": self.text,
            "message_ids": list(self.message_ids),
            "kind": self.kind,
            "subject": self.subject,
            "stated_on": self.stated_on.isoformat() if self.stated_on else None,
            "is_from_earlier": self.is_from_earlier,
            "is_edited": self.is_edited,
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the statement of a stored record."""
        stated_on = record.get("stated_on")
        return cls(
            text=record["text"],
            message_ids=tuple(record["message_ids"]),
            kind=record.get("kind", "fact"),
            subject=record.get("subject", ""),
            stated_on=date.fromisoformat(stated_on) if stated_on else None,
            is_from_earlier=bool(record.get("is_from_earlier")),
            is_edited=bool(record.get("is_edited")),
        )


def retention_to_record(retention: RetentionResult) -> dict[str, Any]:
    """Return the result as JSON for `Compaction.retention`."""
    return {
        "kept": [_fact_record(fact) for fact in retention.kept],
        "missing": [_fact_record(fact) for fact in retention.missing],
        "share": round(retention.share, 4),
    }


def _fact_record(fact: RetainedFact) -> dict[str, Any]:
    return {
        "class": fact.kind,
        "text": fact.text,
        "normalised": fact.normalised,
        "message_ids": [str(one) for one in fact.message_ids],
    }


def recorded_facts(record: Mapping[str, Any], name: str) -> list[RetainedFact]:
    """Return the facts of a stored record: `name` is `kept` or `missing`."""
    return [
        RetainedFact(one["class"], one["text"], one["normalised"], tuple(one["message_ids"]))
        for one in record.get(name, [])
    ]
