"""One line of a corpus as a memory or a question, or all its problems."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from typing import Any

from context.services.evaluation.corpus.model import CorpusMemory, CorpusQuestion
from memories.services.partitions.paths import PartitionError, PartitionPath, parse_partition
from memories.services.store.content import ContentError, check_content
from memories.services.store.drafts import MAX_LABEL_CHARACTERS, FieldProblem, NewMemory, new_memory_problems

#: A corpus has its own times, so none of them is in the future.
_END_OF_TIME = datetime(9998, 12, 31, tzinfo=UTC)


class RowError(ValueError):
    """A line that cannot be used: all `problems` of its fields."""

    def __init__(self, problems: list[FieldProblem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


def memory_from(row: Mapping[str, Any]) -> CorpusMemory:
    """Return the memory that an object of `memories.jsonl` describes; a null counts as missing. Raises `RowError`."""
    values, problems = _fields_of(row, CorpusMemory)
    _convert(values, problems, {"created_at": _time, "expires_at": _time, "partition": parse_partition, "id": _label})
    content = values.get("content")
    if isinstance(content, str):
        values["content"] = content.strip()
    bad = {problem.field for problem in problems}
    # A missing or invalid text is reported as a separate problem, so the draft gets a placeholder.
    good = {name: value for name, value in values.items() if name != "id" and name not in bad}
    draft = NewMemory(**{"content": "-", **good})
    found = new_memory_problems(draft, now=_END_OF_TIME)
    problems += [problem for problem in found if problem.field in values.keys() - bad]
    if problems:
        raise RowError(problems)
    return CorpusMemory(**{**values, "partition": draft.partition.path})


def question_from(row: Mapping[str, Any], *, asked_at: datetime) -> CorpusQuestion:
    """Return the question that an object of `questions.jsonl` describes; `asked_at` is the default time.

    Raises `RowError`.
    """
    if row.get("asked_at") is None:
        row = {**row, "asked_at": asked_at.isoformat()}
    values, problems = _fields_of(row, CorpusQuestion)
    conversions = {"id": _label, "text": _text, "evidence": _ids, "stale": _ids, "asked_at": _time}
    _convert(values, problems, {**conversions, "partition": parse_partition, "category": _group, "answer": _answer})
    if not problems and not values["evidence"]:
        problems.append(FieldProblem("evidence", "no_evidence", "A question must name at least one memory."))
    if not problems and (both := values["evidence"] & values.get("stale", frozenset())):
        problems.append(FieldProblem("stale", "also_evidence", f"{_name(min(both))} is evidence and stale at once."))
    if problems:
        raise RowError(problems)
    partition = values.get("partition", PartitionPath()).path
    return CorpusQuestion(**{**values, "partition": partition})


def _fields_of(row: Mapping[str, Any], kind: type) -> tuple[dict[str, Any], list[FieldProblem]]:
    """Return the known values of a row that are not null, and problems of unknown and missing fields."""
    known = {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(kind)}
    detail = f"There is no such field; known: {', '.join(known)}."
    problems = [FieldProblem(_name(name), "unknown_field", detail) for name in row if name not in known]
    values = {name: value for name, value in row.items() if name in known and value is not None}
    missing = [name for name, is_required in known.items() if is_required and name not in values]
    return values, problems + [FieldProblem(name, "required", "This field is required.") for name in missing]


def _convert(
    values: dict[str, Any], problems: list[FieldProblem], conversions: Mapping[str, Callable[[Any], Any]]
) -> None:
    for name, convert in conversions.items():
        if name in values:
            try:
                values[name] = convert(values[name])
            except (ContentError, PartitionError) as error:
                problems.append(FieldProblem(name, error.code, error.detail))


def _time(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise ContentError("not_a_time", "Must be a date and time, such as 2026-05-08T13:56:00Z.")
    if moment.utcoffset() is None:
        raise ContentError("no_offset", "The time must have a UTC offset, such as 2026-05-08T13:56:00Z.")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ContentError("out_of_range", "The time is outside the years 1 to 9999 of UTC.") from error


def _text(value: Any) -> str:
    check_content(value)
    return str(value).strip()


def _answer(value: Any) -> str:
    """Return an answer as text; it may be a number: {"answer": 12}."""
    text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    return "" if text == "" else _text(text)


def _label(value: Any) -> str:
    label = _text(value)
    if len(label) > MAX_LABEL_CHARACTERS:
        raise ContentError("too_long", f"At most {MAX_LABEL_CHARACTERS} characters are stored.")
    return label


def _group(value: Any) -> str:
    return "" if value == "" else _label(value)


def _ids(value: Any) -> frozenset[str]:
    if not isinstance(value, list):
        raise ContentError("not_a_list", 'Must be a list of memory ids, such as ["m1", "m2"].')
    return frozenset(_label(item) for item in value)


def _name(text: str) -> str:
    """Return an id or field name for people, shortened and with printable characters only."""
    return "".join(character if character.isprintable() else "?" for character in text[:80])
