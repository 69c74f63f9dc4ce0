"""Export of golden questions as a corpus."""

import zipfile
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from context.evaluation.corpora import GOLDEN_NAME, evaluation_corpus_from_golden_questions
from context.evaluation.measurement import EvaluationQuestion
from context.services.evaluation.corpus import Corpus, CorpusMemory, CorpusQuestion, write_corpus
from context.services.evaluation.corpus.folders import reference_problems
from memories.models import Memory
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

#: Of a larger corpus only the evidence is written.
MEMORIES_MAX = 20_000


def export_golden(tenant_id: UUID, *, now: datetime) -> bytes:
    """Return a ZIP file with `memories.jsonl` and `questions.jsonl`; with no scope open.

    The memories are all live ones of the questions' partitions, or only the evidence if these are too many. Questions
    whose evidence no longer exists are omitted. Raises `InvalidInput` without questions.
    """
    with tenant_scope(tenant_id):
        corpus = _corpus(tenant_id, now)
    with TemporaryDirectory() as folder:
        write_corpus(corpus, Path(folder))
        archive = BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(Path(folder).iterdir()):
                packed.write(path, path.name)
    return archive.getvalue()


def _corpus(tenant_id: UUID, now: datetime) -> Corpus:
    golden = evaluation_corpus_from_golden_questions(tenant_id, now=now).golden
    live = Memory.objects.for_tenant(tenant_id).live(now).within_any({question.partition for question in golden})
    rows = list(live.order_by("created_at", "id")[: MEMORIES_MAX + 1])
    if len(rows) > MEMORIES_MAX:
        evidence = {memory_id for question in golden for memory_id in question.evidence}
        rows = list(Memory.objects.for_tenant(tenant_id).with_ids(evidence))
    newest = max((row.created_at for row in rows), default=now)
    memories = {str(row.pk): CorpusMemory.of(row, id=str(row.pk), partition=row.partition_path) for row in rows}
    questions = [_question(question, memories, question.as_of or max(now, newest)) for question in golden]
    answerable = [question for question in questions if question.evidence]
    if not answerable:
        raise InvalidInput("no_questions", "There is no golden question whose memories exist.")
    return Corpus(GOLDEN_NAME, list(memories.values()), answerable)


def _question(question: EvaluationQuestion, memories: Mapping[str, CorpusMemory], asked_at: datetime) -> CorpusQuestion:
    """Return the question with the evidence that it can find: memories may have moved since."""
    evidence = frozenset(
        memory_id
        for memory_id in question.evidence & memories.keys()
        if not any(reference_problems(memories[memory_id], question.partition, asked_at))
    )
    same = {name: getattr(question, name) for name in ("id", "text", "partition", "category", "answer")}
    return CorpusQuestion(**same, evidence=evidence, asked_at=asked_at)
