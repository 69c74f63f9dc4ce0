"""Read a corpus from a path and write one as a folder of JSON lines (docs/corpus.md).

Ids are unique, and evidence exists and can be found by its question.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from context.services.evaluation.corpus.conversations import read_conversations
from context.services.evaluation.corpus.model import (
    Corpus,
    CorpusError,
    CorpusMemory,
    CorpusProblem,
    CorpusQuestion,
    plain_value,
)
from context.services.evaluation.corpus.rows import RowError, memory_from, question_from, unanswerable_from
from memories.services.partitions.paths import is_within
from memories.services.store.content import content_hash

MEMORIES_FILE = "memories.jsonl"
QUESTIONS_FILE = "questions.jsonl"
#: Need not exist.
UNANSWERABLE_FILE = "unanswerable.jsonl"
_Row = TypeVar("_Row", CorpusMemory, CorpusQuestion)


def read_corpus(path: Path) -> Corpus:
    """Return the corpus at `path`, with the name of the folder or file.

    `path` is a folder with `memories.jsonl`, `questions.jsonl` and perhaps `unanswerable.jsonl`, a folder of LoCoMo
    `.json` files, or one such file.
    Raises `CorpusError` with all problems of the first bad file.
    """
    if path.is_file() and path.suffix == ".json":
        return read_conversations(path.stem, [path])
    if (path / MEMORIES_FILE).exists() or (path / QUESTIONS_FILE).exists():
        return _read_folder(path)
    conversations = sorted(path.glob("*.json"))
    if conversations:
        return read_conversations(path.resolve().name, conversations)
    if path.is_file():
        detail = f"A corpus is a folder with {MEMORIES_FILE} and {QUESTIONS_FILE}, or a .json file."
    elif path.is_dir():
        detail = f"The folder contains neither {MEMORIES_FILE} with {QUESTIONS_FILE} nor a .json file."
    else:
        detail = "There is no such file or folder."
    raise CorpusError(CorpusProblem("not_a_corpus", detail, path.name))


def write_corpus(corpus: Corpus, folder: Path) -> None:
    """Write the corpus so that `read_corpus` reads it back; omit fields with their default."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Sequence[CorpusMemory | CorpusQuestion]]
    files = {MEMORIES_FILE: corpus.memories, QUESTIONS_FILE: corpus.questions}
    if corpus.unanswerable:
        files[UNANSWERABLE_FILE] = corpus.unanswerable
    for name, items in files.items():
        rows = (json.dumps(_row_of(item), default=plain_value, ensure_ascii=False, allow_nan=False) for item in items)
        (folder / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")


def _row_of(item: CorpusMemory | CorpusQuestion) -> dict[str, Any]:
    default = {
        each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in fields(item)
    }
    return {name: value for name, value in vars(item).items() if value is not None and value != default[name]}


def _read_folder(folder: Path) -> Corpus:
    memories = _read_file(folder / MEMORIES_FILE, memory_from, _problems_of_memories)
    newest = max(memory.created_at for memory in memories)
    check = partial(_problems_of_questions, memories={memory.id: memory for memory in memories})
    questions = _read_file(folder / QUESTIONS_FILE, partial(question_from, asked_at=newest), check)
    unanswerable: Sequence[CorpusQuestion] = ()
    if (path := folder / UNANSWERABLE_FILE).exists():
        unanswerable = _read_file(path, partial(unanswerable_from, asked_at=newest), check)
    return Corpus(folder.resolve().name, memories, questions, unanswerable=unanswerable)


def _read_file(
    path: Path,
    read: Callable[[Mapping[str, Any]], _Row],
    check: Callable[[Mapping[int, _Row]], Iterable[tuple[int, str, str, str]]],
) -> tuple[_Row, ...]:
    """Return the rows of a file, at least one. `check` yields line, field, code and detail of further problems."""
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
    problems += [CorpusProblem(code, detail, path.name, line, field) for line, field, code, detail in check(rows)]
    if not rows and not problems:
        problems.append(CorpusProblem(f"no_{path.stem}", f"The corpus has no {path.stem}.", path.name))
    if problems:
        raise CorpusError(*sorted(problems, key=lambda problem: problem.line or 0))
    return tuple(rows.values())


def _lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, numbered from 1. Raises `CorpusError`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        detail = f"The file cannot be read: {error.strerror}."
        raise CorpusError(CorpusProblem("unreadable", detail, path.name)) from error
    except UnicodeDecodeError as error:
        raise CorpusError(CorpusProblem("not_utf8", "The file is not UTF-8 text.", path.name)) from error
    # Not splitlines(): a text may contain U+2028 and similar characters unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _object_in(text: str) -> Mapping[str, Any]:
    value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    if not isinstance(value, dict):
        raise ValueError("a line contains one JSON object")
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
    return f"The line is not valid: {error}."


def _problems_of_memories(memories: Mapping[int, CorpusMemory]) -> Iterator[tuple[int, str, str, str]]:
    ids: dict[str, int] = {}
    texts: dict[tuple[str, str], int] = {}
    for line, memory in memories.items():
        if (first := ids.setdefault(memory.id, line)) != line:
            yield line, "id", "duplicate_id", f"The memory of line {first} has this id too."
        if (first := texts.setdefault((memory.partition, content_hash(memory.content)), line)) != line:
            detail = f"Line {first} has the same text in the same partition; only one of them can be stored."
            yield line, "content", "duplicate_content", detail


def _problems_of_questions(
    questions: Mapping[int, CorpusQuestion], memories: Mapping[str, CorpusMemory]
) -> Iterator[tuple[int, str, str, str]]:
    ids: dict[str, int] = {}
    for line, question in questions.items():
        if (first := ids.setdefault(question.id, line)) != line:
            yield line, "id", "duplicate_id", f"The question of line {first} has this id too."
        for field, named in (("evidence", question.evidence), ("stale", question.stale)):
            for memory_id in sorted(named):
                memory = memories.get(memory_id)
                for code, what in reference_problems(memory, question.partition, question.asked_at):
                    yield line, field, code, f"The memory {memory_id[:80]!r} {what}."


def reference_problems(memory: CorpusMemory | None, partition: str, asked_at: datetime) -> Iterator[tuple[str, str]]:
    """Yield code and detail of each reason why a question in `partition` at `asked_at` cannot find a memory."""
    if memory is None:
        yield "unknown_memory", "does not exist"
        return
    if not is_within(memory.partition, partition):
        yield "out_of_reach", "is outside of the question's partition"
    if memory.created_at > asked_at:
        yield "not_yet_known", "is newer than the question"
    if memory.expires_at is not None and memory.expires_at <= asked_at:
        yield "expired", "has expired at the time of the question"
