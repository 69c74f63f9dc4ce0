"""Signals that arrive while a process is forked."""

import subprocess
import sys
from pathlib import Path

import pytest

# In a separate process: a child that returned from `fork` would continue the tests.
_SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from memory_platform.embedded.forks import fork

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, stop)
real, in_child = os.fork, sys.argv[1] == "child"

def fork_and_signal():
    pid = real()
    if (pid == 0) == in_child:
        os.kill(os.getpid(), signal.SIGTERM)
        len("the handler runs before the next instruction")
    return pid

os.fork = fork_and_signal
try:
    print("exit code", fork("part", lambda: time.sleep(600), log=Path(sys.argv[2] + ".log")).wait(100))
except KeyboardInterrupt:
    print("stopped")
    os.waitpid(-1, 0)
"""


@pytest.mark.parametrize(("receiver", "printed"), [("child", "exit code -15\n"), ("parent", "stopped\n")])
def test_signal_during_a_fork_ends_the_child_and_never_runs_the_supervisor_in_it(
    tmp_path: Path, receiver: str, printed: str
) -> None:
    command = [sys.executable, "-c", _SCRIPT, receiver, str(tmp_path / "part")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == printed
