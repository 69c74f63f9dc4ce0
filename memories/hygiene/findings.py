"""Read the hygiene lists: lengths, pages, and the effect of an action."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.hygiene.queries import count_up_to
from memories.models import Memory, MemoryFinding, MemoryPair, UncomparedMemory
from memories.services.hygiene import rules
from memories.services.hygiene.rules import HygieneList
from memories.services.hygiene.statements import states_the_same
from memories.services.hygiene.value_differences import ComparedSpan, mark_value_differences
from memories.services.store.bulk import BULK_ARCHIVE, BULK_MERGE, RESTORE
from memories.services.time_limits import in_time
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.queries.rows import Backlog

ROWS_PER_PAGE = 25
#: Maximum open pairs of a memory that its page shows.
NEIGHBOURS_SHOWN_MAX = 5
#: Maximum rows of a list that are counted.
COUNTED_MAX = 1_000
#: Rows per read for a page, and the maximum number of reads.
CHUNK_ROWS, CHUNKS_MAX = 100, 20
#: Maximum characters of a text that a pair shows.
SHOWN_CHARACTERS_MAX = 1_200
#: Conditions of lists that may have changed since the rows were stored, checked again while reading.
RETRIEVED = {rules.NEVER_RETRIEVED: Q(memory__retrieval_count=0), rules.UNHELPFUL: Q(memory__retrieval_count__gt=0)}

DISMISS = "dismiss"


@dataclass(frozen=True)
class HygieneListLength:
    """The number of rows of a list; `is_more` if counting stopped at `COUNTED_MAX`."""

    list: HygieneList
    count: int
    is_more: bool


@dataclass(frozen=True)
class PairMember:
    """One memory of a pair with its text in spans; `is_cut` if the text is longer."""

    memory: Memory
    spans: Sequence[ComparedSpan]
    is_cut: bool
    is_suggested: bool


@dataclass(frozen=True)
class MemoryPairRow:
    """A pair as its page shows it, the older memory first."""

    id: int
    pair: MemoryPair
    sides: tuple[PairMember, PairMember]


@dataclass(frozen=True)
class MergeGroup:
    """A kept memory, those merged into it, and its new values."""

    kept: Memory
    others: Sequence[Memory]
    usefulness: float
    retrievals: int
    is_pinned: bool


@dataclass(frozen=True)
class HygieneActionEffect:
    """The effect of an action: `groups` of a merge and the `distinct` memories it keeps, or the changed `memories`."""

    action: str
    ids: Sequence[int]
    groups: Sequence[MergeGroup] = ()
    memories: Sequence[Memory] = ()
    distinct: Sequence[Memory] = ()

    @property
    def archived_memories(self) -> list[Memory]:
        own = self.memories if self.action == BULK_ARCHIVE else ()
        return [*own, *(memory for group in self.groups for memory in group.others)]

    @property
    def members(self) -> list[Memory]:
        """All memories that the action changes."""
        return [*self.memories, *(memory for group in self.groups for memory in (group.kept, *group.others))]

    @property
    def archived(self) -> int:
        return len(self.archived_memories)

    @property
    def tokens(self) -> int:
        """The tokens that agents no longer read."""
        return sum(memory.tokens_o200k_base for memory in self.archived_memories)


@dataclass(frozen=True)
class PairedMemory:
    """The other memory of an open pair, and the list that contains the pair."""

    list: HygieneList
    other: Memory
    is_older: bool


@dataclass(frozen=True)
class MemoryComparison:
    """The result of comparing a memory with its partition; `is_waiting` until the comparison has run."""

    neighbours: Sequence[PairedMemory]
    is_waiting: bool


def memory_comparison(tenant_id: UUID, memory: Memory) -> MemoryComparison:
    """Return the open pairs of a memory, and whether it still has to be compared; inside a scope. Two queries."""
    pairs = MemoryPair.objects.for_tenant(tenant_id).open().of_memory(memory.pk).with_memories()
    found = [
        PairedMemory(rules.LISTS[pair.kind], pair.older if is_older else pair.newer, is_older)
        for pair in pairs[:NEIGHBOURS_SHOWN_MAX]
        for is_older in [pair.newer_id == memory.pk]
    ]
    # Pairs with an archived memory stay until the next sweep; a replaced memory is archived.
    neighbours = [row for row in found if row.other.archived_at is None or row.list.kind == rules.REPLACED]
    is_waiting = memory.archived_at is None and UncomparedMemory.objects.for_tenant(tenant_id).is_waiting(memory.pk)
    return MemoryComparison(neighbours, is_waiting)


def hygiene_list_lengths(tenant_id: UUID, partition: str, *, reach: str = "", now: datetime) -> list[HygieneListLength]:
    """Return the length of every list within `reach`, counted up to `COUNTED_MAX`, inside a scope. One query."""
    rows = [open_rows(tenant_id, each, partition, now).within_reach(reach) for each in rules.LISTS.values()]
    counts = count_up_to(rows, COUNTED_MAX + 1)
    return [
        HygieneListLength(each, min(count, COUNTED_MAX), count > COUNTED_MAX)
        for each, count in zip(rules.LISTS.values(), counts, strict=True)
    ]


def pair_backlogs(tenant_ids: Collection[UUID], kind: str, *, now: datetime) -> dict[UUID, Backlog]:
    """Return how many pairs of a list each tenant has, counted up to `COUNTED_MAX`; inside a scope. One query."""
    ids = list(tenant_ids)
    counts = count_up_to([open_rows(each, rules.LISTS[kind], "", now) for each in ids], COUNTED_MAX + 1) if ids else []
    backlogs = {
        each: Backlog(min(count, COUNTED_MAX), None, count > COUNTED_MAX)
        for each, count in zip(ids, counts, strict=True)
    }
    return {each: backlog for each, backlog in backlogs.items() if backlog.count}


def comparison_backlog(tenant_id: UUID, partition: str = "") -> int:
    """Return the number of memories in `partition` to compare, counted up to `COUNTED_MAX`; inside a scope."""
    return count_up_to([UncomparedMemory.objects.for_tenant(tenant_id).within(partition)], COUNTED_MAX)[0]


def hygiene_page(
    tenant_id: UUID, each: HygieneList, partition: str, sort: str, *, behind: tuple[Any, int] | None, now: datetime
) -> tuple[Sequence[MemoryPairRow | MemoryFinding], MemoryPair | MemoryFinding | None]:
    """Return a page of a list after `behind` (the sorted column's value, id), and its last row if more follow.

    Inside a scope.

    Two queries, more only if most rows belong to archived memories. Each uses an index; one join with the memories
    would read and sort all rows, because row-level security hides row counts from the planner.
    """
    if partition:
        rows = open_rows(tenant_id, each, partition, now).with_memories()
        found = list(rows.page(each.sorts[sort], after=behind, count=ROWS_PER_PAGE + 1))
    else:
        found = _live_rows(tenant_id, each, each.sorts[sort], behind, now)
    last = found[ROWS_PER_PAGE - 1] if len(found) > ROWS_PER_PAGE else None
    shown = found[:ROWS_PER_PAGE]
    return [_pair_row(row) for row in shown] if each.has_pairs else shown, last


def _live_rows(tenant_id: UUID, each: HygieneList, ordering: str, behind: Any, now: datetime) -> list[Any]:
    found: list[Any] = []
    for _ in range(CHUNKS_MAX):
        chunk = _rows_of(tenant_id, each).page(ordering, after=behind, count=CHUNK_ROWS)
        places = list(chunk.values_list(ordering.removeprefix("-"), "pk"))
        live = open_rows(tenant_id, each, "", now).with_ids(pk for _, pk in places).with_memories()
        found += live.page(ordering, count=ROWS_PER_PAGE + 1 - len(found))
        if len(found) > ROWS_PER_PAGE or len(places) < CHUNK_ROWS:
            break
        behind = places[-1]
    return found


def hygiene_action_effect(
    tenant_id: UUID, each: HygieneList, action: str, ids: Collection[int], *, keep: UUID | None = None, now: datetime
) -> HygieneActionEffect:
    """Return the effect of `action` on the rows still in the list. Raises `Conflict` `gone` or `InvalidInput`."""
    if action not in (DISMISS, each.action):
        raise InvalidInput("invalid_choice", "This list does not have that action.", "action")
    rows = list(open_rows(tenant_id, each, "", now).with_ids(ids).with_memories().order_by("id"))
    if not rows:
        raise Conflict("gone", "These rows are no longer in the list: someone acted on them, or a text changed.")
    numbers = [row.pk for row in rows]
    if action == BULK_MERGE:
        groups, distinct = _merge_groups(rows, keep, is_contradiction=each.kind == rules.CONTRADICTION)
        if not groups:
            raise Conflict("distinct", "These memories do not make the same statement. Nothing was merged.")
        return HygieneActionEffect(action, numbers, groups=groups, distinct=distinct)
    if each.has_pairs:
        return HygieneActionEffect(
            action, numbers, memories=[row.older if action == RESTORE else row.newer for row in rows]
        )
    return HygieneActionEffect(action, numbers, memories=[row.memory for row in rows])


def _rows_of(tenant_id: UUID, each: HygieneList) -> Any:
    model: Any = MemoryPair if each.has_pairs else MemoryFinding
    return model.objects.for_tenant(tenant_id).of_kind(each.kind).open()


def open_rows(tenant_id: UUID, each: HygieneList, partition: str, now: datetime) -> Any:
    """Return the rows of a list whose memories are live or, of a replaced pair, still replaced; inside a scope."""
    rows = _rows_of(tenant_id, each)
    if each.kind == rules.REPLACED:
        return rows.replaced_within(partition)
    return rows.live_within(partition, now).filter(RETRIEVED.get(each.kind, Q()))


def _merge_groups(
    rows: Sequence[MemoryPair], keep: UUID | None, *, is_contradiction: bool
) -> tuple[list[MergeGroup], list[Memory]]:
    """Return the groups of a merge, and the memories that stay because they state something else than the kept one.

    In a contradiction, the operator decides which statement is correct, so a pair with the kept memory is enough.
    """
    memories = {memory.pk: memory for row in rows for memory in (row.older, row.newer)}
    pairs = {frozenset((row.older_id, row.newer_id)) for row in rows}
    groups, distinct = list[MergeGroup](), list[Memory]()
    for members in rules.group_pairs((row.older_id, row.newer_id) for row in rows):
        together = [memories[pk] for pk in members]
        kept = next((memory for memory in together if memory.pk == keep), None)
        kept = kept or rules.choose_kept_memory(together, prefers_newer=is_contradiction)
        others = [
            memory
            for memory in in_time(together)
            if memory.pk != kept.pk
            and (
                frozenset((memory.pk, kept.pk)) in pairs
                if is_contradiction
                else states_the_same(kept.content, memory.content)
            )
        ]
        distinct += [memory for memory in together if memory not in (kept, *others)]
        if others:
            usefulness, retrievals, is_pinned, _ = rules.combine_memories([kept, *others])
            groups.append(MergeGroup(kept, others, usefulness, retrievals, is_pinned))
    return groups, distinct


def suggested_memory(pair: MemoryPair) -> Memory | None:
    """Return the memory that a merge keeps by default; None if one replaced the other."""
    if pair.kind == rules.REPLACED:
        return None
    return rules.choose_kept_memory((pair.older, pair.newer), prefers_newer=pair.kind == rules.CONTRADICTION)


def _pair_row(pair: MemoryPair) -> MemoryPairRow:
    memories = (pair.older, pair.newer)
    older, newer = (memory.content[:SHOWN_CHARACTERS_MAX] for memory in memories)
    suggested = suggested_memory(pair)
    left, right = (
        PairMember(memory, spans, len(memory.content) > SHOWN_CHARACTERS_MAX, memory is suggested)
        for memory, spans in zip(memories, mark_value_differences(older, newer), strict=True)
    )
    return MemoryPairRow(pair.pk, pair, (left, right))
