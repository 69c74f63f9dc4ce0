"""A short `make chaos`: four kills and no compaction, because its runs would wait for the lease of a dead worker."""

import random
from collections.abc import Iterator

import pytest

from tests import servers
from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability import chaos
from tests.reliability.platform_under_load import Load, new_key, started

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    start = started(servers.own_folder("chaos"))
    yield start
    chaos.end(start)


@pytest.fixture(scope="module")
def key(start: Start) -> str:
    return new_key(start)


def test_acknowledged_writes_survive_kills_exactly_once(start: Start, key: str) -> None:
    faults = chaos.run(start, Load(start.port, key), kills=4, seed=1, has_compaction=False, pauses=(0.2, 0.6))
    assert not any(faults.values()), faults


def test_context_with_an_id_can_be_read_again_if_postgres_is_killed_at_once(start: Start, key: str) -> None:
    load = Load(start.port, key)  # no other write that waits for the disk
    _, answer = load.ask("POST", "context", {"query": "kettle", "max_tokens": 1000})
    load.contexts.append((answer["id"], answer["text"]))
    chaos.kill(start, "postgres", random.Random(1))
    chaos.wait_until_ready(start)
    assert chaos.unreadable_contexts(load) == []
