"""Messages, the statements that cite them, and statements as the text of a summary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from itertools import groupby

from compaction.services.pipeline.statements.dates import date_text


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
        """The speaker's name in statements, "" for a text without a speaker."""
        return self.name.strip() or self.role.capitalize()

    @property
    def stated_on(self) -> date | None:
        """The day of the message."""
        return self.created_at.date() if self.created_at else None


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
        """The statement as it reads on its own; without a lead, it begins with a capital unless it is "iPhone"."""
        if self.lead:
            return f"{self.lead} {self.body}"
        return self.body[:1].upper() + self.body[1:] if self.body.split(" ", 1)[0].islower() else self.body


def render_statements(statements: Sequence[Statement]) -> str:
    """Return the statements in order, a line for each day on which they were said."""
    lines = []
    for day, group in groupby(statements, key=lambda statement: statement.stated_on):
        text = " ".join(_sentences(group))
        lines.append(f"{date_text(day)}: {drop_repeated_day(text, day)}" if day else text)
    return "\n".join(lines)


def drop_repeated_day(text: str, day: date | None) -> str:
    """Return the text under the heading of a day, without that day in brackets."""
    if day is None or ")" not in text:
        return text
    said = date_text(day)
    text = text.replace(f" ({said})", "").replace(f" before {said})", " before)").replace(f" after {said})", " after)")
    return text.replace(f" {day.year})", ")")


def _sentences(statements: Iterator[Statement]) -> Iterator[str]:
    """Statements that open alike share a sentence."""
    for lead, run in groupby(statements, key=lambda statement: statement.lead):
        told = list(run)
        texts = [f"{lead} {'; '.join(one.body for one in told)}"] if lead else [one.text for one in told]
        yield from (text if text.endswith((".", "!", "?", '."', '!"', '?"')) else f"{text}." for text in texts)
