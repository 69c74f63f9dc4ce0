"""What goes in and what comes out: messages, and statements that cite them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


class StatementKind(StrEnum):
    """What a statement is about; the journal keeps the lasting ones."""

    FACT = "fact"
    EVENT = "event"
    PREFERENCE = "preference"
    PLAN = "plan"
    DECISION = "decision"
    CONSTRAINT = "constraint"
    OPINION = "opinion"
    VERBATIM = "verbatim"


@dataclass(frozen=True)
class StatementMessage:
    """One message of a conversation, or one stored text without a speaker (`role` and `name` empty)."""

    id: str
    role: str
    content: str
    name: str = ""
    created_at: datetime | None = None
    sequence: int = 0

    @property
    def speaker(self) -> str:
        """The name that statements give whoever said it, "" for a text nobody said."""
        return self.name.strip() or self.role.capitalize()


@dataclass(frozen=True)
class StatementPart:
    """A piece of a statement: its text, and the weight of each word of content it adds."""

    text: str
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """A clause that stands alone, made of the words of the messages it cites.

    `subject` is whom or what it is about, `lead` what the text opens with ("Caroline", "Caroline:", "Caroline's"),
    `parts` the rest: the first always stays, later ones may be left off from the end. `factor` weighs the statement as
    a whole against others.
    """

    subject: str
    lead: str
    parts: tuple[StatementPart, ...]
    message_ids: tuple[str, ...]
    kind: StatementKind
    stated_on: date | None = None
    factor: float = 1.0

    @property
    def body(self) -> str:
        """The text without what it opens with."""
        return " ".join(part.text for part in self.parts).rstrip(" ,;:")

    @property
    def text(self) -> str:
        """The statement as it reads on its own."""
        if self.lead:
            return f"{self.lead} {self.body}"
        return capitalised(self.body)


def capitalised(text: str) -> str:
    """`text` with its first letter large, unless its first word is spelled in its own way ("iPhone")."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.islower() else text
