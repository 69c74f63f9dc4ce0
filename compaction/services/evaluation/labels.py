"""Labelled sessions: messages, what a summary of them must keep, and what a memory must never contain.

docs/corpus.md describes the format.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

#: Words that a text must contain: at least one of every group, in any case.
RequiredWords = tuple[tuple[str, ...], ...]

DECISION, CONSTRAINT, OTHER = "decision", "constraint", "other"
SENTENCE_LABELS = frozenset({DECISION, CONSTRAINT, OTHER, "preference", "commitment", "question", "identity"})
#: Why a fact must not be stored.
NEVER_REASONS = ("injection", "quote", "tool", "speculation", "small_talk", "question")


class LabelledSessionError(ValueError):
    """The file is not a labelled session, or a label does not fit its messages."""


@dataclass(frozen=True)
class LabelledMessage:
    """One message; `number` counts from 0."""

    number: int
    role: str
    name: str
    content: str
    created_at: datetime


@dataclass(frozen=True)
class Key:
    """Something that a competent person would keep, in their words."""

    id: str
    kind: str
    text: str
    required: RequiredWords


@dataclass(frozen=True)
class ChangeOfMind:
    """A value that replaced another one in the session."""

    id: str
    current: RequiredWords
    stale: RequiredWords


@dataclass(frozen=True)
class NeverStored:
    """A text of the session that must not become a fact; `reason` is one of `NEVER_REASONS`."""

    id: str
    reason: str
    required: RequiredWords


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence of a message and the kind that a person gives it."""

    message: int
    sentence: str
    label: str


@dataclass(frozen=True)
class LabelledSession:
    """A session with its labels."""

    id: str
    genre: str
    language: str
    messages: tuple[LabelledMessage, ...]
    keys: tuple[Key, ...]
    changes: tuple[ChangeOfMind, ...]
    never: tuple[NeverStored, ...]
    labels: tuple[LabelledSentence, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the session of a file's JSON. Raises `LabelledSessionError`."""
        try:
            messages = tuple(_messages(data["messages"], datetime.fromisoformat(data["start"])))
            contents = {message.number: message.content for message in messages}
            return cls(
                id=str(data["id"]),
                genre=str(data["genre"]),
                language=str(data["language"]),
                messages=messages,
                keys=tuple(_key(row, contents) for row in data["keys"]),
                changes=tuple(_change(row, contents) for row in data["changes"]),
                never=tuple(_never(row, contents) for row in data["never"]),
                labels=tuple(_label(row, contents) for row in data["labels"]),
            )
        except KeyError as error:
            raise LabelledSessionError(f"{error} is missing") from error
        except (TypeError, AttributeError) as error:
            raise LabelledSessionError("a value has the wrong type") from error


def is_labelled_session(data: object) -> bool:
    """Return whether the JSON of a file looks like a labelled session."""
    return isinstance(data, Mapping) and {"messages", "keys"} <= data.keys()


def has_words(required: RequiredWords, text: str) -> bool:
    """Return whether the text contains one of the words of every group."""
    lower = text.casefold()
    return all(any(word.casefold() in lower for word in group) for group in required)


def _messages(rows: Sequence[Mapping[str, Any]], start: datetime) -> Iterator[LabelledMessage]:
    """The messages, one a second on their days, from the time of `start` on."""
    for number, row in enumerate(rows):
        if row["n"] != number:
            raise LabelledSessionError(f"message {number} has the number {row['n']}")
        day = datetime.fromisoformat(row["day"]).date()
        created_at = datetime.combine(day, start.timetz()) + timedelta(seconds=number)
        yield LabelledMessage(number, row["role"], row.get("name", ""), row["content"], created_at)


def _key(row: Mapping[str, Any], contents: Mapping[int, str]) -> Key:
    numbers = row.get("messages") or [row["message"]]
    return Key(row["id"], row["kind"], row["text"], _required_words(row["id"], row["needs"], numbers, contents))


def _change(row: Mapping[str, Any], contents: Mapping[int, str]) -> ChangeOfMind:
    current, stale = (
        _required_words(row["id"], row[name]["needs"], [row[name]["message"]], contents)
        for name in ("current", "stale")
    )
    return ChangeOfMind(row["id"], current, stale)


def _never(row: Mapping[str, Any], contents: Mapping[int, str]) -> NeverStored:
    if row["why"] not in NEVER_REASONS:
        raise LabelledSessionError(f"{row['id']}: the reason {row['why']} is unknown")
    return NeverStored(row["id"], row["why"], _required_words(row["id"], row["needs"], [row["message"]], contents))


def _label(row: Mapping[str, Any], contents: Mapping[int, str]) -> LabelledSentence:
    number, sentence, label = row["message"], row["sentence"], row["label"]
    if label not in SENTENCE_LABELS:
        raise LabelledSessionError(f"the label {label} is unknown")
    if sentence not in contents.get(number, ""):
        raise LabelledSessionError(f"message {number} does not contain {sentence[:60]!r}")
    return LabelledSentence(number, sentence, label)


def _required_words(
    label: str, groups: Sequence[Sequence[str]], numbers: Sequence[int], contents: Mapping[int, str]
) -> RequiredWords:
    """Return the needs of a label, which occur in the messages that it names; others could never be met."""
    required = tuple(tuple(map(str, group)) for group in groups)
    if not required or not has_words(required, "\n".join(contents.get(number, "") for number in numbers)):
        raise LabelledSessionError(f"{label}: its words are not in the messages {numbers}")
    return required
