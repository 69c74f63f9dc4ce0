"""What became of a tenant's memories between two moments: told by the database, in a few queries for any number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.candidates import Ranks, SearchScope, read_candidates
from memories.models import Memory
from memories.querysets.changes import KINDS, Sides, count_changes, list_changes
from memories.services.moments import Moment

PAGE_SIZE = 50


@dataclass(frozen=True)
class Change:
    """One memory as it held before and after; None where it did not."""

    memory_id: UUID
    before: Memory | None
    after: Memory | None


@dataclass(frozen=True)
class Comparison:
    """How many memories were `added`, `changed` (another version) and `removed`, and the first ones of each kind.

    `follows` names the kinds that have more: ask for one of them `behind` the last id of its list.
    """

    counts: Mapping[str, int]
    changes: Mapping[str, Sequence[Change]]
    follows: Sequence[str] = ()


def compare_moments(
    *,
    tenant_id: UUID,
    before: Moment,
    after: Moment,
    reach: str,
    kind: str | None = None,
    behind: UUID | None = None,
    limit: int = PAGE_SIZE,
) -> Comparison:
    """What differs within `reach` between two moments of any kind; inside a scope, six queries at most.

    A memory that was moved out of `reach` is removed there, one that was restored is changed. With a `kind` only that
    list is read.
    """
    former, latter = SearchScope(tenant_id, reach, before), SearchScope(tenant_id, reach, after)
    sides = Sides(former.sources(), latter.sources())
    counts = count_changes(sides)
    wanted = [name for name in KINDS if kind in (None, name) and counts[name]]
    listed = list_changes(sides, wanted, behind, limit + 1) if wanted else {}
    pages = {name: ids[:limit] for name, ids in listed.items()}
    keys = [memory_id.int for ids in pages.values() for memory_id in ids]
    was, became = _memories(former, keys), _memories(latter, keys)
    changes = {name: [Change(pk, was.get(pk), became.get(pk)) for pk in pages.get(name, [])] for name in KINDS}
    return Comparison(counts, changes, [name for name, ids in listed.items() if len(ids) > limit])


def _memories(scope: SearchScope, keys: Sequence[int]) -> dict[UUID, Memory]:
    if not keys:
        return {}
    return {found.id: found.memory for found in read_candidates(scope, keys, None, "", Ranks())}
