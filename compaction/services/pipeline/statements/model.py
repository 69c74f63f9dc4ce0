"""Messages, the statements that cite them, and the rendering of statements as a summary (ADR-0102)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from itertools import groupby

from compaction.services.pipeline.statements.dates import date_text

#: A run can contain the runs of statements at most this many places before it.
PART_DISTANCE_MAX = 3
#: Characters that end a sentence, and those that may follow them.
SENTENCE_ENDS = ".!?…。！？"
_CLOSERS = "\"'”’»)]」』"


class StatementKind(StrEnum):
    """What a statement is about; `RANKS` in `kinds` orders the kinds."""

    DECISION = "decision"
    CONSTRAINT = "constraint"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    COMMITMENT = "commitment"
    QUESTION = "question"
    IDENTITY = "identity"
    VALUE = "value"
    STATE = "state"
    EVENT = "event"
    FACT = "fact"

    @classmethod
    def of(cls, name: str) -> "StatementKind":
        """Return the kind of a stored record; a fact for kinds of former versions."""
        return cls(name) if name in set(cls) else cls.FACT


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
class ReplacedStatement:
    """A statement that a later one replaced."""

    text: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A label and an unbroken run of words of the messages that it cites.

    `text` is "Speaker: run", `subject` the speaker ("" without one). `replaces` are the earlier statements that it
    replaced. `is_edited`: written or changed by a person, so it is always kept. `claim` is the last sentence of a run
    of several, "" otherwise: kind and replacement are the claim's. `worth` is the probability that a reader understands
    it, finds it worth keeping and still true, `lasting` that it also deserves a memory of its own.
    `is_possible_instruction`: it may instruct the assistant, so a person has to approve it.
    """

    text: str
    message_ids: tuple[str, ...]
    kind: StatementKind = StatementKind.FACT
    subject: str = ""
    stated_on: date | None = None
    replaces: tuple[ReplacedStatement, ...] = ()
    is_edited: bool = False
    claim: str = ""
    worth: float = 1.0
    lasting: float = 1.0
    is_possible_instruction: bool = False

    @property
    def lead(self) -> str:
        """The label at the beginning of the text, "" without one."""
        label = f"{self.subject}:"
        return label if self.subject and self.text.startswith(f"{label} ") else ""

    @property
    def body(self) -> str:
        """The text without its label."""
        return self.text[len(self.lead) :].strip()

    @property
    def focus(self) -> str:
        """The claim of a run, else the text without its label."""
        return self.claim or self.body

    def contains(self, other: "Statement") -> bool:
        """Return whether the run of another statement of the same message is a part of this one's."""
        return self.message_ids == other.message_ids and len(other.text) < len(self.text) and other.body in self.body


def render_statements(statements: Sequence[Statement]) -> str:
    """Return the statements in order, a line for each day on which they were made; a label once for each run."""
    lines = []
    for day, group in groupby(statements, key=lambda statement: statement.stated_on):
        text = " ".join(_runs(list(group)))
        lines.append(f"{date_text(day)}: {drop_repeated_day(text, day)}" if day else text)
    return "\n".join(lines)


def drop_repeated_day(text: str, day: date | None) -> str:
    """Return the text under the heading of a day, with that day and its year left out of brackets."""
    if day is None or ")" not in text:
        return text
    name = date_text(day)
    text = text.replace(f" ({name})", "").replace(f" before {name})", " before)").replace(f" after {name})", " after)")
    return text.replace(f" de {day.year})", ")").replace(f" {day.year})", ")")


def _runs(statements: Sequence[Statement]) -> list[str]:
    texts = []
    for lead, run in groupby(statements, key=lambda statement: statement.lead):
        bodies = " ".join(_ended(one.body) for one in run)
        texts.append(f"{lead} {bodies}" if lead else bodies)
    return texts


def _ended(text: str) -> str:
    return text if text.rstrip(_CLOSERS).endswith(tuple(SENTENCE_ENDS)) else f"{text}."
