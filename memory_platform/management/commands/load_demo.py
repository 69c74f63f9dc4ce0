"""`manage.py load_demo`: the demo tenant, replayed as it would have happened over six months."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from memories.embeddings.embedders import is_local_for
from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import EmbeddingError
from memories.management.command import PlatformCommand
from memories.models import Tenant
from memories.services.store.demo import read_demo
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.scopes import admin_write_scope
from memory_platform.management.demo import DemoLoader
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Load the demo tenant: what four agents of a small company remember of the last six months.\n"
        "Where the tenant exists already nothing is changed.\n\n"
        "Example: manage.py load_demo --tenant Fennrad"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", metavar="NAME", default="", help="name of the tenant (default: the demo's own)")

    def handle(self, **options: Any) -> None:
        now = timezone.now()
        demo = read_demo("tenant", now)
        name = options["tenant"].strip() or demo["name"]
        with admin_write_scope():
            if Tenant.objects.named(name).exists():
                self.stdout.write(f"The tenant {name} exists already; nothing was changed.")
                return
            # All or nothing, in one transaction: half a demo would never be completed.
            tenant = create_tenant(name=name, by=self.actor, now=demo["at"])
            loader = DemoLoader(tenant, by=self.actor, now=now)
            loader.load_memories()
        self.stdout.write(f"The tenant {name} has {counted(len(loader.memories), 'memory', 'memories')}.")
        if is_local_for(tenant.pk) and self._embed(tenant, [memory.pk for memory in loader.memories.values()]):
            loader.load_usage()
        loader.load_sessions()

    def _embed(self, tenant: Tenant, memory_ids: Iterable[UUID]) -> bool:
        """Now, so that the first page that is opened can search; whether that went well."""
        try:
            index_memories(tenant.pk, memory_ids)
        except EmbeddingError as error:
            self.stderr.write(f"Embedding stopped, the worker goes on with it: {error.detail}")
            return False
        return True
