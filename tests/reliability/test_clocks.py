"""The clock of PostgreSQL, Redis, web, worker and beat jumps forward and back while clients write (libfaketime)."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest

from tests import servers
from tests.architecture import ROOT
from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability import chaos
from tests.reliability.platform_under_load import Load, new_key

LIBRARY = subprocess.run(
    ["find", "/usr/lib", "-path", "*/faketime/libfaketimeMT.so.1"], capture_output=True, text=True, check=False
).stdout.partition("\n")[0]
#: Longer than an operator's sign-in lasts, shorter than the response to an idempotency key is kept.
FORWARD, BACK, RIGHT = "+13h", "-2h", "+0"
CLIENTS = 5
#: Only a platform that never recovers takes as long.
GOES_ON_SECONDS = 120.0
#: The supervisor, whose PostgreSQL gets the library, too. Python sleeps until a time of the monotonic clock, which
#: libfaketime refuses.
PROGRAM = """
import select, sys, time
time.sleep = lambda seconds: select.select([], [], [], seconds)
from memory_platform.embedded import postgres, supervisor
postgres.ENVIRONMENT.update({faked!r})
sys.exit(supervisor.main())
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not LIBRARY, reason="no libfaketime on this machine: see bin/libfaketime"),
]


class Clock:
    """The clock that the processes of a platform read."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(RIGHT)
        self.environment = {
            "LD_PRELOAD": LIBRARY,
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def set(self, offset: str) -> None:
        self._file.write_text(offset)


@pytest.fixture
def clock() -> Clock:
    return Clock(servers.own_folder("clocks"))


@pytest.fixture
def start(clock: Clock) -> Iterator[Start]:
    program = ("-c", PROGRAM.format(faked=clock.environment))
    more = {**clock.environment, "PYTHONPATH": str(ROOT)}
    started = Start(servers.own_folder("clocks") / "data", servers.unused_port(), more, program)
    try:
        yield started.wait_until_ready()
    finally:
        clock.set(RIGHT)
        chaos.end(started)


def signed_in(start: Start) -> OpenerDirector:
    """A browser of the first operator."""
    login = (start.data_dir / "secrets/first-login.txt").read_text()
    browser = build_opener(HTTPCookieProcessor())
    url = f"http://127.0.0.1:{start.port}/sign-in"
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', browser.open(url).read().decode())
    assert token
    name, password = re.findall(r": (\S+)", login)
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token[1]}
    assert not browser.open(url, urlencode(form).encode()).url.startswith(url)
    return browser


def is_signed_in(start: Start, browser: OpenerDirector) -> bool:
    return "/sign-in" not in str(browser.open(f"http://127.0.0.1:{start.port}/").url)


def wait_until_writes_go_on(load: Load) -> None:
    before, deadline = len(load.memories), time.monotonic() + GOES_ON_SECONDS
    while len(load.memories) < before + 2 * CLIENTS:
        assert time.monotonic() < deadline, load.statuses
        time.sleep(0.05)


def test_clock_that_jumps_loses_nothing_and_stops_nothing(start: Start, clock: Clock) -> None:
    load = Load(start.port, new_key(start))
    body = {"content": "The kettle is red.", "source_id": "first"}
    first = load.ask("POST", "memories", body, "first")
    browser = signed_in(start)
    load.start(CLIENTS)
    seen = []
    for offset in (BACK, FORWARD, RIGHT):
        clock.set(offset)
        wait_until_writes_go_on(load)
        assert load.ask("POST", "memories", body, "first") == first
        seen.append(is_signed_in(start, browser))
    load.end()
    # Expired sessions are deleted, so it stays signed out.
    assert seen == [True, False, False]
    assert is_signed_in(start, signed_in(start))
    faults = chaos.settle_and_count(start, load, GOES_ON_SECONDS)
    assert not any(faults.values()), faults
    assert load.statuses.get(500, 0) == 0
    assert start.status_of("/readyz") == 200
    assert "restarted" not in start.errors
