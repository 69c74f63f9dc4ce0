"""The project's own corpus: a folder with `memories.jsonl` and `questions.jsonl`, as docs/corpus.md describes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from context.services.evaluation.corpus.checks import (
    MEMORIES_FILE,
    QUESTIONS_FILE,
    problems_of_memories,
    problems_of_questions,
)
from context.services.evaluation.corpus.model import Corpus, CorpusError, CorpusMemory, CorpusProblem, CorpusQuestion
from context.services.evaluation.corpus.rows import RowError, memory_from, question_from

_Row = TypeVar("_Row")


def read_folder(folder: Path) -> Corpus:
    """The corpus of a folder, named as the folder. Raises `CorpusError` with every problem of the first bad file."""
    memories, problems = _read_rows(folder / MEMORIES_FILE, memory_from)
    problems += problems_of_memories(memories)
    if not memories and not problems:
        problems.append(CorpusProblem("no_memories", "The corpus has no memories.", MEMORIES_FILE))
    if problems:
        raise CorpusError(sorted(problems, key=_line))
    newest = max(memory.created_at for memory in memories.values())
    questions, problems = _read_rows(folder / QUESTIONS_FILE, lambda row: question_from(row, asked_at=newest))
    problems += problems_of_questions(questions, list(memories.values()))
    if not questions and not problems:
        problems.append(CorpusProblem("no_questions", "The corpus has no questions.", QUESTIONS_FILE))
    if problems:
        raise CorpusError(sorted(problems, key=_line))
    return Corpus(folder.resolve().name, tuple(memories.values()), tuple(questions.values()))


def write_folder(corpus: Corpus, folder: Path) -> None:
    """Write the corpus so that `read_folder` reads it back; fields with their default are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_rows(folder / MEMORIES_FILE, map(_row_of_memory, corpus.memories))
    _write_rows(folder / QUESTIONS_FILE, map(_row_of_question, corpus.questions))


def _line(problem: CorpusProblem) -> int:
    return problem.line or 0


def _read_rows(path: Path, read: Callable[[Mapping[str, Any]], _Row]) -> tuple[dict[int, _Row], list[CorpusProblem]]:
    """The rows of a file by their line, and what is wrong with the other lines."""
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
    """The lines that hold something, numbered from 1. Raises `CorpusError`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        detail = f"The file cannot be read: {error.strerror}."
        raise CorpusError([CorpusProblem("unreadable", detail, path.name)]) from error
    except UnicodeDecodeError as error:
        raise CorpusError([CorpusProblem("not_utf8", "The file is not UTF-8 text.", path.name)]) from error
    # Not splitlines(): a text may hold U+2028 and its like unescaped.
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


def _write_rows(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def _row_of_memory(memory: CorpusMemory) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": memory.id,
        "created_at": memory.created_at.isoformat(),
        "partition": memory.partition,
        "kind": memory.kind,
        "content": memory.content,
        "session": memory.session,
        "position": memory.position,
        "confidence": memory.confidence,
        "pinned": memory.pinned,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "metadata": dict(memory.metadata),
    }
    defaults = {"partition": "", "kind": "fact", "session": "", "confidence": 0.8, "pinned": False, "metadata": {}}
    return _without_defaults(row, defaults)


def _row_of_question(question: CorpusQuestion) -> dict[str, Any]:
    row = {
        "id": question.id,
        "asked_at": question.asked_at.isoformat(),
        "partition": question.partition,
        "category": question.category,
        "text": question.text,
        "answer": question.answer,
        "evidence": sorted(question.evidence),
        "stale": sorted(question.stale),
    }
    return _without_defaults(row, {"partition": "", "category": "", "answer": "", "stale": []})


def _without_defaults(row: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in row.items()
        if value is not None and not (name in defaults and value == defaults[name])
    }
