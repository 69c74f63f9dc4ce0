from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.services.partitions.paths import PartitionError, parse_partition
from memories.tenancy.actions.api_keys import MAX_KEY_NAME_CHARACTERS, create_api_key
from memories.tenancy.scopes import tenant_scope


class Command(PlatformCommand):
    help = (
        "Create an API key and print only the key on standard output. It is shown only once.\n\n"
        "Example: KEY=$(manage.py create_key acme --scopes read,write --partition user=alex)"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="name of the tenant")
        parser.add_argument("--scopes", required=True, help="read, write or admin; separate several with commas")
        parser.add_argument("--partition", default="", help="partition that the key is limited to, e.g. user=alex")
        parser.add_argument("--name", default="", help="name of the key (default: agent of its partition or tenant)")
        parser.add_argument(
            "--stores-recalled", action="store_true", help="store a new memory even if it repeats rendered text"
        )

    def handle(self, **options: Any) -> None:
        tenant = get_tenant_or_fail(options["tenant"])
        try:
            partition = parse_partition(options["partition"])
        except PartitionError as error:
            raise CommandError(f"--partition: {error.detail}") from error
        scopes = [scope.strip() for scope in options["scopes"].split(",") if scope.strip()]
        name = options["name"] or f"agent of {partition.path or tenant.name}"[:MAX_KEY_NAME_CHARACTERS].strip()
        refuses = not options["stores_recalled"]
        reach: dict[str, Any] = {"scopes": scopes, "partition": partition, "refuses_recalled_text": refuses}
        with tenant_scope(tenant.pk):
            _, key = create_api_key(tenant=tenant, name=name, **reach, by=self.actor, now=timezone.now())
        self.stderr.write(f"Created a key of {tenant.name} with the scopes {', '.join(scopes)}; it is not shown again:")
        self.stdout.write(key)
