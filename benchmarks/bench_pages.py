"""Time every page of the console: `python -m benchmarks.bench_pages [--results] [--limit-ms 150]`.

Fills one tenant with `--memories` memories, a fifth as many receipts and votes, and audit rows, sessions, partitions,
findings and reviews in proportion; there is a second tenant as well. SQL copies the rows from those of the demo and
changes each vector slightly. For every page in `tests/console_pages.py`, prints the median and 95th percentile of the
server's milliseconds, the number of queries and the compressed bytes of HTML. With `--limit-ms`, exits with 1 if a
median exceeds it.

If a page loads its result with a second request, the next line measures that request. `--results` measures only
fragments: those that htmx requests for a result, filters, order or polling, and those that pages load after
themselves. Effects on saved questions are omitted: they run as many contexts as their own time limit allows.

Milliseconds are processor time of the client and of its database process together, without parallel workers, so that
other work on the machine has little effect. `--wall` measures wall-clock time instead. `--only NAME` measures pages
whose name begins with NAME; `--explain` prints their slowest queries with their plans. `--keep FOLDER` keeps the filled
database in that folder; a later run starts from it.
"""

import argparse
import gzip
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.database import (
    analyse,
    console_client,
    new_benchmark_tenant,
    throwaway_database,
    without_vector_index,
)
from benchmarks.timing import Stopwatch, argument_parser, p95

WARM_UP = 2
#: The 95th percentile needs two values.
MIN_ROUNDS = 2
_OPERATOR = "ada"
#: The mark of a page that loads its result with a second request.
COMING = b'class="card result-loader'


class PageMeasurement(NamedTuple):
    """The measures of one page, printed as a row of the table."""

    name: str
    milliseconds: list[float]
    queries: int
    html_bytes: int
    status: int
    loads_result_later: bool
    is_whole_page: bool

    def __str__(self) -> str:
        times = f"{median(self.milliseconds):>9.1f}{p95(self.milliseconds):>9.1f}"
        return f"{self.name:<44}{times}{self.queries:>9}{self.html_bytes:>10,}{self.status:>8}"


def measure_page(client: Any, place: Any, watch: Stopwatch, rounds: int, *, is_result: bool = False) -> PageMeasurement:
    """Request a page `rounds` times; with `is_result`, the fragment that it loads with a second request."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    ask = partial(client.get, place.address, headers={"HX-Request": "true"} if is_result else {})
    for _ in range(WARM_UP - 1):
        ask()
    with CaptureQueriesContext(connection) as queries:
        answer = ask()
    query_count = len(queries)  # counted here, because the next request empties the log
    times = [watch.measure(ask)[0] for _ in range(rounds)]
    query = place.address.partition("?")[2]
    name = "  and its result" if is_result else f"{place.name}?{query}"[:43] if query else place.name
    size, is_coming = len(gzip.compress(answer.content)), COMING in answer.content
    return PageMeasurement(name, times, query_count, size, answer.status_code, is_coming, b"<html" in answer.content)


def fragment_of(client: Any, place: Any, watch: Stopwatch, rounds: int) -> Iterator[PageMeasurement]:
    """Yield the measures of the fragment that htmx gets from a page, or nothing if it gets the whole page."""
    if not measure_page(client, place, watch, MIN_ROUNDS, is_result=True).is_whole_page:
        result = measure_page(client, place, watch, rounds, is_result=True)
        yield result._replace(name=f"{place.name}?{place.address.partition('?')[2]}".removesuffix("?")[:43])


def explain(client: Any, place: Any) -> None:
    """Print the three slowest queries of a page that take more than 10 ms, with their plans."""
    from django.db import connection

    found: list[tuple[float, str, list[str]]] = []

    def timed(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        start = time.perf_counter()
        answer = execute(sql, params, many, context)
        elapsed = (time.perf_counter() - start) * 1000
        if elapsed > 10 and sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with context["connection"].connection.cursor() as cursor:
                plan = cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {sql}", params).fetchall()
            found.append((elapsed, sql, [row[0] for row in plan][:40]))
        return answer

    with connection.execute_wrapper(timed):
        client.get(place.address)
    for milliseconds, sql, plan in sorted(found, reverse=True)[:3]:
        print(f"  {milliseconds:.1f} ms {sql[:1500]}")
        print("    " + "\n    ".join(plan))


def main() -> None:
    defaults = {"memories": 100_000, "rounds": 15, "limit_ms": 0.0, "only": "", "wall": False, "explain": False}
    options = argument_parser(__doc__, **defaults, results=False, keep=Path).parse_args()
    with throwaway_database(options.keep):
        from memory_platform.postgres.roles import CONSOLE, logged_in_as

        with logged_in_as(CONSOLE):
            sys.exit(bench_all_pages(options))


def bench_all_pages(options: argparse.Namespace) -> int:
    """Load, measure and print; return 1 if a page exceeds the limit."""
    print(f"{'page':<44}{'p50 ms':>9}{'p95 ms':>9}{'queries':>9}{'gzip':>10}{'status':>8}")
    slow = []
    for measured in page_measurements(options):
        print(measured, flush=True)
        if options.limit_ms and median(measured.milliseconds) > options.limit_ms:
            slow.append(measured.name.strip())
    if slow:
        print(f"beyond {options.limit_ms:.0f} ms: {', '.join(slow)}")
    return 1 if slow else 0


def page_measurements(options: argparse.Namespace) -> Iterator[PageMeasurement]:
    """Load, then measure each page, and its result if that needs a second request."""
    from django.contrib.auth.models import User

    from memories.models import Tenant
    from memories.tenancy.scopes import admin_write_scope
    from tests.console_pages import FRAGMENTS, console_pages
    from tests.demo_fixture import TENANT, console_page_ids

    operator = User.objects.filter(username=_OPERATOR).first() or fill_tenant(options.memories)
    with admin_write_scope():
        tenant = Tenant.objects.get(name=TENANT)
    client, watch = console_client(operator), Stopwatch(is_wall=options.wall)
    ids = console_page_ids(tenant, _OPERATOR)
    for place in console_pages(ids):
        if not place.name.startswith(options.only) or place.name == "design":
            continue
        if options.results:
            yield from fragment_of(client, place, watch, options.rounds)
            continue
        measured = measure_page(client, place, watch, options.rounds)
        yield measured
        if measured.loads_result_later:
            yield measure_page(client, place, watch, options.rounds, is_result=True)
        if options.explain:
            explain(client, place)
    for place in console_pages(ids, FRAGMENTS):
        if place.name.startswith(options.only):
            yield measure_page(client, place, watch, options.rounds, is_result=True)._replace(name=place.name)


def fill_tenant(memories: int) -> Any:
    """Fill the tenant; return the operator who opens its pages."""
    from tests.bulk_data import BulkRowCounts, fill_with_bulk_rows
    from tests.demo_fixture import load_demo_tenant
    from tests.users import new_operator

    tenant = load_demo_tenant()
    beside = new_benchmark_tenant("beside")
    with without_vector_index():
        fill_with_bulk_rows(tenant, BulkRowCounts.of(memories))
    analyse()
    return new_operator(_OPERATOR, "admin", tenant, beside)


if __name__ == "__main__":
    main()
