"""End the processes that a killed supervisor leaves. The watcher's standard input closes when the supervisor ends."""

import json
import sys

from memory_platform.embedded.processes import ProcessRecord, end_processes

TIMEOUT_SECONDS = 4.0


def main() -> None:
    """Read a list of processes per line; at the end of input, end those of the last line that are still running."""
    rows: list[ProcessRecord] = []
    for line in sys.stdin:
        rows = json.loads(line)
    end_processes(rows, timeout_seconds=TIMEOUT_SECONDS)


if __name__ == "__main__":
    main()
