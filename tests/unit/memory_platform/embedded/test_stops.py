"""Stop signals that arrive while the supervisor starts a process."""

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from subprocess import Popen
from typing import cast

import psutil
import pytest

from memory_platform.embedded import postgres, stops, supervisor
from memory_platform.embedded.config import config_from
from memory_platform.embedded.parts import Part
from memory_platform.embedded.processes import ChildProcess

ALARM_SECONDS = 0.05
DEADLINE_SECONDS = 60.0


@pytest.fixture(autouse=True)
def handled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stops._State, "is_requested", False)
    former = {number: signal.getsignal(number) for number in stops.STOP_SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    stops.handle_stop_signals()
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


def test_process_that_starts_while_a_signal_arrives_is_recorded_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = supervisor.Supervisor(config_from(os.environ), StringIO())
    recorded: list[list[Part]] = []
    monkeypatch.setattr(watched, "_record", lambda: recorded.append([*watched._apps]))
    child = ChildProcess("beat", cast("Popen[bytes]", None), Path("logs/beat.log"))

    def start() -> ChildProcess:
        os.kill(os.getpid(), signal.SIGTERM)
        return child

    with pytest.raises(stops.StopRequested):
        watched._keep(watched._apps, start)
    assert [[part.child for part in parts] for parts in recorded] == [[child]]


def test_blocks_within_a_block_postpone_the_signal_to_the_end_of_the_outer_one() -> None:
    reached = []

    @stops.postponed_stop()
    def outer() -> None:
        with stops.postponed_stop():
            os.kill(os.getpid(), signal.SIGHUP)
        reached.append("after the inner block")

    with pytest.raises(stops.StopRequested):
        outer()
    assert reached == ["after the inner block"]


def test_hang_up_that_was_ignored_at_the_start_stays_ignored_and_other_signals_end_the_supervisor() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stops.handle_stop_signals()
    os.kill(os.getpid(), signal.SIGHUP)
    stops.raise_if_requested()
    for number in (signal.SIGINT, signal.SIGTERM):
        assert signal.getsignal(number) == stops._request


def test_signal_whose_exception_is_lost_in_a_finaliser_still_ends_the_supervisor() -> None:
    with suppress(stops.StopRequested):
        os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(stops.StopRequested):
        supervisor.Supervisor(config_from(os.environ), StringIO())._watch()


def test_interrupted_initdb_ends_with_the_processes_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "programs" / "initdb"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! >{tmp_path}/started\nwait\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(postgres, "PROGRAMS", program.parent)
    monkeypatch.setattr(postgres, "_os_user", lambda _: None)
    started = tmp_path / "started"

    def stop_once_started(*_: object) -> None:
        if started.exists() and started.read_text().strip():
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.kill(os.getpid(), signal.SIGTERM)

    former = signal.signal(signal.SIGALRM, stop_once_started)
    signal.setitimer(signal.ITIMER_REAL, ALARM_SECONDS, ALARM_SECONDS)
    try:
        with pytest.raises(stops.StopRequested):
            postgres.create_cluster(tmp_path / "data")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert ends(int(started.read_text()))
    assert not list((tmp_path / "data").glob(".postgres-*"))


def ends(pid: int) -> bool:
    """A killed process of another parent remains listed for a moment."""
    with suppress(psutil.NoSuchProcess):
        return psutil.wait_procs([psutil.Process(pid)], timeout=DEADLINE_SECONDS)[1] == []
    return True
