"""`manage.py erase`: count, then erase a memory, a partition or a tenant (ADR-0130)."""

from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from compaction.erasure.actions import request_erasure, retry_erasure
from compaction.erasure.orchestrator import is_receipt_valid, run_erasure
from compaction.models import Erasure
from memories.management.command import PlatformCommand, get_tenant_or_fail
from memories.models import Tenant
from memories.services.partitions.paths import PartitionError, parse_partition
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "Print how many rows of each kind would be erased; with --yes, erase them and print the signed receipt.\n"
        "Erasing cannot be undone. An interrupted run continues in the worker, or with --resume ID. Afterwards,\n"
        "`manage.py clean_erased_files` removes the texts from the data files.\n\n"
        "Example: manage.py erase acme --partition user=alex --yes"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="name of the tenant")
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument("--memory", metavar="ID", type=UUID, help="one memory")
        target.add_argument("--partition", metavar="PATH", help="a partition and all below it, e.g. user=alex")
        target.add_argument("--everything", action="store_true", help="the whole tenant, with its keys and audit log")
        target.add_argument("--resume", metavar="ID", type=UUID, help="continue an interrupted or failed erasure")
        parser.add_argument("--yes", action="store_true", help="erase; without it only count")

    def handle(self, **options: Any) -> None:
        tenant = get_tenant_or_fail(options["tenant"])
        erasure_id = self._resumed(tenant, options["resume"]) if options["resume"] else self._request(tenant, options)
        run_erasure(tenant.pk, erasure_id, now=timezone.now(), progress=self._show)
        with tenant_scope(tenant.pk):
            erasure: Erasure | None = Erasure.objects.for_tenant(tenant.pk).with_id(erasure_id).first()
        if erasure is None or erasure.state != Erasure.State.DONE:
            raise CommandError(_unfinished(erasure_id, erasure))
        for kind, count in (erasure.counts or erasure.expected).items():
            self.stdout.write(f"{count:>10,} {kind}")
        if erasure.is_dry_run:
            self.stdout.write("Nothing was erased. Repeat with --yes to erase this.")
        else:
            self.stdout.write(f"Erased. Receipt {erasure.pk} {'is' if is_receipt_valid(erasure) else 'is NOT'} valid.")

    def _request(self, tenant: Tenant, options: dict[str, Any]) -> UUID:
        target: dict[str, Any] = {"memory_id": options["memory"]}
        if options["partition"] is not None:
            try:
                target["partition"] = parse_partition(options["partition"]).path
            except PartitionError as error:
                raise CommandError(f"--partition: {error.detail}") from error
        with tenant_scope(tenant.pk):
            erasure = request_erasure(
                tenant=tenant,
                **target,
                is_dry_run=not options["yes"],
                is_enqueued=False,
                by=self.actor,
                now=timezone.now(),
            )
        return erasure.pk

    def _resumed(self, tenant: Tenant, erasure_id: UUID) -> UUID:
        with tenant_scope(tenant.pk):
            rows = Erasure.objects.for_tenant(tenant.pk).with_id(erasure_id)
            for failed in rows.failed():
                retry_erasure(erasure=failed, is_enqueued=False, by=self.actor, now=timezone.now())
        return erasure_id

    def _show(self, erasure: Erasure) -> None:
        self.stderr.write(f"{erasure.done:,} of {counted(erasure.total, 'row', 'rows')}: {erasure.step}")


def _unfinished(erasure_id: UUID, erasure: Erasure | None) -> str:
    """Return the error of an erasure that is not done: its state, and when it can be continued."""
    if erasure is None or erasure.claimed_until is None:
        state = erasure.state if erasure else "absent"
        return f"The erasure {erasure_id} is {state}; repeat with --resume {erasure_id}."
    return (
        f"Another process is running the erasure {erasure_id}. If that process was killed, a worker continues the"
        f" erasure after {erasure.claimed_until:%Y-%m-%d %H:%M:%S} UTC; from then on, --resume {erasure_id} works too."
    )
