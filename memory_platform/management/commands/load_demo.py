"""`manage.py load_demo`: the demo tenant, replayed as it would have happened over six months."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from compaction.management.demo import replay_sessions
from compaction.services.demo import read_sessions
from context.management.demo import replay_contexts, replay_drafts, replay_evaluations, replay_votes
from context.services.demo import read_measured, read_questions, read_votes
from memories.actions import create_tenant
from memories.embedders import is_local_for
from memories.embedding import EmbeddingError
from memories.indexer import index_memories
from memories.management.demo import replay
from memories.management.door import DoorCommand
from memories.models import Tenant
from memories.scopes import admin_write_scope
from memories.services.demo import read_story


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
            memories = {ref: row.pk for ref, row in replay(story, tenant, by=self.actor, now=now).items()}
            replay_votes(read_votes(now), tenant.pk, memories, by=self.actor)
            measured = read_measured(now)
            replay_drafts(measured, tenant.pk, memories, by=self.actor)
        self.stdout.write(f"The tenant {name} has {len(memories)} memories.")
        if is_local_for(tenant.pk) and self._embed(tenant, memories.values()):
            replay_contexts(read_questions(now), tenant.pk, by=self.actor)
            replay_evaluations(measured, tenant.pk, by=self.actor)
        replay_sessions(read_sessions(now), tenant, by=self.actor)

    def _embed(self, tenant: Tenant, memory_ids: Iterable[UUID]) -> bool:
        """Now, so that the first page that is opened can search; whether that went well."""
        try:
            index_memories(tenant.pk, memory_ids)
        except EmbeddingError as error:
            self.stderr.write(f"Embedding stopped, the worker goes on with it: {error.detail}")
            return False
        return True
