"""Time the append-only, sealed audit log (ADR-0142): writing entries, sealing them, and checking a log.

Entries are written with the queue for seals, without it, and with a trigger that chains them immediately, which makes
the writers of a tenant wait for each other. Rounds of the three variants alternate.

    python -m benchmarks.bench_audit --entries 20000 --writers 4
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from benchmarks.database import benchmark_actor, throwaway_database
from benchmarks.texts import BENCHMARK_NOW
from benchmarks.timing import argument_parser

ROUNDS = 9
ENTRIES_PER_ROUND = 400
QUEUE, NO_QUEUE, AT_ONCE = "queued for a seal", "without seals", "chained by a trigger"
#: The variant that chains at once: it locks the tenant until the commit and writes one more row.
_CHAIN_AT_ONCE = """
CREATE FUNCTION bench_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.tenant_id::text, 0));
    INSERT INTO bench_seal
    SELECT sha256(convert_to(coalesce((SELECT hash::text FROM bench_seal ORDER BY id DESC LIMIT 1), '')
        || to_jsonb(NEW)::text, 'UTF8'));
    RETURN NULL;
END
$$;
CREATE TABLE bench_seal (hash bytea, id bigserial PRIMARY KEY);
GRANT ALL ON bench_seal, bench_seal_id_seq TO PUBLIC;
CREATE TRIGGER bench_chain AFTER INSERT ON memories_auditentry FOR EACH ROW EXECUTE FUNCTION bench_chain();
ALTER TABLE memories_auditentry DISABLE TRIGGER bench_chain
"""


def main(arguments: list[str]) -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--entries", type=int, default=20_000, help="entries of the log that is sealed and checked")
    parser.add_argument("--writers", type=int, default=4, help="transactions that write at the same time")
    options = parser.parse_args(arguments)
    with throwaway_database():
        _compare_writing(options.writers)
        _seal_and_check(options.entries)


def _compare_writing(writers: int) -> None:
    from django.db import connections

    times: dict[str, list[float]] = {QUEUE: [], NO_QUEUE: [], AT_ONCE: []}
    with connections["owner"].cursor() as cursor:
        cursor.execute(_CHAIN_AT_ONCE)
        for _ in range(ROUNDS):
            for kind, durations in times.items():
                for trigger, is_on in (("queued_for_a_seal", kind == QUEUE), ("bench_chain", kind == AT_ONCE)):
                    action = "ENABLE" if is_on else "DISABLE"
                    cursor.execute(f"ALTER TABLE memories_auditentry {action} TRIGGER {trigger}")
                durations.append(_write_concurrently(writers))
    for kind, durations in times.items():
        per_second = ENTRIES_PER_ROUND / min(durations)
        print(f"{kind}: {per_second:,.0f} entries/s of one tenant, {writers} writers, best of {ROUNDS} rounds")
    with connections["owner"].cursor() as cursor:
        cursor.execute("DROP TRIGGER bench_chain ON memories_auditentry")
        cursor.execute("ALTER TABLE memories_auditentry ENABLE TRIGGER queued_for_a_seal")


def _write_concurrently(writers: int) -> float:
    from memories.tenancy.actions.tenants import create_tenant
    from memories.tenancy.scopes import admin_write_scope

    with admin_write_scope():
        name = f"tenant {time.monotonic_ns()}"
        tenant_id = create_tenant(name=name, by=benchmark_actor(), now=BENCHMARK_NOW).pk
    write = _writer(tenant_id)
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(lambda _: write(1), range(writers)))  # opens the connections
        began = time.perf_counter()
        list(pool.map(lambda _: write(ENTRIES_PER_ROUND // writers), range(writers)))
        return time.perf_counter() - began


def _writer(tenant_id: UUID) -> Callable[[int], None]:
    """Return a function that writes entries, each in a transaction that does other work afterwards."""
    from django.db import connection

    from memories.tenancy.audit import record_audit
    from memories.tenancy.scopes import tenant_scope

    def write(count: int) -> None:
        for number in range(count):
            with tenant_scope(tenant_id):
                record_audit("act", "memory", [number], tenant_id=tenant_id, by=benchmark_actor(), now=BENCHMARK_NOW)
                time.sleep(0.002)
        connection.close()  # the threads of the next round need it

    return write


def _seal_and_check(entries: int) -> None:
    from memories.models import AuditEntry
    from memories.tenancy.actions.tenants import create_tenant
    from memories.tenancy.audit_chain import check_audit_log, seal_audit_entries_of
    from memories.tenancy.scopes import admin_write_scope, tenant_scope

    with admin_write_scope():
        tenant = create_tenant(name="log", by=benchmark_actor(), now=BENCHMARK_NOW)
    rows = {"tenant": tenant, "at": BENCHMARK_NOW, "actor_kind": "key", "verb": "store_memory", "target_kind": "memory"}
    with tenant_scope(tenant.pk):
        AuditEntry.objects.bulk_create([AuditEntry(**rows, target_ids=[str(n)]) for n in range(entries)], 1_000)
    for name, run in (
        ("sealed", lambda: seal_audit_entries_of(tenant.pk, now=BENCHMARK_NOW)),
        ("checked", lambda: check_audit_log(tenant.pk)),
    ):
        began = time.perf_counter()
        run()
        seconds = time.perf_counter() - began
        print(f"{name}: {entries:,} entries in {seconds:.1f} s, {entries / seconds:,.0f} entries/s")


if __name__ == "__main__":
    main(sys.argv[1:])
