from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG
from memories.tenancy.scopes import admin_write_scope


class Command(PlatformCommand):
    help = (
        "Create a tenant: the isolation boundary that keys, operators and memories belong to.\n\n"
        "Example: manage.py create_tenant acme --language german"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="its name, unique in this installation")
        parser.add_argument(
            "--language",
            default=DEFAULT_TEXT_SEARCH_CONFIG,
            help="the language of its memories: a Postgres text search configuration (default: english);"
            " simple disables stemming",
        )

    def handle(self, **options: Any) -> None:
        with admin_write_scope():
            named = {"name": options["name"], "language": options["language"]}
            tenant = create_tenant(**named, by=self.actor, now=timezone.now())
        self.stdout.write(f"Created the tenant {tenant.name} ({tenant.pk}).")
