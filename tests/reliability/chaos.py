"""`make chaos`: kill -9 of Postgres, Redis, web, worker and beat in random order under load; then count.

Each acknowledged write must be stored exactly once, no session half compacted, no run stuck and no count wrong.
test_chaos.py does the same with few kills and without compaction.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import psycopg

from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability.platform_under_load import Load, machine, manage, new_key, started

#: How the operating system names the processes of each part.
PARTS = ("postgres", "redis-server", "web", "worker", "beat")
CLIENTS = 8
READY_SECONDS = 300.0
#: The supervisor needs a moment to notice a killed part; until then the platform may still call itself ready.
NOTICE_SECONDS = 0.3
POLL_SECONDS = 0.02
#: Within this time, a killed part works again.
BACK_SECONDS = 3.0
#: A killed worker's lease ends after five minutes, and a sweep then continues its run.
SETTLE_SECONDS = 600.0
#: A pool may still contain connections that ended with the server.
ANSWER_TRIES = 20

CHECKS = {
    "memories stored twice": """
        SELECT count(*) FROM (SELECT source_id FROM memories_memory WHERE source_id <> ''
        GROUP BY tenant_id, source_id HAVING count(*) > 1) AS twice""",
    "messages stored twice": """
        SELECT count(*) FROM (SELECT source_id FROM compaction_message WHERE source_id <> ''
        GROUP BY session_id, source_id HAVING count(*) > 1) AS twice""",
    "sessions with gaps": """
        SELECT count(*) FROM (SELECT session_id FROM compaction_message WHERE sequence IS NOT NULL
        GROUP BY session_id HAVING max(sequence) - min(sequence) + 1 <> count(*)) AS gaps""",
    "messages compacted by no applied compaction": """
        SELECT count(*) FROM compaction_message AS m WHERE m.state = 'compacted' AND NOT EXISTS (
        SELECT FROM compaction_compactionmember AS o JOIN compaction_compaction AS c ON c.id = o.compaction_id
        WHERE o.message_id = m.id AND c.state IN ('applied', 'superseded'))""",
    "applied compactions whose messages are still live": """
        SELECT count(*) FROM compaction_compactionmember AS o
        JOIN compaction_compaction AS c ON c.id = o.compaction_id JOIN compaction_message AS m ON m.id = o.message_id
        WHERE c.state = 'applied' AND o.act = 'compacted' AND m.state = 'live'""",
    "pending compactions without a run": """
        SELECT count(*) FROM compaction_compaction AS c WHERE c.state = 'pending' AND NOT EXISTS (
        SELECT FROM compaction_run AS r WHERE r.compaction_id = c.id AND r.state IN ('queued', 'running'))""",
    "partitions whose counts drift": """
        SELECT count(*) FROM (SELECT tenant_id, path FROM (
            SELECT tenant_id, partition_path AS path, 1 AS rows FROM memories_memory WHERE archived_at IS NULL
            UNION ALL SELECT tenant_id, path, -own_rows FROM memories_partitioncount
            UNION ALL SELECT tenant_id, path, -rows FROM memories_partitioncountchange
        ) AS counted GROUP BY tenant_id, path HAVING sum(rows) <> 0) AS drifting""",
    "sessions whose counts drift": """
        SELECT count(*) FROM compaction_session AS s WHERE message_count <> (
        SELECT count(*) FROM compaction_message AS m WHERE m.session_id = s.id AND sequence IS NOT NULL)""",
    "vectors of no memory or version": """
        SELECT count(*) FROM memories_memoryembedding AS e WHERE NOT EXISTS (
        SELECT FROM memories_memory AS m WHERE m.id = e.memory_id AND m.version >= e.version)""",
    # An archived memory, such as one that a compaction replaced, has none.
    "memories with other than one current vector": """
        SELECT count(*) FROM memories_memory AS m WHERE embedding_state = 'ready' AND (archived_at IS NULL)::int <> (
        SELECT count(*) FROM memories_memoryembedding AS e WHERE e.memory_id = m.id AND e.is_current)""",
}
#: Work in the background, which must end.
OPEN_WORK = {
    "runs stuck": "SELECT count(*) FROM compaction_run WHERE state IN ('queued', 'running')",
    "memories without a vector": "SELECT count(*) FROM memories_memory WHERE embedding_state <> 'ready'",
    "audit entries without a seal": "SELECT count(*) FROM memories_unsealedauditentry",
}


def main() -> int:
    """Kill, wait, count; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--each", type=int, default=0, help="only kill each part so many times, one after the other")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        Path(folder).chmod(0o711)
        start = started(Path(folder))
        try:
            if options.each:
                faults = time_each(start, options.each)
            else:
                faults = run(start, Load(start.port, new_key(start)), options.kills, options.seed)
        finally:
            end(start)
    return int(any(faults.values()))


def run(
    start: Start,
    load: Load,
    kills: int,
    seed: int,
    *,
    has_compaction: bool = True,
    pauses: tuple[float, float] = (0.5, 2),
) -> dict[str, int]:
    """Kill parts under `load` after pauses between two lengths, print what happened, and return the faults by kind."""
    randomness, began = random.Random(seed), time.monotonic()
    load.start(CLIENTS, has_compaction=has_compaction)
    killed: Counter[str] = Counter()
    returned: list[float] = []
    try:
        while killed.total() < kills:
            time.sleep(randomness.uniform(*pauses))
            part = randomness.choice(PARTS)
            killed[part] += kill(start, part, randomness)
            returned.append(wait_until_ready(start))
    finally:
        load.end()
    faults = settle_and_count(start, load)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}, seed {seed}, {time.monotonic() - began:.0f} s")
    median = sorted(returned)[len(returned) // 2]
    print(f"kills: {dict(killed)}; back after {median:.1f} s (median), at most {max(returned):.1f} s")
    print(f"acknowledged: {len(load.memories)} memories, {len(load.messages)} messages; answers {load.statuses}")
    print("\n".join(f"{name}: {count}" for name, count in faults.items()))
    return faults


def time_each(start: Start, times: int) -> dict[str, int]:
    """Kill the main process of each part repeatedly, as soon as it works; return how often it took too long."""
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}")
    slow = {}
    for part, does_work in MAIN_PROCESSES.items():
        took = []
        for _ in range(times):
            pid, works = start.pid_of(part), does_work(start)
            began = time.monotonic()
            psutil.Process(pid).kill()
            while start.pid_of(part) in {0, pid} or not works():
                time.sleep(POLL_SECONDS)
            took.append(time.monotonic() - began)
        slow[f"{part} back late"] = sum(seconds > BACK_SECONDS for seconds in took)
        print(f"{part}: works again after {', '.join(f'{seconds:.2f}' for seconds in took)} s", flush=True)
    return slow


def _answers(start: Start) -> Callable[[], bool]:
    return lambda: start.status_of("/readyz") == HTTPStatus.OK


def _is_consuming(start: Start) -> Callable[[], bool]:
    """Return whether the worker has become ready once more."""
    log = start.data_dir / "logs" / "worker.log"
    before = log.read_text().count(" ready.")
    return lambda: log.read_text().count(" ready.") > before


def _is_running(start: Start) -> Callable[[], bool]:
    return lambda: psutil.pid_exists(start.pid_of("beat"))


#: Evidence that a part works again, by the name that the supervisor gives it.
MAIN_PROCESSES: dict[str, Callable[[Start], Callable[[], bool]]] = {
    "PostgreSQL": _answers,
    "Redis": _answers,
    "web": _answers,
    "worker": _is_consuming,
    "beat": _is_running,
}


def kill(start: Start, part: str, randomness: random.Random) -> int:
    """Kill one process of the part; return the number of killed processes, 0 if none runs."""
    found = [each for each in start.running() if _name(each) == part]
    if found:
        randomness.choice(found).kill()
    return int(bool(found))


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def wait_until_ready(start: Start) -> float:
    """Return the seconds until the platform is ready again."""
    began = time.monotonic()
    time.sleep(NOTICE_SECONDS)
    while time.monotonic() - began < READY_SECONDS:
        if start.process.poll() is not None:
            raise SystemExit(f"The supervisor ended: {start.errors}")
        try:
            with urlopen(f"http://127.0.0.1:{start.port}/readyz", timeout=10) as answer:
                if answer.status == 200:
                    return time.monotonic() - began
        except (URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("The platform did not come back.")


def settle_and_count(start: Start, load: Load, seconds: float = SETTLE_SECONDS) -> dict[str, int]:
    """Wait until the work in the background is done, and count faults."""
    deadline = time.monotonic() + seconds
    with start.superuser() as connection:
        while any(counts(connection, OPEN_WORK).values()) and time.monotonic() < deadline:
            time.sleep(1)
        faults = counts(connection, OPEN_WORK | CHECKS)
        for name, table, wanted in (
            ("memories lost", "memories_memory", load.memories),
            ("messages lost", "compaction_message", load.messages),
        ):
            rows = connection.execute(f"SELECT source_id FROM {table} WHERE source_id = ANY (%s)", [list(wanted)])
            faults[name] = len(wanted - {row[0] for row in rows})
    details = {
        "repeated writes answered otherwise": other_answers(load),
        "contexts that cannot be read again": unreadable_contexts(load),
    }
    print("\n".join(f"{name}: {each}" for name, found in details.items() for each in found))
    return (
        faults
        | {name: len(found) for name, found in details.items()}
        | {"broken audit logs": int(manage(start, "verify_audit", check=False).returncode != 0)}
    )


def ask_until_answered(load: Load, path: str, body: dict[str, Any], key: str = "") -> tuple[int, Any]:
    """Repeat a POST as long as the response asks the client to try again, as clients do."""
    for _ in range(ANSWER_TRIES):
        status, answer = load.ask("POST", path, body, key)
        if status not in {0, HTTPStatus.SERVICE_UNAVAILABLE}:
            break
        time.sleep(NOTICE_SECONDS)
    return status, answer


def other_answers(load: Load) -> list[str]:
    """Repeat the last acknowledged writes with their keys; return the answers that differ from the former ones."""
    answers = [(each, ask_until_answered(load, each.path, each.body, each.key)) for each in load.acknowledged]
    return [f"{answer}, not {each}" for each, answer in answers if answer != (each.status, each.answer)]


def unreadable_contexts(load: Load) -> list[str]:
    """Replay the last contexts that clients got; return the answers without the same text that match the receipt."""
    replays = [
        (text, *ask_until_answered(load, f"context/{receipt}/replay", {"mode": "recorded"}))
        for receipt, text in load.contexts
    ]
    return [
        f"{status} {replay}, not {text!r}"
        for text, status, replay in replays
        if not replay or replay.get("text") != text or not replay["is_verified"]
    ]


def counts(connection: psycopg.Connection, statements: dict[str, str]) -> dict[str, int]:
    """Return the one number that each statement selects."""
    rows = {name: connection.execute(statement).fetchone() for name, statement in statements.items()}
    return {name: int(row[0]) if row else 0 for name, row in rows.items()}


def end(start: Start) -> None:
    start.process.terminate()
    start.process.wait(60)
    for process in start.running():
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
