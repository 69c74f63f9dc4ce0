"""The similarity of a question to the summary of the session of a message (ADR-0102)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from compaction.pipeline.summarisers.extractive import ExtractiveSummariser
from compaction.pipeline.summarisers.protocol import SummaryResult, SummaryTask
from compaction.services.sessions.turns import SessionTurn
from context.services.evaluation.corpus import CorpusMemory
from memories.embeddings.providers import Embedder, EmbeddingVectors, unit_rows
from memories.services.tokens import count_tokens

#: The mean of the LoCoMo data set's own summaries of a session (ADR-0102).
SUMMARY_TOKENS = 126
#: The last needs no summary.
SUMMARY_PARTS = ("summary", "summary_line", "summary_rank", "summary_line_rank", "session_mean")

SummaryColumn = npt.NDArray[np.float64]


class SessionSummaries:
    """A summary of each session, of at most `SUMMARY_TOKENS`, as vectors of its text and statements.

    The mean of the vectors of the session's messages is added.
    """

    def __init__(self, memories: Iterable[CorpusMemory], embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[tuple[str, str], EmbeddingVectors] = {}
        self._means: dict[tuple[str, str], EmbeddingVectors] = {}
        said = sorted((one for one in memories if one.session), key=lambda one: (*_session(one), one.position or 0))
        for session, group in groupby(said, key=_session):
            messages = list(group)
            summary = _summary(messages)
            self._vectors[session] = embedder.embed([summary.text, *(one.text for one in summary.statements)])
            vectors = embedder.embed([message.content for message in messages])
            self._means[session] = unit_rows(vectors.mean(axis=0, keepdims=True))[0]

    def parts(self, question: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, SummaryColumn]:
        """`SUMMARY_PARTS` of each candidate: the question's cosine to the whole, to the nearest statement, their ranks.

        Last is that to the mean of the session's messages. Ranks are among the sessions of the candidates, 1 for the
        nearest. All are 0 for what has no session.
        """
        query_vector = self._embedder.embed([question])[0]
        sessions = [(row["partition_path"], row["session"]) for row in rows]
        cosines = {session: self._vectors[session] @ query_vector for session in {*sessions} & self._vectors.keys()}
        whole = {session: float(values[0]) for session, values in cosines.items()}
        line = {session: float(values[1:].max()) for session, values in cosines.items()}
        mean = {session: float(self._means[session] @ query_vector) for session in cosines}
        by_session = (whole, line, _ranks(whole), _ranks(line), mean)
        return {
            name: np.array([max(values.get(session, 0.0), 0.0) for session in sessions])
            for name, values in zip(SUMMARY_PARTS, by_session, strict=True)
        }


def _session(memory: CorpusMemory) -> tuple[str, str]:
    return memory.partition, memory.session


def _ranks(cosines: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    ordered = sorted(cosines, key=lambda session: cosines[session])
    return {session: place / len(ordered) for place, session in enumerate(ordered, start=1)}


def _summary(messages: Sequence[CorpusMemory]) -> SummaryResult:
    turns = [_turn(message) for message in messages]
    task = SummaryTask(messages=turns, earlier=(), budget_tokens=SUMMARY_TOKENS, count_tokens=count_tokens)
    return ExtractiveSummariser().summarise(task)


def _turn(message: CorpusMemory) -> SessionTurn:
    speaker = str(message.metadata.get("speaker", ""))
    text = message.content.removeprefix(f"{speaker}: ")
    at, sequence = message.created_at, message.position
    return SessionTurn(
        id=message.id,
        role="user",
        name=speaker,
        content=text,
        tokens=count_tokens(text),
        created_at=at,
        sequence=sequence,
    )
