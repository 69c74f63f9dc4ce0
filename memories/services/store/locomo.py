"""Read a conversation of the LoCoMo data set: only the speakers' turns, not the generated summaries."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memories.services.partitions.paths import PartitionPath
from memories.services.store.drafts import NewMemory

#: Questions of this category have no answer in the conversation.
UNANSWERABLE_CATEGORY = 5
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D\d+:\d+")
#: "1:56 pm on 8 May, 2023"
_TIME_FORMAT = "%I:%M %p on %d %B, %Y"


class LocomoError(ValueError):
    """The file is not a LoCoMo conversation; the message states where it differs."""


@dataclass(frozen=True)
class LocomoTurn:
    """One turn of a speaker. `position` counts the turns of the session from 1."""

    speaker: str
    text: str
    dia_id: str
    session_number: int
    position: int
    said_at: datetime

    @property
    def content(self) -> str:
        """The stored text, with its speaker, which adds ten points of recall."""
        return f"{self.speaker}: {self.text}"

    @property
    def session(self) -> str:
        return f"session_{self.session_number}"

    def as_memory(self, stem: str) -> NewMemory:
        return NewMemory(
            content=self.content,
            partition=PartitionPath((("conversation", stem),)),
            kind="episode",
            created_at=self.said_at,
            source_id=self.dia_id,
            session=self.session,
            position=self.position,
            metadata={"dia_id": self.dia_id, "session": self.session_number, "speaker": self.speaker},
        )


@dataclass(frozen=True)
class LocomoQuestion:
    """A question that the conversation answers; `number` counts from 1, `evidence` lists dia_ids, some invalid."""

    number: int
    text: str
    answer: str
    category: int
    evidence: tuple[str, ...]


def parse_conversation(data: object) -> list[LocomoTurn]:
    """Return the turns of a conversation in order. Raises `LocomoError`."""
    if isinstance(data, Mapping) and isinstance(data.get("conversation"), Mapping):
        data = data["conversation"]
    if not isinstance(data, Mapping):
        raise LocomoError("a conversation is a JSON object with keys such as session_1 and session_1_date_time")
    numbers = sorted(int(match[1]) for key in data if (match := _SESSION.fullmatch(str(key))))
    if not numbers:
        raise LocomoError("there is no session_1")
    return [turn for number in numbers for turn in _turns_of(data, number)]


def parse_questions(data: object) -> list[LocomoQuestion]:
    """Return the answerable questions of a conversation in order. Raises `LocomoError`."""
    rows = data.get("qa", []) if isinstance(data, Mapping) else []
    if not isinstance(rows, list):
        raise LocomoError("qa is not a list of questions")
    questions = [_question_of(row, number) for number, row in enumerate(rows, start=1)]
    return [question for question in questions if question.category != UNANSWERABLE_CATEGORY]


def parse_session_time(text: object) -> datetime:
    """Return a time such as "1:56 pm on 8 May, 2023" as UTC. Raises `LocomoError`."""
    try:
        return datetime.strptime(str(text).strip(), _TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise LocomoError(f"{str(text)[:60]!r} is not a time such as '1:56 pm on 8 May, 2023'") from error


def _turns_of(data: Mapping[Any, Any], number: int) -> Iterator[LocomoTurn]:
    name = f"session_{number}"
    turns = data[name]
    if not isinstance(turns, list):
        raise LocomoError(f"{name} is not a list of turns")
    if not turns:
        return
    said_at = parse_session_time(data.get(f"{name}_date_time"))
    for position, turn in enumerate(turns, start=1):
        values = [turn.get(key) if isinstance(turn, Mapping) else None for key in ("speaker", "text", "dia_id")]
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise LocomoError(f"turn {position} of {name} lacks a speaker, a text or a dia_id")
        speaker, text, dia_id = (str(value).strip() for value in values)
        yield LocomoTurn(speaker, text, dia_id, number, position, said_at)


def _question_of(row: object, number: int) -> LocomoQuestion:
    if not isinstance(row, Mapping) or not isinstance(row.get("question"), str) or not row["question"].strip():
        raise LocomoError(f"question {number} lacks its text")
    evidence = row.get("evidence") or []
    if not isinstance(evidence, list) or not isinstance(row.get("category"), int):
        raise LocomoError(f"question {number} lacks a category or a list of evidence")
    return LocomoQuestion(
        number=number,
        text=row["question"].strip(),
        answer=str(row.get("answer", "")).strip(),
        category=row["category"],
        evidence=tuple(_TURN.findall(" ".join(map(str, evidence)))),
    )
