"""The recorded contexts that include or exclude a memory, and why. Called inside a scope."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from context.models import Receipt
from context.profiles.budget_profiles import partition_lineage
from context.receipts.results import KEPT
from context.receipts.rows import candidate_outcome

#: The newest contexts of the tenant whose candidates are read.
CONTEXTS_READ_MAX = 300
#: The newest contexts listed of each kind.
CONTEXTS_SHOWN_MAX = 10


class ExcludingContext(NamedTuple):
    """A receipt whose context excluded the memory, and the reason."""

    receipt: Any
    reason: str


@dataclass(frozen=True)
class MemoryUse:
    """The recorded contexts that include a memory, and its outcomes in the newest ones that searched its partition.

    `included` counts all recorded contexts that include it, or a memory that was merged into it, of which `contexts`
    are the newest. `searched` contexts searched its partition; it was a candidate of some, which `outcomes` counts.
    """

    included: int
    contexts: Sequence[Any]
    searched: int
    outcomes: Mapping[str, int]
    excluding: Sequence[ExcludingContext]

    @property
    def excluded(self) -> int:
        """The number of searched contexts in which it was a candidate and was excluded."""
        return sum(self.outcomes.values()) - self.outcomes.get(KEPT, 0)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The exclusion reasons with their numbers, the most frequent first."""
        return [row for row in Counter(self.outcomes).most_common() if row[0] != KEPT]

    @property
    def not_considered(self) -> int:
        """The number of searched contexts in which it was not a candidate."""
        return self.searched - sum(self.outcomes.values())


def read_memory_use(tenant_id: UUID, memory_ids: Sequence[UUID], partition_path: str) -> MemoryUse:
    """Return the use of the first of `memory_ids`; the others were merged into it. Three queries."""
    rows = Receipt.objects.for_tenant(tenant_id)
    including = rows.holding_any(memory_ids)
    searched = rows.newest_outcomes(partition_lineage(partition_path), among=CONTEXTS_READ_MAX)
    own = str(memory_ids[0])
    found = [(row, candidate_outcome(row.candidates, own)) for row in searched]
    outcomes = Counter(outcome for _, outcome in found if outcome is not None)
    excluding = [ExcludingContext(row, outcome) for row, outcome in found if outcome not in (None, KEPT)]
    return MemoryUse(
        included=including.count(),
        contexts=list(including.newest_first().without_details()[:CONTEXTS_SHOWN_MAX]),
        searched=len(searched),
        outcomes=outcomes,
        excluding=excluding[:CONTEXTS_SHOWN_MAX],
    )
