"""Compare the same requests with signed row scopes, which policies check, and with unchecked, unsigned ones (ADR-0128).

Requests of both variants alternate in one database, under two roles. Prints processor time of this process and of the
database.

    python -m benchmarks.bench_row_scopes --memories 20000
"""

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.bench_hot_path import load_memories, new_key
from benchmarks.database import throwaway_database
from benchmarks.texts import question_with_rare_words
from benchmarks.timing import argument_parser, hodges_lehmann

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


class Processor:
    """The processor time of this process and of the database processes that run when the object is created."""

    def __init__(self) -> None:
        children = psutil.Process().children(recursive=True)
        self._files = [Path(f"/proc/{process.pid}/schedstat") for process in children]

    def milliseconds(self) -> float:
        total = time.process_time_ns()
        for file in self._files:
            with suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
                total += int(file.read_text().split()[0])
        return total / 1e6

    def of(self, call: Callable[[], object]) -> float:
        """Return the milliseconds that a call takes."""
        start = self.milliseconds()
        call()
        return self.milliseconds() - start


def requests(key: str) -> dict[str, Callable[[], Any]]:
    """Return the measured requests by name."""
    from rest_framework.test import APIClient

    client, draw = APIClient(headers={"Authorization": f"Bearer {key}", "Host": "localhost"}), random.Random(3)

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
    for number in range(rounds):
        for is_checked in (True, False) if number % 2 else (False, True):
            switch(is_checked)
            _warm_up(call)
            processor = Processor()
            durations[is_checked].append(median(processor.of(call) for _ in range(count)))
    return _columns(durations)


def measure_in_turn(call: Callable[[], Any], rounds: int, count: int) -> str:
    """Return columns as `measure` does; each round has new connections, between which its requests alternate."""
    durations: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        with both_connections() as switch:
            for is_checked in (True, False):
                switch(is_checked)
                _warm_up(call)
            processor = Processor()
            of_round: dict[bool, list[float]] = {True: [], False: []}
            for number in range(count):
                for is_checked in (True, False) if number % 2 else (False, True):
                    switch(is_checked)
                    of_round[is_checked].append(processor.of(call))
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
        key = new_key(load_memories(options.memories))
        add_unchecked_policies()
        print(f"{'request':<18}{'checked ms':>12}{'plain ms':>12}{'ratio':>10}")
        for name, call in requests(key).items():
            print(f"{name:<18}{measure_in_turn(call, options.rounds, options.requests)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
