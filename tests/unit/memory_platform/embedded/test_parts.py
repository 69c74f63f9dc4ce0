"""When a process of `make run` is restarted."""

import os
from errno import ENOSPC
from io import StringIO
from pathlib import Path
from subprocess import Popen
from typing import cast

import pytest

from memory_platform.embedded import stops, supervisor
from memory_platform.embedded.config import config_from
from memory_platform.embedded.parts import KILLED_WAIT_SECONDS, STABLE_SECONDS, Part, describe_end, restart_wait_seconds
from memory_platform.embedded.processes import ChildProcess


class Ended:
    def __init__(self, returncode: int) -> None:
        self.returncode, self.pid = returncode, 0


def ended(code: int) -> ChildProcess:
    return ChildProcess("beat", cast("Popen[bytes]", Ended(code)), Path("logs/beat.log"))


def test_first_restart_is_immediate_and_further_ones_wait_twice_as_long_up_to_thirty_seconds() -> None:
    assert [restart_wait_seconds(count) for count in (0, 1, 2, 3, 4, 5, 6, 7, 500)] == [
        *(0.0, 1.0, 2.0, 4.0, 8.0),
        *(16.0, 30.0, 30.0, 30.0),
    ]


def test_part_that_keeps_failing_at_its_start_waits_longer_until_it_has_run_for_a_while() -> None:
    part = Part(lambda: ended(1), ended(1), started_at=100.0)
    assert [part.record_end(100.0), part.record_end(101.0), part.record_end(102.0)] == [0.0, 1.0, 2.0]
    assert part.due_at == 104.0
    part.restart()
    assert part.due_at is None
    assert part.record_end(part.started_at + STABLE_SECONDS) == 0.0


def test_part_that_is_killed_again_and_again_restarts_within_half_a_second() -> None:
    part = Part(lambda: ended(-9), ended(-9), started_at=100.0)
    assert [part.record_end(100.0 + number) for number in range(6)] == [0.0, *[0.5] * 5]


def test_killed_part_is_started_within_the_wait_and_one_look_of_the_supervisor_at_its_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock is that of the supervisor, so the seconds are its own, whatever else the machine does."""
    clock = [100.0]
    ends = [100.05 + 5 * number for number in range(6)]
    started: list[float] = []

    class Child:
        def __init__(self) -> None:
            self.name, self.log, self.process = "beat", Path("logs/beat.log"), Ended(-9)

        def is_running(self) -> bool:
            return clock[0] < ends[len(started)]

    def start() -> ChildProcess:
        started.append(clock[0])
        return cast("ChildProcess", Child())

    def pause() -> None:
        clock[0] += supervisor.SUPERVISOR_POLL_SECONDS
        if len(started) == len(ends) - 1:
            raise stops.StopRequested

    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    watched = supervisor.Supervisor(config_from(os.environ), StringIO())
    monkeypatch.setattr(watched, "_pause", pause)
    monkeypatch.setattr(watched, "_record", lambda: None)
    monkeypatch.setattr("memory_platform.embedded.processes.signal_group", lambda *_: None)
    watched._apps = [Part(start, cast("ChildProcess", Child()), started_at=0.0)]
    with pytest.raises(stops.StopRequested):
        watched._watch()
    waits = [at - end for at, end in zip(started, ends, strict=False)]
    assert max(waits) <= KILLED_WAIT_SECONDS + 2 * supervisor.SUPERVISOR_POLL_SECONDS < 1.0, waits


def test_full_disk_keeps_no_part_from_its_restart_and_the_process_is_recorded_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The terminal may be a file on the same disk."""

    class FullDisk(StringIO):
        def write(self, _: str) -> int:
            raise OSError(ENOSPC, "No space left on device")

    class Child:
        name, log, process = "beat", Path("logs/beat.log"), Ended(-9)

        def __init__(self, *, runs: bool) -> None:
            self.is_running = lambda: runs

    attempts: list[int] = []

    def record() -> None:
        attempts.append(len(attempts))
        if len(attempts) < 3:
            raise OSError(ENOSPC, "No space left on device")
        raise stops.StopRequested

    watched = supervisor.Supervisor(config_from(os.environ), StringIO())
    monkeypatch.setattr(watched, "_pause", lambda: None)
    monkeypatch.setattr(watched, "_record", record)
    monkeypatch.setattr("sys.stderr", FullDisk())
    monkeypatch.setattr("memory_platform.embedded.processes.signal_group", lambda *_: None)
    part = Part(lambda: cast("ChildProcess", Child(runs=True)), cast("ChildProcess", Child(runs=False)))
    watched._apps = [part]
    with pytest.raises(stops.StopRequested):
        watched._watch()
    assert part.child.is_running()
    assert attempts == [0, 1, 2]


def test_part_that_cannot_be_started_waits_longer_however_long_it_ran_before() -> None:
    part = Part(lambda: ended(-9), ended(-9), started_at=0.0)
    assert [part.record_end(3600.0), part.postpone(3601.0), part.postpone(3602.0)] == [0.0, 1.0, 2.0]


def test_log_line_states_how_a_process_ended_and_when_it_restarts() -> None:
    log = "Its log is logs/beat.log.\n"
    assert describe_end(ended(-9), 0.0) == f"beat ended (signal 9) and is restarted at once. {log}"
    assert describe_end(ended(3), 4.0) == f"beat ended (exit code 3) and is restarted in 4 s. {log}"
