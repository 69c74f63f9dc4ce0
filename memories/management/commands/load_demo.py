"""`manage.py load_demo`: the demo tenant, replayed as it would have happened over six months."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import track

from memories.actions import (
    Counters,
    adopt_counters,
    archive_memory,
    create_tenant,
    link_memories,
    set_memo,
    store_memory,
    update_memory,
)
from memories.audit import Actor
from memories.embedding import EmbeddingError, is_provider_local
from memories.indexer import index_memories
from memories.management.door import DoorCommand
from memories.models import Memory, Tenant
from memories.scopes import admin_write_scope, tenant_scope
from memories.services.demo import (
    Archived,
    Corrected,
    DemoMemory,
    DemoStory,
    Linked,
    MemoWritten,
    Step,
    Stored,
    read_story,
)


class Command(DoorCommand):
    help = (
        "Load the demo tenant: what four agents of a small company remember of the last six months.\n"
        "Where the tenant exists already nothing is changed.\n\n"
        "Example: manage.py load_demo --tenant Fennrad"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", metavar="NAME", default="", help="name of the tenant (default: the demo's own)")

    def handle(self, **options: Any) -> None:
        now = timezone.now()
        story = read_story(now)
        name = options["tenant"].strip() or story.tenant_name
        with admin_write_scope():
            if Tenant.objects.named(name).exists():
                self.stdout.write(f"The tenant {name} exists already; nothing was changed.")
                return
            # All or nothing, in one transaction: half a demo would never be completed.
            tenant = create_tenant(name=name, by=self.actor, now=story.began_at)
            memories = replay(story, tenant, by=self.actor, now=now)
        self.stdout.write(f"The tenant {name} has {len(memories)} memories.")
        if is_provider_local():
            self._embed(tenant, memories)

    def _embed(self, tenant: Tenant, memories: Sequence[Memory]) -> None:
        """Now, so that the first page that is opened can search."""
        try:
            index_memories(tenant.pk, [memory.pk for memory in memories])
        except EmbeddingError as error:
            self.stderr.write(f"Embedding stopped, the worker goes on with it: {error.detail}")


def replay(story: DemoStory, tenant: Tenant, *, by: Actor, now: datetime) -> list[Memory]:
    """Do all that happened, each step at its moment, and take over what was counted since."""
    memories: dict[str, Memory] = {}
    with tenant_scope(tenant.pk):
        for step in _shown(story.steps):
            take_step(step, tenant, memories, by)
        counters = {memories[memory.ref].pk: _counters(memory) for memory in story.memories}
        adopt_counters(tenant_id=tenant.pk, counters=counters, by=by, now=now)
    return list(memories.values())


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
