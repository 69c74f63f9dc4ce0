"""What an act on many memories would do, read before anybody says yes (ADR-0089)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memories.models import Memory
from memories.services.hygiene.rules import choose_kept_memory, combine_memories
from memories.services.store.bulk import (
    ACT_MEMORIES_MAX,
    BULK_MERGE,
    MERGED_MAX,
    MERGED_MIN,
    SKIP_REASONS,
    BulkAction,
    describe_skipped,
    skip_reason,
)
from memories.store.queries.memories import MemoryQuerySet
from memories.tenancy.exceptions import Conflict, InvalidInput

#: Memories that a preview shows in words.
EXAMPLES_MAX = 10
#: "Lately": the days in which a memory's use counts as recent.
RECENT_DAYS = 30


@dataclass(frozen=True)
class BulkActionPreview:
    """What an act would do to the chosen memories: to `rows`, which carry no texts; the `examples` do."""

    act: BulkAction
    rows: Sequence[Memory]
    left: Mapping[str, int]
    examples: Sequence[Memory]
    recent: int
    is_more: bool = False

    @property
    def tokens(self) -> int:
        return sum(row.tokens_o200k_base for row in self.rows)

    @property
    def pinned(self) -> int:
        return sum(row.pinned for row in self.rows)

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds they have now, the most frequent first."""
        return Counter(row.kind for row in self.rows).most_common()

    @property
    def reasons(self) -> list[tuple[int, str]]:
        """How many are left alone, and why in words."""
        return [(count, SKIP_REASONS[reason]) for reason, count in self.left.items()]

    @property
    def chosen(self) -> str:
        """The memories with the versions they are seen in, as the form sends them."""
        return " ".join(f"{row.pk}:{row.version}" for row in self.rows)

    @property
    def suggested(self) -> Memory:
        """Of a merge the one to keep where nobody chooses."""
        return choose_kept_memory(self.rows)

    @property
    def merged(self) -> tuple[float, int, bool]:
        """Usefulness, retrievals and pin of what a merge makes of them."""
        return combine_memories(self.rows)[:3]


def selectable_memories(rows: MemoryQuerySet) -> MemoryQuerySet:
    """The newest of a list that an act may be about, and one more where there are more."""
    return rows.page("-created_at", count=ACT_MEMORIES_MAX + 1)


def preview_bulk_action(tenant_id: UUID, act: BulkAction, ids: Iterable[UUID], *, now: datetime) -> BulkActionPreview:
    """What `act` would do to these memories; inside a scope. Two queries, nothing changes.

    Raises `Conflict` `nothing_left` where it would leave all of them alone, `InvalidInput` for too few or many.
    """
    wanted = list(dict.fromkeys(ids))
    is_more, wanted = len(wanted) > ACT_MEMORIES_MAX, wanted[:ACT_MEMORIES_MAX]
    if not wanted:
        raise InvalidInput("required", "Choose at least one memory.", "id")
    chosen = Memory.objects.for_tenant(tenant_id).with_ids(wanted)
    found = {row.pk: row for row in chosen.without_texts()}
    reasons = {pk: _reason(act, found.get(pk)) for pk in wanted}
    rows = [found[pk] for pk in wanted if not reasons[pk]]
    left = Counter(reason for reason in reasons.values() if reason)
    if not rows:
        raise Conflict("nothing_left", f"There is nothing to do: {describe_skipped(left)}.")
    if act.name == BULK_MERGE and not MERGED_MIN <= len(rows) <= MERGED_MAX:
        raise InvalidInput(
            "out_of_range", f"A merge takes {MERGED_MIN} to {MERGED_MAX} live memories, not {len(rows):,}.", "id"
        )
    shown = [row.pk for row in rows[: MERGED_MAX if act.name == BULK_MERGE else EXAMPLES_MAX]]
    texts = {row.pk: row for row in chosen.with_ids(shown)}
    since = now - timedelta(days=RECENT_DAYS)
    recent = sum(row.last_retrieved_at is not None and row.last_retrieved_at >= since for row in rows)
    return BulkActionPreview(act, rows, left, [texts[pk] for pk in shown if pk in texts], recent, is_more)


def _reason(act: BulkAction, row: Memory | None) -> str:
    return skip_reason(act, row, seen_version=row.version if row else 0)
