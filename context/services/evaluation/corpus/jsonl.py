"""The project's own corpus: a folder with `memories.jsonl` and `questions.jsonl`, as docs/corpus.md describes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from context.services.evaluation.corpus.checks import (
    MEMORIES_FILE,
    QUESTIONS_FILE,
    problems_of_memories,
    problems_of_questions,
)
from context.services.evaluation.corpus.model import (
    Corpus,
    CorpusError,
    CorpusMemory,
    CorpusProblem,
    CorpusQuestion,
    plain_value,
)
from context.services.evaluation.corpus.rows import RowError, memory_from, question_from

_Row = TypeVar("_Row")
#: In the order in which they are written.
_MEMORY_FIELDS = (
    "id", "created_at", "partition", "kind", "content", "session", "position", "confidence", "pinned", "expires_at",
    "metadata",
)  # fmt: skip
_QUESTION_FIELDS = ("id", "asked_at", "partition", "category", "text", "answer", "evidence", "stale")


def read_folder(folder: Path) -> Corpus:
    """Return the corpus of a folder. Raises `CorpusError` with all problems of the first bad file."""
    memories, problems = _read_rows(folder / MEMORIES_FILE, memory_from)
    problems += problems_of_memories(memories)
    if not memories and not problems:
        problems.append(CorpusProblem("no_memories", "The corpus has no memories.", MEMORIES_FILE))
    if problems:
        raise CorpusError(sorted(problems, key=lambda problem: problem.line or 0))
    newest = max(memory.created_at for memory in memories.values())
    questions, problems = _read_rows(folder / QUESTIONS_FILE, lambda row: question_from(row, asked_at=newest))
    problems += problems_of_questions(questions, list(memories.values()))
    if not questions and not problems:
        problems.append(CorpusProblem("no_questions", "The corpus has no questions.", QUESTIONS_FILE))
    if problems:
        raise CorpusError(sorted(problems, key=lambda problem: problem.line or 0))
    return Corpus(folder.resolve().name, tuple(memories.values()), tuple(questions.values()))


def write_folder(corpus: Corpus, folder: Path) -> None:
    """Write the corpus so that `read_folder` reads it back; it omits fields with their default."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_rows(folder / MEMORIES_FILE, corpus.memories, _MEMORY_FIELDS)
    _write_rows(folder / QUESTIONS_FILE, corpus.questions, _QUESTION_FIELDS)


def _read_rows(path: Path, read: Callable[[Mapping[str, Any]], _Row]) -> tuple[dict[int, _Row], list[CorpusProblem]]:
    """Return the rows of a file by their line, and the problems of the other lines."""
    rows: dict[int, _Row] = {}
    problems: list[CorpusProblem] = []
    for line, text in _lines_of(path):
        try:
            rows[line] = read(_object_in(text))
        except RowError as error:
            problems += [
                CorpusProblem(problem.code, problem.detail, path.name, line, problem.field)
                for problem in error.problems
            ]
        except (ValueError, RecursionError) as error:
            problems.append(CorpusProblem("malformed_json", _what_is_wrong(error), path.name, line))
    return rows, problems


def _lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, numbered from 1. Raises `CorpusError`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        detail = f"The file cannot be read: {error.strerror}."
        raise CorpusError([CorpusProblem("unreadable", detail, path.name)]) from error
    except UnicodeDecodeError as error:
        raise CorpusError([CorpusProblem("not_utf8", "The file is not UTF-8 text.", path.name)]) from error
    # Not splitlines(): a text may contain U+2028 and similar characters unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _object_in(text: str) -> Mapping[str, Any]:
    value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    if not isinstance(value, dict):
        raise ValueError("a line holds one JSON object")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object names a key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _what_is_wrong(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "The line is nested too deep."
    if isinstance(error, json.JSONDecodeError):
        return f"The line is not JSON: {error.msg}, column {error.colno}."
    return f"The line is not as it should be: {error}."


def _write_rows(path: Path, items: Sequence[CorpusMemory | CorpusQuestion], names: Sequence[str]) -> None:
    rows = (_row_of(item, names) for item in items)
    lines = (json.dumps(row, default=plain_value, ensure_ascii=False, allow_nan=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _row_of(item: CorpusMemory | CorpusQuestion, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields of these names that differ from their default."""
    default = {
        each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(item)
    }
    values = {name: getattr(item, name) for name in names}
    return {name: value for name, value in values.items() if value is not None and value != default[name]}
