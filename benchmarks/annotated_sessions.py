"""Read the sessions with annotated sentences that docs/corpus.md describes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.statements.parsing import ParsedMessage, parse_messages
from compaction.services.pipeline.statements.prediction import KIND_LETTERS, Form, Target

FOLDER = Path(__file__).parent / "sessions"
#: The values of `form` that docs/corpus.md describes.
FORM_MARKS = {
    "1": Form.ALONE,
    "p1": Form.ONE_BEFORE,
    "p2": Form.TWO_BEFORE,
    "q": Form.WITH_QUESTION,
    "0": Form.NONE,
}


@dataclass(frozen=True)
class Annotation:
    """The annotation of one sentence.

    `worth` is 0, 1 (summary) or 2 (memory), `kind` the letter of its kind, and `replaces` the numbers of earlier
    annotations that it makes outdated. If `kind` is empty, only `replaces` is known.
    """

    worth: int
    form: Form
    kind: str
    replaces: Sequence[int]

    def has(self, output: str, number: int, replaced: frozenset[int]) -> bool:
        """Return whether the sentence, annotation `number`, has a property of `OUTPUTS`."""
        match output:
            case Target.WORTH:
                return self.worth > 0
            case Target.LASTING:
                return self.worth > 1
            case Target.REPLACED:
                return number in replaced
            case Target.REPLACES:
                return bool(self.replaces)
            case _ if output in KIND_LETTERS:
                return self.kind == output
            case _:
                return self.form == output


@dataclass(frozen=True)
class AnnotatedSession:
    """A session as the rules read it, and the annotations of its sentences by message and place."""

    id: str
    language: str
    parsed: Sequence[ParsedMessage]
    annotations: dict[tuple[int, int], Annotation]


def read_sessions() -> Iterator[AnnotatedSession]:
    """Yield the sessions by name. Raises `ValueError` if a message does not contain a sentence annotated as its own."""
    for path in sorted(FOLDER.glob("*.json")):
        yield _session(path.stem, json.loads(path.read_text("utf-8")))


def _session(name: str, stored: dict[str, Any]) -> AnnotatedSession:
    messages = [
        StatementMessage(
            str(number),
            one["role"],
            one["content"],
            one.get("name", ""),
            datetime.fromisoformat(f"{one['day']}T12:00:00").replace(tzinfo=UTC),
            number,
        )
        for number, one in enumerate(stored["messages"])
    ]
    parsed = parse_messages(messages)
    places: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for number, read in enumerate(parsed):
        for place, sentence in enumerate(read.sentences):
            places.setdefault((int(read.message.id), sentence.text), []).append((number, place))
    annotations = {}
    for message, text, worth, mark, kind, replaces in stored["sentences"]:
        if not (found := places.get((message, text))):
            raise ValueError(f"{name}: message {message} has no sentence {text!r}")
        annotations[found.pop(0)] = Annotation(worth, FORM_MARKS[mark], kind, replaces)
    return AnnotatedSession(stored["id"], stored["language"], parsed, annotations)
