"""Import memories in batches with a progress bar, and embed them at the end."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.core.management.base import BaseCommand
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memories.embeddings.embedders import is_local_for
from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import EmbeddingError
from memories.models import Memory, Tenant
from memories.services.store.drafts import FieldProblem, NewMemory
from memories.store.actions.store import store_memories
from memories.store.store_results import StoreStatus
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope

#: Rows per transaction; stored batches remain if a later one fails.
_ROWS_PER_BATCH = 500


@dataclass
class ImportReport:
    """The result of an import; `problems` of rows that were not stored, by the row's index in the file."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: dict[int, tuple[FieldProblem, ...]] = field(default_factory=dict)
    pending: list[UUID] = field(default_factory=list)
    embedded: int = 0
    embedding_error: str = ""

    def write(self, command: BaseCommand, subject: str = "") -> None:
        """Write one line of text, and the reason if embedding stopped."""
        counted_states = (StoreStatus.CREATED, StoreStatus.UPDATED, StoreStatus.EXISTING)
        shown = [state for state in counted_states if self.counts[state] or state != StoreStatus.UPDATED]
        stored = ", ".join(f"{self.counts[state]:,} {state}" for state in shown)
        left = len(self.pending) - self.embedded
        waits = f", {left:,} wait for their embedding" if left else ""
        command.stdout.write(f"{subject}{stored}, {self.embedded:,} embedded{waits}")
        if self.embedding_error:
            command.stderr.write(f"Embedding stopped; the worker continues: {self.embedding_error}")


def import_rows(tenant: Tenant, rows: Sequence[NewMemory], *, by: Actor, now: datetime) -> ImportReport:
    """Store the rows and embed those without a vector, including those of an interrupted earlier run."""
    report = ImportReport()
    pending: dict[UUID, None] = {}
    with progress_bar() as bar:
        storing = bar.add_task("storing", total=len(rows))
        for start in range(0, len(rows), _ROWS_PER_BATCH):
            batch = rows[start : start + _ROWS_PER_BATCH]
            with tenant_scope(tenant.pk):
                results = store_memories(tenant=tenant, rows=batch, by=by, now=now)
            for place, result in enumerate(results, start=start):
                report.counts[str(result.status)] += 1
                if result.memory is None:
                    report.problems[place] = result.problems
                elif result.memory.embedding_state == Memory.EmbeddingState.PENDING:
                    pending[result.memory.pk] = None
            bar.update(storing, advance=len(batch))
        report.pending = list(pending)
        if is_local_for(tenant.pk):
            embedding = bar.add_task("embedding", total=len(pending))
            try:
                for start in range(0, len(pending), _ROWS_PER_BATCH):
                    ids = report.pending[start : start + _ROWS_PER_BATCH]
                    report.embedded += index_memories(tenant.pk, ids)
                    bar.update(embedding, advance=len(ids))
            except EmbeddingError as error:
                report.embedding_error = error.detail
    return report


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a progress bar on the error stream, so that programs can read the standard output."""
    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield bar
