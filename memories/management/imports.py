"""Import memories in batches with a progress bar, and embed them at the end."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memories.embeddings.embedders import is_local_for
from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import EmbeddingError
from memories.models import Memory, Tenant
from memories.services.store.drafts import FieldProblem, NewMemory
from memories.store.actions.store import StoreStatus, store_memories
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope

#: Rows per transaction; stored batches stay when a later one fails.
_ROWS_PER_BATCH = 500


@dataclass
class ImportReport:
    """The result of an import; `problems` of rows that were not stored, by the row's index in the file."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: dict[int, tuple[FieldProblem, ...]] = field(default_factory=dict)
    waiting: list[UUID] = field(default_factory=list)
    embedded: int = 0
    embedding_error: str = ""

    @property
    def summary(self) -> str:
        """One line for people."""
        stored = f"{self.counts[StoreStatus.CREATED]:,} created, {self.counts[StoreStatus.EXISTING]:,} existing"
        left = len(self.waiting) - self.embedded
        waits = f", {left:,} wait for their embedding" if left else ""
        return f"{stored}, {self.embedded:,} embedded{waits}"


def import_rows(tenant: Tenant, rows: Sequence[NewMemory], *, by: Actor, now: datetime) -> ImportReport:
    """Store the rows and embed those without a vector, also those of an interrupted earlier run."""
    report = ImportReport()
    with progress_bar() as bar:
        storing = bar.add_task("storing", total=len(rows))
        for start in range(0, len(rows), _ROWS_PER_BATCH):
            _store_batch(tenant, rows[start : start + _ROWS_PER_BATCH], start, report, by=by, now=now)
            bar.update(storing, advance=len(rows[start : start + _ROWS_PER_BATCH]))
        report.waiting = list(dict.fromkeys(report.waiting))
        if is_local_for(tenant.pk):
            embedding = bar.add_task("embedding", total=len(report.waiting))
            for done in _embed(tenant.pk, report):
                bar.update(embedding, advance=done)
    return report


def _store_batch(
    tenant: Tenant, batch: Sequence[NewMemory], start: int, report: ImportReport, *, by: Actor, now: datetime
) -> None:
    with tenant_scope(tenant.pk):
        results = store_memories(tenant=tenant, rows=batch, by=by, now=now)
    for place, result in enumerate(results, start=start):
        report.counts[str(result.status)] += 1
        if result.memory is None:
            report.problems[place] = result.problems
        elif result.memory.embedding_state == Memory.EmbeddingState.PENDING:
            report.waiting.append(result.memory.pk)


def _embed(tenant_id: UUID, report: ImportReport) -> Iterator[int]:
    try:
        for start in range(0, len(report.waiting), _ROWS_PER_BATCH):
            batch = report.waiting[start : start + _ROWS_PER_BATCH]
            report.embedded += index_memories(tenant_id, batch)
            yield len(batch)
    except EmbeddingError as error:
        report.embedding_error = error.detail


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a progress bar on the error stream, so that programs can read the standard output."""
    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield bar
