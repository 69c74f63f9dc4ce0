"""Checks between the lines of a corpus: ids are unique, and evidence exists and can be found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from context.services.evaluation.corpus.model import CorpusMemory, CorpusProblem, CorpusQuestion
from memories.services.partitions.paths import is_within
from memories.services.store.content import content_hash

MEMORIES_FILE = "memories.jsonl"
QUESTIONS_FILE = "questions.jsonl"


def problems_of_memories(memories: Mapping[int, CorpusMemory]) -> Iterator[CorpusProblem]:
    """Yield duplicate ids and texts. `memories` are by their line."""
    ids: dict[str, int] = {}
    texts: dict[tuple[str, str], int] = {}
    for line, memory in memories.items():
        if memory.id in ids:
            detail = f"The memory of line {ids[memory.id]} has this id too."
            yield CorpusProblem("duplicate_id", detail, MEMORIES_FILE, line, "id")
        place = (memory.partition, content_hash(memory.content))
        if place in texts:
            detail = f"Line {texts[place]} has the same text in the same partition; only one of them can be stored."
            yield CorpusProblem("duplicate_content", detail, MEMORIES_FILE, line, "content")
        ids.setdefault(memory.id, line)
        texts.setdefault(place, line)


def problems_of_questions(
    questions: Mapping[int, CorpusQuestion], memories: Sequence[CorpusMemory]
) -> Iterator[CorpusProblem]:
    """Yield duplicate ids, and evidence that does not exist or cannot be found. `questions` are by their line."""
    by_id = {memory.id: memory for memory in memories}
    ids: dict[str, int] = {}
    for line, question in questions.items():
        if question.id in ids:
            detail = f"The question of line {ids[question.id]} has this id too."
            yield CorpusProblem("duplicate_id", detail, QUESTIONS_FILE, line, "id")
        ids.setdefault(question.id, line)
        for field, named in (("evidence", question.evidence), ("stale", question.stale)):
            for memory_id in sorted(named):
                for code, detail in _problems_of_reference(question, memory_id, by_id.get(memory_id)):
                    yield CorpusProblem(code, detail, QUESTIONS_FILE, line, field)


def _problems_of_reference(
    question: CorpusQuestion, memory_id: str, memory: CorpusMemory | None
) -> Iterator[tuple[str, str]]:
    name = memory_id[:80]
    if memory is None:
        yield "unknown_memory", f"There is no memory {name!r}."
        return
    if not is_within(memory.partition, question.partition):
        yield "out_of_reach", f"The memory {name!r} lies outside the partition that the question is asked in."
    if memory.created_at > question.asked_at:
        yield "not_yet_known", f"The memory {name!r} is younger than the question."
    if memory.expires_at is not None and memory.expires_at <= question.asked_at:
        yield "expired", f"The memory {name!r} has expired when the question is asked."
