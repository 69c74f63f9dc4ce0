"""Compare the same requests with signed row scopes, which policies check, and with unchecked, unsigned ones (ADR-0128).

Requests of both variants alternate in one database, under two roles. Prints processor time of this process and of the
database.

    python -m benchmarks.bench_row_scopes --memories 20000
"""

import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from statistics import median
from typing import Any

from benchmarks.bench_hot_path import load_memories
from benchmarks.database import api_client, throwaway_database
from benchmarks.texts import question_with_rare_words
from benchmarks.timing import Stopwatch, alternately, argument_parser, hodges_lehmann

WARM_UP_REQUESTS = 10
_UNCHECKED = (
    "(CASE WHEN starts_with(current_setting(''app.scope'', true), ''{kind}:'')"
    " THEN split_part(current_setting(''app.scope'', true), '':'', 2) END)"
)
#: Gives the maintenance role exactly the policies of the API's role, without the check.
_UNCHECKED_POLICIES = """
DO $$
DECLARE policy record; rows text;
BEGIN
    FOR policy IN SELECT polname AS name, polrelid::regclass::text AS relation,
        'memory_app'::regrole = ANY (polroles) AS is_for_all,
        polcmd = '*' AS is_for_all_commands, pg_get_expr(polqual, polrelid) AS rows FROM pg_policy
    LOOP
        IF NOT policy.is_for_all THEN
            EXECUTE format('ALTER POLICY %I ON %s TO memory_console', policy.name, policy.relation);
            CONTINUE;
        END IF;
        EXECUTE format('ALTER POLICY %I ON %s TO memory_app, memory_console', policy.name, policy.relation);
        rows := policy.rows;
        REPLACE_KINDS
        EXECUTE format('CREATE POLICY %I ON %s FOR %s TO memory_maintenance USING (%s)', policy.name || '_unchecked',
            policy.relation, CASE WHEN policy.is_for_all_commands THEN 'ALL' ELSE 'SELECT' END, rows)
            || CASE WHEN policy.is_for_all_commands THEN format(' WITH CHECK (%s)', rows) ELSE '' END;
    END LOOP;
END
$$
"""
_KINDS = ("tenant", "operator_read", "admin_write", "maintenance", "authentication")
_REPLACE = " ".join(
    f"rows := replace(rows, 'row_scope(''{kind}''::text)', '{_UNCHECKED.format(kind=kind)}');" for kind in _KINDS
)


def add_unchecked_policies() -> None:
    """Let the maintenance role see what the API's role sees, without the check of signatures."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(_UNCHECKED_POLICIES.replace("REPLACE_KINDS", _REPLACE))


@contextmanager
def both_connections() -> Iterator[Callable[[bool], None]]:
    """Yield a function that switches between signed, checked and unsigned, unchecked scopes, on two connections."""
    from django.db import connection

    import memories.tenancy.scopes as scopes_module
    from memory_platform.postgres import roles

    wrapper: Any = connection
    wrapper.close()
    wrapper.close_pool()
    opened = {}
    for is_checked, alias in ((False, roles.MAINTENANCE), (True, roles.API)):
        with roles.logged_in_as(alias):
            connection.ensure_connection()
            opened[is_checked], connection.connection = connection.connection, None
    # the role without checks would have no second connection for a search
    wrapper.second_connection = nullcontext
    scopes: Any = scopes_module
    sign = scopes.row_scope_token

    def switch(is_checked: bool) -> None:
        connection.connection = opened[is_checked]
        scopes.row_scope_token = sign if is_checked else lambda name, argument, _pid: f"{name}:{argument}:"

    yield switch
    opened[False].close()
    switch(True)


def requests(client: Any) -> dict[str, Callable[[], Any]]:
    """Return the measured requests of a client of the API by name."""
    draw = random.Random(3)

    def context() -> Any:
        body = {"query": question_with_rare_words(draw), "max_tokens": 2_000, "partition": "user=u7"}
        return client.post("/api/v1/context", body, format="json")

    return {
        "context": context,
        "store a memory": lambda: client.post("/api/v1/memories", {"content": str(draw.random())}, format="json"),
        "list memories": lambda: client.get("/api/v1/memories"),
    }


def measure(call: Callable[[], Any], switch: Callable[[bool], None], rounds: int, count: int) -> str:
    """Return columns: processor milliseconds of a request with and without, the ratio, and its 95 % interval.

    A round is the median of its requests. The times are medians of the rounds, the ratio is `hodges_lehmann` of pairs.
    """
    durations: dict[bool, list[float]] = {True: [], False: []}
    for _, is_checked in alternately((True, False), rounds):
        switch(is_checked)
        _warm_up(call)
        watch = Stopwatch(of_all=True)
        durations[is_checked].append(median(watch.measure(call)[0] for _ in range(count)))
    return _columns(durations)


def measure_in_turn(call: Callable[[], Any], rounds: int, count: int) -> str:
    """Return columns as `measure` does; each round has new connections, between which its requests alternate."""
    durations: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        with both_connections() as switch:
            for is_checked in (True, False):
                switch(is_checked)
                _warm_up(call)
            watch = Stopwatch(of_all=True)
            of_round: dict[bool, list[float]] = {True: [], False: []}
            for _, is_checked in alternately((True, False), count):
                switch(is_checked)
                of_round[is_checked].append(watch.measure(call)[0])
        for is_checked, times in of_round.items():
            durations[is_checked].append(median(times))
    return _columns(durations)


def _warm_up(call: Callable[[], Any]) -> None:
    for _ in range(WARM_UP_REQUESTS):
        answer = call()
        if answer.status_code >= 300:
            raise RuntimeError(answer.content[:300])
    gc.collect()


def _columns(durations: dict[bool, list[float]]) -> str:
    ratios = [checked / plain for checked, plain in zip(durations[True], durations[False], strict=True)]
    ratio, low, high = hodges_lehmann(ratios)
    return f"{median(durations[True]):>12.2f}{median(durations[False]):>12.2f}{ratio:>10.3f}{low:>10.3f} to {high:.3f}"


def main() -> int:
    options = argument_parser(__doc__, memories=20_000, rounds=40, requests=16).parse_args()
    with throwaway_database():
        client = api_client(load_memories(options.memories))
        add_unchecked_policies()
        print(f"{'request':<18}{'checked ms':>12}{'plain ms':>12}{'ratio':>10}")
        for name, call in requests(client).items():
            print(f"{name:<18}{measure_in_turn(call, options.rounds, options.requests)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
