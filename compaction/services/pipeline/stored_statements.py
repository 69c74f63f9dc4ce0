"""Statements as compactions keep them, whoever made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Self


@dataclass(frozen=True)
class CitedStatement:
    """A statement as compactions store it: a text that stands alone, and the ids of the messages that say it.

    `is_from_earlier`: taken over from the summary before. `is_edited`: a person's words, which nothing overrules.
    """

    text: str
    message_ids: tuple[str, ...]
    kind: str = "fact"
    subject: str = ""
    said_on: date | None = None
    is_from_earlier: bool = False
    is_edited: bool = False

    def as_record(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "text": self.text,
            "message_ids": list(self.message_ids),
            "kind": self.kind,
            "subject": self.subject,
            "said_on": self.said_on.isoformat() if self.said_on else None,
            "is_from_earlier": self.is_from_earlier,
            "is_edited": self.is_edited,
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """From what `as_record` gave."""
        said_on = record.get("said_on")
        return cls(
            text=record["text"],
            message_ids=tuple(record["message_ids"]),
            kind=record.get("kind", "fact"),
            subject=record.get("subject", ""),
            said_on=date.fromisoformat(said_on) if said_on else None,
            is_from_earlier=bool(record.get("is_from_earlier")),
            is_edited=bool(record.get("is_edited")),
        )
