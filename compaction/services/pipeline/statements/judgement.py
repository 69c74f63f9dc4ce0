"""What a reader would say of each sentence: worth keeping, understood alone, of which kind (ADR-0118).

The judgements are probabilities in two steps: logistic regressions over the features of each sentence, then boosted
trees over what these say of the sentence and its neighbours. `benchmarks.learn_statements` learns both from annotated
sessions of many domains in English, German and Spanish.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from compaction.services.pipeline.statements.features import Conversation, Feature
from compaction.services.pipeline.statements.forests import Forest, log_odds
from compaction.services.pipeline.statements.languages import Language, load_language
from compaction.services.pipeline.statements.model import StatementKind, StatementMessage
from compaction.services.pipeline.statements.reading import ReadMessage, read_messages
from compaction.services.sessions.drafts import USER

#: Features share this many weights, by the checksum of their names.
WEIGHTS_MAX = 1 << 15
WEIGHTS_FILE = Path(__file__).with_name("weights.npz")
FORESTS_FILE = Path(__file__).with_name("forests.npz")

K = TypeVar("K")


class Form(StrEnum):
    """What a sentence needs to be understood, beside its speaker and day; `NONE`: more than any of these."""

    ALONE = "alone"
    ONE_BEFORE = "one_before"
    TWO_BEFORE = "two_before"
    WITH_QUESTION = "with_question"
    NONE = "none"


class Target(StrEnum):
    """What is learned of a sentence beside its form and its kind."""

    WORTH = "worth"
    LASTING = "lasting"
    REPLACED = "replaced"
    REPLACES = "replaces"


#: The letters of kinds in annotations. Options, claims of others, small talk and scraps have no kind.
KIND_LETTERS: Mapping[str, StatementKind | None] = {
    "D": StatementKind.DECISION,
    "C": StatementKind.CONSTRAINT,
    "P": StatementKind.PREFERENCE,
    "I": StatementKind.INSTRUCTION,
    "M": StatementKind.COMMITMENT,
    "Q": StatementKind.QUESTION,
    "A": StatementKind.IDENTITY,
    "V": StatementKind.VALUE,
    "S": StatementKind.STATE,
    "E": StatementKind.EVENT,
    "F": StatementKind.FACT,
    "H": None,
    "X": None,
    "Z": None,
    "N": None,
}
#: Decisions and constraints are taken for other kinds more often than others for them.
KIND_WEIGHTS: Mapping[str, float] = {"D": 1.6, "C": 1.6}
#: The columns of the weights.
OUTPUTS = (*Target, *Form, *KIND_LETTERS)
#: Those that depend on the sentences around one, so that trees judge them again.
JUDGED_TWICE = (*Target, *Form)
#: Sentences around one, with it, that are its part of the conversation.
PART_SENTENCES = 9
#: The odds of a neighbour that does not exist.
_NO_NEIGHBOUR = -9.0


@dataclass(frozen=True)
class Judgement:
    """Probabilities between 0 and 1.

    `worth`: somebody who continues the conversation weeks later would want to know it; `lasting`: it deserves a memory
    of its own. `forms` and `kinds` (by letter) each sum to 1. `replaced`: a later sentence makes it outdated;
    `replaces`: it makes an earlier one outdated.
    """

    worth: float
    lasting: float
    replaced: float
    replaces: float
    forms: Mapping[Form, float]
    kinds: Mapping[str, float]

    @property
    def kind(self) -> StatementKind:
        """The most probable kind of those that statements have."""
        letters = [letter for letter, kind in KIND_LETTERS.items() if kind is not None]
        best = max(letters, key=lambda letter: self.kinds[letter] * KIND_WEIGHTS.get(letter, 1.0))
        return KIND_LETTERS[best] or StatementKind.FACT


def judge_sentences(reads: Sequence[ReadMessage]) -> list[list[Judgement]]:
    """Return the judgement of every sentence of every message."""
    conversation = Conversation(reads)
    if not conversation.places:
        return []
    shares = first_shares(conversation.rows())
    rows = neighbour_rows(conversation, shares)
    for output, forest in _forests().items():
        shares[:, OUTPUTS.index(output)] = forest.decide(rows)
    judged = iter(judgement_of(dict(zip(OUTPUTS, map(float, row), strict=True))) for row in shares)
    return [[next(judged) for _ in read.sentences] for read in reads]


def neighbour_rows(conversation: Conversation, shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return for each sentence the odds of all outputs for it and those around it, and its numbers.

    Added are the mean odds of the conversation and of its part, and how many sentences rank lower: what is worth
    keeping in one conversation is not in a denser one.
    """
    odds = np.vstack([log_odds(shares), np.full((1, shares.shape[1]), _NO_NEIGHBOUR)])
    index = {place: number for number, place in enumerate(conversation.places)}
    lasts = dict(conversation.places)
    columns = [
        [
            index.get(near, -1)
            for near in (
                (number, place),
                (number, place - 1),
                (number, place - 2),
                (number, place + 1),
                (number - 1, lasts.get(number - 1, 0)),
                (number - 1, 0),
                (number + 1, 0),
                (number + 2, lasts.get(number + 2, 0)),
            )
        ]
        for number, place in conversation.places
    ]
    near = odds[np.array(columns)].reshape(len(columns), -1)
    measured = odds[:-1, [OUTPUTS.index(output) for output in (Target.WORTH, Target.LASTING, Form.ALONE)]]
    means = np.repeat(measured.mean(axis=0, keepdims=True), len(columns), axis=0)
    padded = np.pad(measured, ((PART_SENTENCES // 2, PART_SENTENCES // 2), (0, 0)), mode="edge")
    part = np.lib.stride_tricks.sliding_window_view(padded, PART_SENTENCES, axis=0).mean(axis=2)
    ranks = measured[:, :2].argsort(axis=0).argsort(axis=0) / len(columns)
    return np.hstack([near, means, part, ranks, np.array(conversation.numbers())]).astype(np.float32)


def judge_text(text: str) -> tuple[Language, Judgement]:
    """Return the language of a stored text and the judgement of its last sentence, out of any conversation."""
    reads = read_messages([StatementMessage("", USER, text)])
    if not reads:
        (nothing,) = first_shares([[("opens", 1.0)]])
        return load_language("en"), judgement_of(dict(zip(OUTPUTS, map(float, nothing), strict=True)))
    return reads[0].language, judge_sentences(reads)[0][-1]


def first_shares(rows: Sequence[Sequence[Feature]]) -> NDArray[np.float64]:
    """Return the probabilities of `OUTPUTS` for each row of features; there is at least one."""
    weights, bias = _load()
    slots, values = hashed(chain.from_iterable(rows))
    ends = np.cumsum([len(row) for row in rows])
    starts = np.concatenate(([0], ends[:-1]))
    sums = np.add.reduceat(weights[slots] * values[:, None], starts, axis=0) + bias
    shares: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-sums.astype(np.float64)))
    return shares


def hashed(features: Iterable[Feature]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the slot and the value of each feature."""
    pairs = [(zlib.crc32(name.encode()) % WEIGHTS_MAX, value) for name, value in features]
    return np.array([slot for slot, _ in pairs], np.int64), np.array([value for _, value in pairs], np.float32)


def judgement_of(shares: Mapping[str, float]) -> Judgement:
    return Judgement(
        **{str(target): shares[target] for target in Target},
        forms=_normalised({form: shares[form] for form in Form}),
        kinds=_normalised({letter: shares[letter] for letter in KIND_LETTERS}),
    )


def _normalised(shares: Mapping[K, float]) -> Mapping[K, float]:
    total = sum(shares.values()) or 1.0
    return {name: share / total for name, share in shares.items()}


@cache
def _load() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    with np.load(WEIGHTS_FILE) as stored:
        return stored["weights"].astype(np.float32), stored["bias"].astype(np.float32)


@cache
def _forests() -> Mapping[str, Forest]:
    with np.load(FORESTS_FILE) as stored:
        return {output: Forest.of(stored, output) for output in JUDGED_TWICE}
