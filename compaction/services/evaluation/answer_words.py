"""The share of each answer's words that the summary of its session keeps, for LoCoMo conversations.

Only questions whose evidence is in one session count, and a summary with more tokens than the data set's own one of
that session counts as empty. Adversarial questions have no answer and do not count.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.services.evaluation.answer_words import answer_word_share, significant_words
from memories.services.store.locomo import UNANSWERABLE_CATEGORY

_EVIDENCE = re.compile(r"D(\d+):")
_OWN_SUMMARY = re.compile(r"session_(\d+)_summary")


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question that one session answers."""

    session: int
    answer_words: frozenset[str]


def questions_of_one_session(data: Mapping[str, Any]) -> list[AnsweredQuestion]:
    """Return the questions of a LoCoMo conversation that a single session answers."""
    questions = []
    for row in data.get("qa", ()):
        sessions = {int(match[1]) for item in row.get("evidence") or () if (match := _EVIDENCE.match(str(item)))}
        words = significant_words(row.get("answer", ""))
        if row.get("category") != UNANSWERABLE_CATEGORY and len(sessions) == 1 and words:
            questions.append(AnsweredQuestion(sessions.pop(), words))
    return questions


def allowed_tokens(data: Mapping[str, Any], count_tokens: Callable[[str], int]) -> dict[int, int]:
    """Return the tokens of the data set's own summary by session: the limit of other summaries."""
    return {
        int(match[1]): count_tokens(str(text))
        for key, text in data.items()
        if text and (match := _OWN_SUMMARY.fullmatch(str(key)))
    }


def share_of_answer_words(
    questions: Sequence[AnsweredQuestion],
    summaries: Mapping[int, str],
    allowed: Mapping[int, int],
    count_tokens: Callable[[str], int],
) -> float | None:
    """Return the mean share over all questions whose session has a summary; None without such a question."""
    kept = {
        session: summary if count_tokens(summary) <= allowed[session] else ""
        for session, summary in summaries.items()
        if session in allowed
    }
    shares = [answer_word_share(one.answer_words, kept[one.session]) for one in questions if one.session in kept]
    return sum(shares) / len(shares) if shares else None
