"""Statements as the text of a summary: a line for each day, each sentence naming its subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import groupby

from compaction.services.pipeline.statements.dates import date_text
from compaction.services.pipeline.statements.model import Statement


def render_statements(statements: Sequence[Statement]) -> str:
    """The statements in order, under the days on which they were said."""
    lines = []
    for day, group in groupby(statements, key=lambda statement: statement.stated_on):
        text = " ".join(_sentences(group))
        lines.append(f"{date_text(day)}: {drop_repeated_day(text, day)}" if day else text)
    return "\n".join(lines)


def drop_repeated_day(text: str, day: date | None) -> str:
    """The text as it stands under the heading of a day, which need not be said again in brackets."""
    if day is None or ")" not in text:
        return text
    said = date_text(day)
    text = text.replace(f" ({said})", "").replace(f" before {said})", " before)").replace(f" after {said})", " after)")
    return text.replace(f" {day.year})", ")")


def _sentences(statements: Iterator[Statement]) -> Iterator[str]:
    """Statements that open alike share a sentence."""
    for lead, run in groupby(statements, key=lambda statement: statement.lead):
        if lead:
            yield _closed(f"{lead} {'; '.join(statement.body for statement in run)}")
        else:
            yield " ".join(_closed(statement.text) for statement in run)


def _closed(text: str) -> str:
    return text if text.endswith((".", "!", "?", '."', '!"', '?"')) else f"{text}."
