"""Measure a summariser on conversations: the share of the answers' words that its summaries keep (ADR-0102)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from compaction.pipeline.summarisers.protocol import Summariser, SummaryTask
from compaction.services.evaluation.answer_words import allowed_tokens, questions_of_one_session, share_of_answer_words
from compaction.services.pipeline.prompts import summary_prompt
from compaction.services.sessions.turns import SessionTurn
from memories.services.store.locomo import LocomoTurn as Said
from memories.services.store.locomo import parse_conversation
from memories.services.tokens import count_tokens


@dataclass(frozen=True)
class SessionSummary:
    """The summary of one session: `tokens` of at most `allowed_tokens` (o200k_base)."""

    session: int
    text: str
    tokens: int
    allowed_tokens: int


@dataclass(frozen=True)
class Evaluation:
    """The result for a conversation; `share` is the mean share of answer words kept (0..1), None without questions."""

    summaries: Sequence[SessionSummary]
    questions: int
    share: float | None

    @property
    def too_long(self) -> int:
        """The number of summaries over their limit; they count as empty."""
        return sum(summary.tokens > summary.allowed_tokens for summary in self.summaries)


def evaluate_conversation(data: Mapping[str, Any], summariser: Summariser, *, model: str) -> Evaluation:
    """Summarise each session in the tokens of the data set's own summary. Raises `LocomoError`, `SummariserError`."""
    allowed = allowed_tokens(data, count_tokens)
    summaries = list(_summaries(parse_conversation(data), allowed, summariser, model))
    texts = {summary.session: summary.text for summary in summaries}
    questions = [question for question in questions_of_one_session(data) if question.session in texts]
    return Evaluation(summaries, len(questions), share_of_answer_words(questions, texts, allowed, count_tokens))


def _summaries(
    turns: Sequence[Said], allowed: Mapping[int, int], summariser: Summariser, model: str
) -> Iterator[SessionSummary]:
    for session, group in groupby(turns, key=lambda turn: turn.session_number):
        if session not in allowed:
            continue
        messages = [_turn(number, turn) for number, turn in enumerate(group)]
        prompt = summary_prompt(allowed[session])
        task = SummaryTask(messages, (), allowed[session], count_tokens, prompt=prompt, model=model)
        text = summariser.summarise(task).text
        yield SessionSummary(session, text, count_tokens(text), allowed[session])


def _turn(number: int, turn: Said) -> SessionTurn:
    return SessionTurn(
        id=turn.dia_id,
        role="user",
        name=turn.speaker,
        content=turn.text,
        tokens=count_tokens(turn.text),
        created_at=turn.said_at,
        sequence=number,
    )
