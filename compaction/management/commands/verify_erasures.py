"""`manage.py verify_erasures`: list the receipts of erasures and verify their signatures (ADR-0130)."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from compaction.erasure.orchestrator import erased_target_hash, erasure_receipts, is_receipt_valid
from memories.management.command import PlatformCommand
from memory_platform.web.numerals import counted


class Command(PlatformCommand):
    help = (
        "List the receipts of erasures, also of erased tenants, and verify them; exit with 1 if one is not valid.\n"
        "With --target, list only those of a memory's id or a partition's path.\n\n"
        "Example: manage.py verify_erasures --target user=alex"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--target", metavar="TEXT", default="", help="id of a memory, or path of a partition")

    def handle(self, **options: Any) -> None:
        target_hmac = erased_target_hash(options["target"]) if options["target"] else ""
        invalid = shown = 0
        for erasure in erasure_receipts():
            if target_hmac and (erasure.receipt or {}).get("target_hmac") != target_hmac:
                continue
            is_valid = is_receipt_valid(erasure)
            shown, invalid = shown + 1, invalid + (not is_valid)
            what = f"{erasure.scope} of tenant {erasure.tenant_id}, {counted(erasure.done, 'row', 'rows')}"
            state = "valid" if is_valid else "NOT VALID"
            self.stdout.write(f"{erasure.finished_at:%Y-%m-%d %H:%M} {erasure.pk} {what}: {state}")
        self.stdout.write(f"{counted(shown, 'receipt', 'receipts')}, {invalid} not valid.")
        if invalid:
            raise CommandError(f"Not valid: {counted(invalid, 'receipt', 'receipts')}.")
