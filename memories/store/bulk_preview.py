"""Preview a bulk action (ADR-0089)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memories.models import Memory
from memories.services.hygiene.rules import choose_kept_memory, combine_memories
from memories.services.hygiene.statements import states_the_same
from memories.services.store import bulk
from memories.tenancy.exceptions import Conflict, InvalidInput

#: Maximum memories whose text a preview shows.
EXAMPLES_MAX = 10
#: The number of days for which a retrieval counts as recent.
RECENT_DAYS = 30


@dataclass(frozen=True)
class BulkActionPreview:
    """The effect of an action on the selected memories: on `rows`, without texts; `examples` have them."""

    action: bulk.BulkAction
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
        return Counter(row.kind for row in self.rows).most_common()

    @property
    def reasons(self) -> list[tuple[int, str]]:
        return [(count, bulk.SKIP_REASONS[reason]) for reason, count in self.left.items()]

    @property
    def selected(self) -> str:
        """The memories and their versions as a form value."""
        return " ".join(f"{row.pk}:{row.version}" for row in self.rows)

    @property
    def suggested(self) -> Memory:
        return choose_kept_memory(self.rows)

    @property
    def distinct(self) -> set[UUID]:
        """The memories whose texts do not make the same statement as the suggested one."""
        kept = next((row for row in self.examples if row.pk == self.suggested.pk), None)
        return {row.pk for row in self.examples if kept and not states_the_same(kept.content, row.content)}

    @property
    def merged(self) -> tuple[float, int, bool]:
        return combine_memories(self.rows)[:3]


def preview_bulk_action(
    tenant_id: UUID, action: bulk.BulkAction, ids: Iterable[UUID], *, now: datetime
) -> BulkActionPreview:
    """Return the effect of `action` on these memories. Raises `Conflict` `nothing_left` or `InvalidInput`."""
    memory_ids = list(dict.fromkeys(ids))
    is_more, memory_ids = len(memory_ids) > bulk.BULK_MEMORIES_MAX, memory_ids[: bulk.BULK_MEMORIES_MAX]
    if not memory_ids:
        raise InvalidInput("required", "Choose at least one memory.", "id")
    selected = Memory.objects.for_tenant(tenant_id).with_ids(memory_ids)
    found = {row.pk: row for row in selected.without_texts()}
    reasons = {
        pk: bulk.skip_reason(action, found.get(pk), seen_version=found[pk].version if pk in found else 0, kind=None)
        for pk in memory_ids
    }
    rows = [found[pk] for pk in memory_ids if not reasons[pk]]
    left = Counter(reason for reason in reasons.values() if reason)
    if not rows:
        raise Conflict("nothing_left", f"Nothing to do: {bulk.describe_skipped(left)}.")
    if action.name == bulk.BULK_MERGE and not bulk.MERGED_MIN <= len(rows) <= bulk.MERGED_MAX:
        detail = f"A merge takes {bulk.MERGED_MIN} to {bulk.MERGED_MAX} live memories, not {len(rows):,}."
        raise InvalidInput("out_of_range", detail, "id")
    shown = [row.pk for row in rows[: bulk.MERGED_MAX if action.name == bulk.BULK_MERGE else EXAMPLES_MAX]]
    texts = {row.pk: row for row in selected.with_ids(shown)}
    since = now - timedelta(days=RECENT_DAYS)
    recent = sum(row.last_retrieved_at is not None and row.last_retrieved_at >= since for row in rows)
    return BulkActionPreview(action, rows, left, [texts[pk] for pk in shown if pk in texts], recent, is_more)
