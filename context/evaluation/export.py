"""Export of golden questions as a corpus."""

import zipfile
from datetime import datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from context.evaluation.corpora import copy_golden_questions
from context.services.evaluation.corpus import write_corpus
from memories.tenancy.scopes import tenant_scope

#: Maximum memories; of a larger corpus, the evidence and the newest of the other memories are written.
MEMORIES_MAX = 20_000


def export_golden(tenant_id: UUID, *, now: datetime) -> bytes:
    """Return a ZIP file with `memories.jsonl` and `questions.jsonl`; with no scope open.

    Questions whose evidence no longer exists are omitted. Raises `InvalidInput` without questions.
    """
    with tenant_scope(tenant_id):
        corpus = copy_golden_questions(tenant_id, now=now, most=MEMORIES_MAX)
    with TemporaryDirectory() as folder:
        write_corpus(corpus, Path(folder))
        archive = BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(Path(folder).iterdir()):
                packed.write(path, path.name)
    return archive.getvalue()
