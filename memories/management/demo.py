"""The demo's memories, replayed as it would have happened over six months."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import track

from memories.actions import (
    Counters,
    adopt_counters,
    archive_memory,
    create_snapshot,
    link_memories,
    save_summary,
    set_memo,
    store_memory,
    update_memory,
)
from memories.audit import Actor
from memories.models import Memory, PartitionSummary, Tenant
from memories.scopes import tenant_scope
from memories.services.demo import (
    Archived,
    Corrected,
    DemoMemory,
    DemoStory,
    Linked,
    MemoWritten,
    Named,
    Step,
    Stored,
    Summarised,
)


def replay(story: DemoStory, tenant: Tenant, *, by: Actor, now: datetime) -> dict[str, Memory]:
    """Do all that happened, each step at its moment, and take over what was counted since; the memories by ref."""
    memories: dict[str, Memory] = {}
    with tenant_scope(tenant.pk):
        for step in _shown(story.steps):
            take_step(step, tenant, memories, by)
        counters = {memories[memory.ref].pk: _counters(memory) for memory in story.memories}
        adopt_counters(tenant_id=tenant.pk, counters=counters, by=by, now=now)
    return memories


def take_step(step: Step, tenant: Tenant, memories: dict[str, Memory], by: Actor) -> None:
    """Do one thing at the moment at which it happened; `memories` are known by their refs."""
    match step:
        case Stored(at, memory):
            memories[memory.ref] = _store(memory, tenant, by=by, now=at)
        case Corrected(at, ref, content):
            memories[ref] = update_memory(memory=memories[ref], changes={"content": content}, by=by, now=at)
        case Archived(at, ref):
            memories[ref] = archive_memory(memory=memories[ref], by=by, now=at)
        case Linked(at, source, kind, target):
            link_memories(source=memories[source], target=memories[target], kind=kind, by=by, now=at)
        case MemoWritten(at, content):
            set_memo(tenant=tenant, content=content, by=by, now=at)
        case Summarised(at, partition, style, content):
            origin = PartitionSummary.Origin.OPERATOR
            save_summary(tenant=tenant, partition=partition, style=style, content=content, origin=origin, by=by, now=at)
        case Named(at, name):
            create_snapshot(tenant=tenant, name=name, by=by, now=at)


def _store(memory: DemoMemory, tenant: Tenant, *, by: Actor, now: datetime) -> Memory:
    result = store_memory(
        tenant=tenant,
        content=memory.content,
        partition=memory.partition,
        kind=memory.kind,
        confidence=memory.confidence,
        pinned=memory.pinned,
        metadata=memory.metadata,
        created_at=memory.created_at,
        expires_at=memory.expires_at,
        source_id=memory.source_id,
        session=memory.session,
        position=memory.position,
        by=by,
        now=now,
    )
    if result.memory is None:
        raise CommandError(f"The demo memory {memory.ref} was not stored.")
    return result.memory


def _counters(memory: DemoMemory) -> Counters:
    return Counters(memory.usefulness, memory.retrieval_count, memory.last_retrieved_at)


def _shown(steps: Sequence[Step]) -> Iterable[Step]:
    """The steps, with a progress bar where somebody is watching."""
    console = Console(stderr=True)
    return track(steps, "Loading the demo", console=console, transient=True, disable=not console.is_terminal)
