"""Golden questions as a corpus of the project's own form, to be kept, shared and asked elsewhere."""

import zipfile
from datetime import datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from context.corpora import GOLDEN_NAME, golden_material
from context.services.corpus import Corpus, CorpusMemory, CorpusQuestion, write_corpus
from memories.exceptions import InvalidInput
from memories.models import Memory
from memories.scopes import tenant_scope

#: Beyond this a corpus is no file to look at; only what the questions want is written then.
MEMORIES_MAX = 20_000


def export_golden(tenant_id: UUID, *, now: datetime) -> bytes:
    """A ZIP file with `memories.jsonl` and `questions.jsonl`; with no scope open.

    The memories are all live ones of the partitions that are asked, or those that are wanted where these are too many.
    Raises `InvalidInput` where there is no question.
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
    asked = golden_material(tenant_id, now=now).golden
    wanted = {memory_id for question in asked for memory_id in question.wanted}
    paths = {question.partition for question in asked}
    live = Memory.objects.for_tenant(tenant_id).live(now).within_any(paths)
    rows = list(live.order_by("created_at", "id")[: MEMORIES_MAX + 1])
    if len(rows) > MEMORIES_MAX:
        rows = list(Memory.objects.for_tenant(tenant_id).with_ids(wanted))
    there = {str(row.pk) for row in rows}
    newest = max((row.created_at for row in rows), default=now)
    questions = [
        CorpusQuestion(
            id=question.id,
            text=question.text,
            evidence=frozenset(map(str, question.wanted)) & there,
            asked_at=question.as_of or max(now, newest),
            partition=question.partition,
            category=question.category,
            answer=question.answer,
        )
        for question in asked
    ]
    if not rows or not all(question.evidence for question in questions):
        raise InvalidInput("no_questions", "There is no golden question whose memories are there.")
    return Corpus(GOLDEN_NAME, [_memory(row) for row in rows], questions)


def _memory(row: Memory) -> CorpusMemory:
    return CorpusMemory(
        id=str(row.pk),
        content=row.content,
        created_at=row.created_at,
        partition=row.partition_path,
        kind=row.kind,
        session=row.session,
        position=row.position,
        confidence=row.confidence,
        pinned=row.pinned,
        expires_at=row.expires_at,
        metadata=row.metadata,
    )
