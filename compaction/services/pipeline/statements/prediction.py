"""Predict how a reader would judge each sentence: worth keeping, clear alone, of which kind (ADR-0118).

The predictions are probabilities of logistic regressions over the features of sentences. `benchmarks.learn_statements`
learns their weights from annotated sessions of many domains in English, German and Spanish.
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
from compaction.services.pipeline.statements.languages import Language, load_language
from compaction.services.pipeline.statements.model import StatementKind, StatementMessage
from compaction.services.pipeline.statements.parsing import ParsedMessage, parse_messages
from compaction.services.sessions.drafts import USER

#: Features share this many weights, by the checksum of their names.
WEIGHTS_MAX = 1 << 15
WEIGHTS_FILE = Path(__file__).with_name("weights.npz")

K = TypeVar("K")


class Form(StrEnum):
    """What a sentence needs to be understood, in addition to its speaker and day; `NONE`: more than any of these."""

    ALONE = "alone"
    ONE_BEFORE = "one_before"
    TWO_BEFORE = "two_before"
    WITH_QUESTION = "with_question"
    NONE = "none"


class Target(StrEnum):
    """What is predicted of a sentence in addition to its form and its kind."""

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
#: The columns of the weights.
OUTPUTS = (*Target, *Form, *KIND_LETTERS)


@dataclass(frozen=True)
class Prediction:
    """Probabilities between 0 and 1.

    `worth`: a person who continues the conversation weeks later would want to know it; `lasting`: it is worth a
    separate memory. `forms` and `kinds` (by letter) each sum to 1. `replaced`: a later sentence makes it outdated;
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
        best = max(letters, key=self.kinds.__getitem__)
        return KIND_LETTERS[best] or StatementKind.FACT


def predict_sentences(parsed: Sequence[ParsedMessage]) -> list[list[Prediction]]:
    """Return the prediction for every sentence of every message."""
    predicted = iter(predict_rows(Conversation(parsed).rows()))
    return [[next(predicted) for _ in read.sentences] for read in parsed]


def predict_text(text: str) -> tuple[Language, Prediction]:
    """Return the language of a stored text and the prediction for its last sentence, out of any conversation."""
    parsed = parse_messages([StatementMessage("", USER, text)])
    if not parsed:
        return load_language("en"), predict_rows([[("opens", 1.0)]])[0]
    return parsed[0].language, predict_sentences(parsed)[0][-1]


def predict_rows(rows: Sequence[Sequence[Feature]]) -> list[Prediction]:
    """Return the prediction for each row of features."""
    if not rows:
        return []
    weights, bias = _load()
    slots, values = hashed(chain.from_iterable(rows))
    ends = np.cumsum([len(row) for row in rows])
    starts = np.concatenate(([0], ends[:-1]))
    sums = np.add.reduceat(weights[slots] * values[:, None], starts, axis=0) + bias
    return [prediction_of(dict(zip(OUTPUTS, map(float, row), strict=True))) for row in 1.0 / (1.0 + np.exp(-sums))]


def hashed(features: Iterable[Feature]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the slot and the value of each feature."""
    pairs = [(zlib.crc32(name.encode()) % WEIGHTS_MAX, value) for name, value in features]
    return np.array([slot for slot, _ in pairs], np.int64), np.array([value for _, value in pairs], np.float32)


def prediction_of(shares: Mapping[str, float]) -> Prediction:
    return Prediction(
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
