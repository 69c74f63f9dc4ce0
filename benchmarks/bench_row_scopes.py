"""What the signature of row scopes costs (ADR-0128): the same requests with policies that check it and that do not.

Both sets of policies take turns in one database. Processor time of this process and of the database is compared.

    python -m benchmarks.bench_row_scopes --memories 20000
"""

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.bench_hot_path import load_memories, new_key
from benchmarks.database import throwaway_database
from benchmarks.texts import question_with_rare_words
from benchmarks.timing import argument_parser, hodges_lehmann

WARM_UP_REQUESTS = 10
_CHECKED = "row_scope('{kind}')"
_UNCHECKED = (
    "(CASE WHEN starts_with(current_setting(''app.scope'', true), ''{kind}:'')"
    " THEN split_part(current_setting(''app.scope'', true), '':'', 2) END)"
)
_SET_POLICIES = """
DO $$
DECLARE policy record; rows text;
BEGIN
    FOR policy IN SELECT * FROM kept_policies LOOP
        rows := policy.rows;
        {replace}
        EXECUTE format('ALTER POLICY %I ON %s USING (%s)', policy.name, policy.relation, rows)
            || CASE policy.command WHEN '*' THEN format(' WITH CHECK (%s)', rows) ELSE '' END;
    END LOOP;
END
$$
"""
_KINDS = ("tenant", "operator_read", "admin_write", "maintenance", "authentication")
_REPLACE = " ".join(
    f"rows := replace(rows, 'row_scope(''{kind}''::text)', '{_UNCHECKED.format(kind=kind)}');" for kind in _KINDS
)


@contextmanager
def both_policies() -> Iterator[Callable[[bool], None]]:
    """Yield a function that lets all policies check the signature, or not."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE kept_policies AS SELECT polname AS name, polrelid::regclass::text AS relation,"
            " polcmd AS command, pg_get_expr(polqual, polrelid) AS rows FROM pg_policy"
        )
        yield lambda is_checked: cursor.execute(_SET_POLICIES.format(replace="" if is_checked else _REPLACE))


class Processor:
    """The processor time of this process and of those of the database that run when it is created."""

    def __init__(self) -> None:
        children = psutil.Process().children(recursive=True)
        self._files = [Path(f"/proc/{process.pid}/schedstat") for process in children]

    def milliseconds(self) -> float:
        total = time.process_time_ns()
        for file in self._files:
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
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
    taken: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for is_checked in (True, False) if number % 2 else (False, True):
            switch(is_checked)
            for _ in range(WARM_UP_REQUESTS):
                answer = call()
                if answer.status_code >= 300:
                    raise RuntimeError(answer.content[:300])
            gc.collect()
            processor = Processor()
            taken[is_checked].append(median(processor.of(call) for _ in range(count)))
    ratios = [checked / plain for checked, plain in zip(taken[True], taken[False], strict=True)]
    ratio, low, high = hodges_lehmann(ratios)
    return f"{median(taken[True]):>12.2f}{median(taken[False]):>12.2f}{ratio:>10.3f}{low:>10.3f} to {high:.3f}"


def main() -> int:
    options = argument_parser(__doc__, memories=20_000, rounds=40, requests=40).parse_args()
    with throwaway_database():
        key = new_key(load_memories(options.memories))
        with both_policies() as switch:
            print(f"{'request':<18}{'checked ms':>12}{'plain ms':>12}{'ratio':>10}")
            for name, call in requests(key).items():
                print(f"{name:<18}{measure(call, switch, options.rounds, options.requests)}", flush=True)
            switch(True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
