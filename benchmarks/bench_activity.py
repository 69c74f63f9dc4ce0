"""Time the Activity page of a tenant with many audit entries, filtered by the text of the changed objects.

Prints processor time of the web process and its database process, for a tenant that lists one entry in 20 and for one
that lists all of them. Each has 5 memories with a rare word and 300 with a common one.

    python -m benchmarks.bench_activity --entries 300000 --rounds 5 --limit-ms 150
"""

import argparse
import sys
from functools import partial
from statistics import median
from typing import Any

from benchmarks.database import console_client, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.timing import Stopwatch, argument_parser

#: A rare and a common word, beginnings of ids (from one in 16 to one in 4,096 ids), and no text.
_TEXTS = ("", "zeppelin", "bread", "a", "0", "m", "00", "00a", "nomatch")
_FILL = """
INSERT INTO memories_auditentry
    (id, tenant_id, at, actor_kind, actor_id, actor_label, verb, target_kind, target_ids, fields, reason)
SELECT gen_random_uuid(), %s, now() - n * interval '20 seconds', kind, (n %% 7)::text, 'actor ' || n %% 7,
    CASE kind WHEN 'key' THEN 'store_memory' ELSE (array['archive_memory', 'pin_memories'])[1 + n %% 2] END,
    'memory', array[gen_random_uuid()::text], '{}', ''
FROM generate_series(1, %s) AS n, LATERAL (SELECT CASE WHEN n %% %s > 0 THEN 'key' ELSE 'system' END AS kind) AS by
"""


def main() -> int:
    options = argument_parser(__doc__, entries=300_000, rounds=5, limit_ms=0.0).parse_args()
    with throwaway_database():
        from memory_platform.postgres.roles import CONSOLE, logged_in_as

        tenants = [_filled(f"1 in {step} listed", options.entries, step) for step in (20, 1)]
        with logged_in_as(CONSOLE):
            return max([_measure(tenant, options) for tenant in tenants])


def _filled(name: str, entries: int, step: int) -> Any:
    from django.db import connection, connections
    from django.utils import timezone

    from memories.services.store.drafts import NewMemory
    from memories.tenancy.scopes import tenant_scope

    tenant = new_benchmark_tenant(name)
    rows = [NewMemory(content=f"{word} {n}") for word, count in (("zeppelin", 5), ("bread", 300)) for n in range(count)]
    store_in_batches(tenant, rows, now=timezone.now(), batch=1, with_vectors=False)
    with connections["owner"].cursor() as owner:
        owner.execute("ALTER TABLE memories_auditentry DISABLE TRIGGER queued_for_a_seal")
        with tenant_scope(tenant.pk), connection.cursor() as cursor:
            cursor.execute(_FILL, [tenant.pk, entries, step])
        owner.execute("ALTER TABLE memories_auditentry ENABLE TRIGGER queued_for_a_seal")
        owner.execute("VACUUM ANALYZE")
    return tenant


def _measure(tenant: Any, options: argparse.Namespace) -> int:
    """Print the times of each text; return 1 if a median is over the limit, else 0."""
    from django.urls import reverse

    from tests.users import new_operator

    client = console_client(new_operator(str(tenant.pk), "admin", tenant))
    watch, slow = Stopwatch(), 0
    for text in _TEXTS:
        ask = partial(client.get, reverse("activity", args=[tenant.pk]), {"q": text})
        rows = ask().content.count(b'id="act-')
        taken = median(watch.measure(ask)[0] for _ in range(options.rounds))
        print(f"{tenant.name:<20}{text or '(no text)':<12}{taken:>8.0f} ms{rows:>6} rows", flush=True)
        slow |= bool(options.limit_ms) and taken > options.limit_ms
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
