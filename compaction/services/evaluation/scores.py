"""What a compaction of a labelled session keeps, stores and mislabels, as far as a program can determine it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

from compaction.services.evaluation.labels import (
    CONSTRAINT,
    DECISION,
    NEVER_REASONS,
    OTHER,
    LabelledSentence,
    LabelledSession,
    RequiredWords,
    has_words,
)
from compaction.services.pipeline.statements.model import StatementKind
from compaction.services.pipeline.stored_statements import CitedStatement

#: Kinds of statements that a sentence of the label may have.
KINDS_OF_LABEL = {
    DECISION: frozenset({StatementKind.DECISION}),
    CONSTRAINT: frozenset({StatementKind.CONSTRAINT}),
}
#: A statement may leave out the beginning of a sentence, but has at least this many of its words.
SENTENCE_WORDS_MIN = 3
_WORD = re.compile(r"\w+")
_SPEAKER = re.compile(r"[^:\n]{1,60}: ")


@dataclass(frozen=True)
class Share:
    """The labels, by name, for which a measure is true, and the others."""

    true: tuple[str, ...]
    false: tuple[str, ...]

    @classmethod
    def where(cls, labels: Mapping[str, bool]) -> Self:
        """Return the share of the labels with a true value."""
        names: dict[bool, list[str]] = {True: [], False: []}
        for name, value in labels.items():
            names[value].append(name)
        return cls(tuple(names[True]), tuple(names[False]))

    def __add__(self, other: "Share") -> "Share":
        return Share(self.true + other.true, self.false + other.false)

    def __str__(self) -> str:
        return f"{self.count} of {self.of}" if self.of else "-"

    @property
    def count(self) -> int:
        return len(self.true)

    @property
    def of(self) -> int:
        return len(self.true) + len(self.false)


@dataclass(frozen=True)
class CompactedSession:
    """The result of compacting a labelled session.

    `facts` are the new entries of the journal, `extracted` all statements from which the summary was chosen, and
    `numbers` the messages' numbers by id.
    """

    statements: Sequence[CitedStatement]
    facts: Sequence[CitedStatement]
    extracted: Sequence[CitedStatement]
    numbers: Mapping[str, int]


#: What each measure counts, in the order of a report.
COMPACTION_MEASURES = {
    "keys_in_summary": "keys in the summary",
    "keys_in_facts": "keys in the facts",
    "keys_in_either": "keys in either",
    "current_in_summary": "changes of mind: current in the summary",
    "current_in_facts": "changes of mind: current in the facts",
    "stale_in_summary": "changes of mind: stale in the summary",
    "stale_in_facts": "changes of mind: stale in the facts",
    **{f"never_{reason}": f"facts from {reason.replace('_', ' ')}" for reason in NEVER_REASONS},
    "never_in_summary": "the same, in the summary",
    "decision_labels": "decisions labelled as such",
    "constraint_labels": "constraints labelled as such",
    "false_labels": "others labelled as one of them",
}


def score_session(session: LabelledSession, compacted: CompactedSession) -> dict[str, Share]:
    """Return the shares of `COMPACTION_MEASURES`."""
    summary, facts = _texts(compacted.statements, compacted.numbers), _texts(compacted.facts, compacted.numbers)
    keys = {key.id: key.required for key in session.keys}
    current, stale = ({one.id: getattr(one, name) for one in session.changes} for name in ("current", "stale"))
    never = {
        reason: {one.id: one.required for one in session.never if one.reason == reason} for reason in NEVER_REASONS
    }
    return {
        "keys_in_summary": _met(keys, summary),
        "keys_in_facts": _met(keys, facts),
        "keys_in_either": _met(keys, [*summary, *facts]),
        "current_in_summary": _met(current, summary),
        "current_in_facts": _met(current, facts),
        "stale_in_summary": _met(stale, summary),
        "stale_in_facts": _met(stale, facts),
        **{f"never_{reason}": _met(required, facts) for reason, required in never.items()},
        "never_in_summary": _met({one.id: one.required for one in session.never}, summary),
        **_label_shares(session, compacted),
    }


def _met(by_label: Mapping[str, RequiredWords], texts: Sequence[str]) -> Share:
    return Share.where({name: any(has_words(required, text) for text in texts) for name, required in by_label.items()})


def _texts(statements: Iterable[CitedStatement], numbers: Mapping[str, int]) -> list[str]:
    """Return the texts of statements; neighbours from the same message are read as one text."""

    def message(statement: CitedStatement) -> int:
        return max((numbers[one] for one in statement.message_ids if one in numbers), default=-1)

    return ["\n".join(one.text for one in group) for _, group in groupby(statements, key=message)]


def _label_shares(session: LabelledSession, compacted: CompactedSession) -> dict[str, Share]:
    """Return how many sentences of a label have its kind; replaced ones have none and do not count."""
    stale = [change.stale for change in session.changes]
    labels = [one for one in session.labels if not any(has_words(required, one.sentence) for required in stale)]
    kinds = {one: kinds_of_sentence(one, compacted) for one in labels}
    right = {
        f"{label}_labels": _share_of_kind([one for one in labels if one.label == label], kinds, expected)
        for label, expected in KINDS_OF_LABEL.items()
    }
    either = frozenset().union(*KINDS_OF_LABEL.values())
    return {**right, "false_labels": _share_of_kind([one for one in labels if one.label == OTHER], kinds, either)}


def _share_of_kind(
    labels: Sequence[LabelledSentence], kinds: Mapping[LabelledSentence, set[str]], expected: frozenset[str]
) -> Share:
    return Share.where({f"{one.message}: {one.sentence}": bool(kinds[one] & expected) for one in labels})


def kinds_of_sentence(label: LabelledSentence, compacted: CompactedSession) -> set[str]:
    """Return the kinds of the extracted statements that contain the sentence, or all but its beginning."""
    sentence = _normalised(label.sentence)
    kinds = set()
    for statement in compacted.extracted:
        if label.message not in {compacted.numbers.get(one) for one in statement.message_ids}:
            continue
        text, body = _normalised(statement.text), _normalised(_SPEAKER.sub("", statement.text, count=1))
        is_ending = sentence.endswith(body) and body.count(" ") + 1 >= SENTENCE_WORDS_MIN
        if sentence in text or is_ending:
            kinds.add(statement.kind)
    return kinds


def _normalised(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
