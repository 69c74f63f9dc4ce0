"""Time the erasure of a person: `python -m benchmarks.bench_erasure [--memories 20000]`.

Loads memories of ten people with vectors and a receipt for each tenth memory, counts and erases one person, and
rewrites the tables.
"""

import random
import time
from io import StringIO
from typing import TYPE_CHECKING, Any

from benchmarks.database import benchmark_actor, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.texts import BENCHMARK_NOW, note_with_rare_words
from benchmarks.timing import argument_parser

if TYPE_CHECKING:
    from compaction.models import Erasure
    from memories.models import Tenant

PEOPLE = 10


def load(memories: int) -> "Tenant":
    """Store memories and receipts; return their tenant."""
    from context.models import Receipt
    from memories.models import Memory
    from memories.services.partitions.paths import parse_partition
    from memories.services.store.drafts import NewMemory
    from memories.tenancy.scopes import tenant_scope

    tenant, draw = new_benchmark_tenant("erasure"), random.Random(5)
    places = [parse_partition(f"user=u{number}") for number in range(PEOPLE)]
    rows = (NewMemory(note_with_rare_words(number, draw), places[number % PEOPLE]) for number in range(memories))
    store_in_batches(tenant, rows, now=BENCHMARK_NOW)
    empty: dict[str, Any] = {name: {} for name in ("request", "profile", "budget_profile", "budget", "plan")}
    empty |= {name: [] for name in ("blocks", "omitted", "candidates")}
    own = {"tenant": tenant, "created_at": BENCHMARK_NOW, "tokens_used": 1, "text_sha256": ""}
    with tenant_scope(tenant.pk):
        ids = list(Memory.objects.for_tenant(tenant.pk).order_by("pk").values_list("pk", flat=True))
        Receipt.objects.bulk_create(Receipt(memory_ids=[pk], **own, **empty) for pk in ids[::10])
    return tenant


def erase(tenant: "Tenant", *, is_dry_run: bool) -> "Erasure":
    """Count, or count and erase, one person."""
    from django.utils import timezone

    from compaction.erasure.actions import request_erasure
    from compaction.erasure.orchestrator import run_erasure
    from compaction.models import Erasure
    from memories.tenancy.scopes import tenant_scope

    now = timezone.now()
    target: dict[str, Any] = {"partition": "user=u3", "is_dry_run": is_dry_run, "is_enqueued": False}
    with tenant_scope(tenant.pk):
        erasure = request_erasure(tenant=tenant, **target, by=benchmark_actor(), now=now)
    run_erasure(tenant.pk, erasure.pk, now=now)
    with tenant_scope(tenant.pk):
        return Erasure.objects.get(pk=erasure.pk)


def main() -> None:
    """Print rows and seconds of each step."""
    memories = argument_parser(__doc__, memories=20_000).parse_args().memories
    with throwaway_database():
        from django.core.management import call_command

        tenant = load(memories)
        for is_dry_run in (True, False):
            began, used = time.perf_counter(), time.process_time()
            erasure = erase(tenant, is_dry_run=is_dry_run)
            rows = erasure.total if is_dry_run else erasure.done
            times = f"{time.perf_counter() - began:.1f} s ({time.process_time() - used:.1f} s of Python)"
            print(f"{'dry run' if is_dry_run else 'erasure'}: {rows:,} rows of {memories:,} memories in {times}")
        out = StringIO()
        call_command("clean_erased_files", stdout=out)
        print(out.getvalue().strip())


if __name__ == "__main__":
    main()
