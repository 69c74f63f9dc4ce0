"""The processes of `make run` (parts), and when one that has ended is restarted (ADR-0126)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from memory_platform.embedded.processes import ChildProcess

#: The first restart is immediate; each further one within `STABLE_SECONDS` waits twice as long as the one before.
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 30.0
#: The maximum wait for a process that was ended by a signal: it runs again within three seconds, however often it is
#: killed.
KILLED_WAIT_SECONDS = 0.5
#: A part that ran for this long did not fail at its start.
STABLE_SECONDS = 10.0


@dataclass
class Part:
    """A process and how to start it; `restarts` counts the restarts since it last ran for `STABLE_SECONDS`."""

    start: Callable[[], ChildProcess]
    child: ChildProcess
    restarts: int = 0
    started_at: float = field(default_factory=time.monotonic)
    #: The time of its next restart; None while it is running.
    due_at: float | None = None

    def record_end(self, now: float) -> float:
        """Record that it has ended; return the seconds until its restart."""
        if now - self.started_at >= STABLE_SECONDS:
            self.restarts = 0
        is_killed = (self.child.process.returncode or 0) < 0
        return self.postpone(now, longest=KILLED_WAIT_SECONDS if is_killed else LONGEST_WAIT_SECONDS)

    def postpone(self, now: float, *, longest: float = LONGEST_WAIT_SECONDS) -> float:
        """Postpone its restart, longer each time; return the seconds until then."""
        wait = min(restart_wait_seconds(self.restarts), longest)
        self.restarts += 1
        self.due_at = now + wait
        return wait

    def restart(self) -> None:
        """Start the process again. Raises what `start` raises, and then remains due."""
        self.child = self.start()
        self.started_at, self.due_at = time.monotonic(), None


def restart_wait_seconds(restarts: int) -> float:
    """Return the seconds to wait after the given number of restarts in succession."""
    return min(FIRST_WAIT_SECONDS * 2.0 ** (restarts - 1), LONGEST_WAIT_SECONDS) if restarts else 0.0


def describe_end(child: ChildProcess, wait_seconds: float) -> str:
    """Return the line for the terminal."""
    code = child.process.returncode or 0
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    when = "at once" if wait_seconds == 0 else f"in {wait_seconds:g} s"
    return f"{child.name} ended ({how}) and is restarted {when}. Its log is {child.log}.\n"
