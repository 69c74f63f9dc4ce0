"""Results of an evaluation of summaries as text for a terminal and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from compaction.evaluation.conversations import Evaluation
from compaction.evaluation.labelled_sessions import EvaluatedSession, SampledStatement, total_shares
from compaction.services.evaluation.scores import COMPACTION_MEASURES
from compaction.services.pipeline.stored_statements import CitedStatement

_CONVERSATION_ROW = "{:<16}{:>9}{:>11}{:>9}{:>9}{:>10}{:>10}"
_CONVERSATION_HEADINGS = ("conversation", "sessions", "questions", "tokens", "allowed", "too long", "kept")
_LABEL_WIDTH, _COLUMN_WIDTH = 42, 12
#: A cited message is printed up to here; labelled messages are rarely longer.
_SOURCE_CHARACTERS_MAX = 1_000


def conversation_lines(evaluations: Mapping[str, Evaluation]) -> Iterator[str]:
    """Return a table with a row for each conversation and one for all questions."""
    yield _CONVERSATION_ROW.format(*_CONVERSATION_HEADINGS)
    for stem, evaluation in evaluations.items():
        yield _CONVERSATION_ROW.format(stem[:15], *_conversation_figures([evaluation]))
    if len(evaluations) > 1:
        yield _CONVERSATION_ROW.format("all questions", *_conversation_figures(list(evaluations.values())))


def session_lines(evaluated: Sequence[EvaluatedSession]) -> Iterator[str]:
    """Return a table with a row for each measure and a column for each session, and for all of them."""
    columns = [(one.session.id, _counts([one]), one.shares) for one in evaluated]
    if len(evaluated) > 1:
        columns.append(("all", _counts(evaluated), total_shares(evaluated)))
    yield _session_row("labelled session", [name for name, _, _ in columns])
    for name in columns[0][1]:
        yield _session_row(name, [f"{counts[name]:,}" for _, counts, _ in columns])
    for name, label in COMPACTION_MEASURES.items():
        yield _session_row(label, [str(shares[name]) for _, _, shares in columns])


def sample_lines(sample: Sequence[SampledStatement]) -> Iterator[str]:
    """Return the statements of a sample, each with the messages that it cites."""
    for number, one in enumerate(sample, start=1):
        place = "fact" if one.is_fact else "summary"
        yield ""
        yield f"{number}. {one.session.id}, {place}, {one.statement.kind}: {one.statement.text}"
        for replaced in one.statement.replaces:
            yield f"     was: {replaced}"
        for source in one.sources:
            content = " / ".join(source.content[:_SOURCE_CHARACTERS_MAX].split("\n"))
            yield f"     [{source.number}] {source.name or source.role}, {source.created_at:%Y-%m-%d}: {content}"


def conversation_record(stem: str, evaluation: Evaluation) -> dict[str, Any]:
    """Return the result for a conversation as JSON."""
    return {
        "conversation": stem,
        "questions": evaluation.questions,
        "answer_words_kept": evaluation.share,
        "too_long": evaluation.too_long,
        "summaries": [vars(summary) for summary in evaluation.summaries],
    }


def session_record(evaluated: EvaluatedSession) -> dict[str, Any]:
    """Return the result for a labelled session as JSON, with its statements and facts."""
    numbers = evaluated.compacted.numbers
    return {
        "session": evaluated.session.id,
        "genre": evaluated.session.genre,
        "language": evaluated.session.language,
        **{name.replace(" ", "_"): count for name, count in _counts([evaluated]).items()},
        "measures": {name: {"count": one.count, "of": one.of, **vars(one)} for name, one in evaluated.shares.items()},
        "summary": evaluated.draft.summary.text,
        "statements": [_statement_record(one, numbers) for one in evaluated.compacted.statements],
        "facts": [_statement_record(one, numbers) for one in evaluated.compacted.facts],
    }


def _statement_record(statement: CitedStatement, numbers: Mapping[str, int]) -> dict[str, Any]:
    messages = sorted(numbers[one] for one in statement.message_ids if one in numbers)
    return {
        "kind": statement.kind,
        "text": statement.text,
        "messages": messages,
        "replaces": list(statement.replaces),
    }


def _conversation_figures(evaluations: Sequence[Evaluation]) -> tuple[str, ...]:
    """Return sessions, questions, tokens, allowed tokens, too long summaries, and the share over all questions."""
    summaries = list(chain.from_iterable(evaluation.summaries for evaluation in evaluations))
    questions = sum(evaluation.questions for evaluation in evaluations)
    kept = sum((evaluation.share or 0.0) * evaluation.questions for evaluation in evaluations)
    counts = (
        len(summaries),
        questions,
        sum(summary.tokens for summary in summaries),
        sum(summary.allowed_tokens for summary in summaries),
        sum(evaluation.too_long for evaluation in evaluations),
    )
    return (*(f"{count:,}" for count in counts), f"{kept / questions:.3f}" if questions else "-")


def _counts(evaluated: Sequence[EvaluatedSession]) -> dict[str, int]:
    return {
        "messages": sum(len(one.session.messages) for one in evaluated),
        "budget tokens": sum(one.budget_tokens for one in evaluated),
        "tokens": sum(one.draft.summary_tokens for one in evaluated),
        "statements": sum(len(one.compacted.statements) for one in evaluated),
        "stored facts": sum(len(one.compacted.facts) for one in evaluated),
    }


def _session_row(label: str, cells: Sequence[str]) -> str:
    shown = (cell[: _COLUMN_WIDTH - 2].rjust(_COLUMN_WIDTH) for cell in cells)
    return f"{label:<{_LABEL_WIDTH}}{''.join(shown)}"
