"""A running server of a checkout, with its own data directory."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

START_TIMEOUT_SECONDS = 240.0
STOP_TIMEOUT_SECONDS = 20.0
POLL_SECONDS = 0.3


class Server:
    """All processes that one `python -m memory_platform.embedded` starts."""

    def __init__(self, checkout: Path, data_dir: Path, port: int) -> None:
        self.checkout = checkout
        self.data_dir = data_dir
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._python = str(checkout / ".venv" / "bin" / "python")
        # The caller's environment must not configure the server.
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        self._env = kept | {
            "DATA_DIR": str(data_dir),
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "DEMO": "0",
            "WEB_CONCURRENCY": "1",
            "EMBEDDING_PROVIDER": "wordllama",
            "API_RATE_LIMIT_PER_SECOND": "100000",
        }
        self._log = (data_dir / "recording.log").open("wb")
        self._process = subprocess.Popen(
            [self._python, "-m", "memory_platform.embedded"],
            cwd=checkout,
            env=self._env,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait_until_ready(self) -> None:
        """Return when /readyz returns 200. Raises `RuntimeError` with the end of the log if it does not in time."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with (
                suppress(urllib.error.URLError, ConnectionError, TimeoutError),
                urllib.request.urlopen(f"{self.url}/readyz", timeout=10),
            ):
                return
            time.sleep(POLL_SECONDS)
        raise RuntimeError(f"the server is not ready: {(self.data_dir / 'recording.log').read_text()[-2000:]}")

    def manage(self, *arguments: str) -> str:
        """Return what a command of manage.py prints on standard output. Raises `RuntimeError` if it fails."""
        done = subprocess.run(
            [self._python, "manage.py", *arguments], cwd=self.checkout, env=self._env, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"manage.py {' '.join(arguments)}: {done.stderr[-2000:]}")
        return done.stdout.strip()

    def pause_schedule(self) -> None:
        """Stop the periodic jobs: their changes would depend on when they run."""
        self._signal_beat(signal.SIGSTOP)

    def resume_schedule(self) -> None:
        """Resume the periodic jobs; those that are due run immediately."""
        self._signal_beat(signal.SIGCONT)

    def stop(self) -> None:
        """Stop the server and all processes that it started."""
        with suppress(RuntimeError):
            self.resume_schedule()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _signal_beat(self, number: signal.Signals) -> None:
        for folder in Path("/proc").iterdir():
            if not folder.name.isdecimal():
                continue
            with suppress(OSError):
                # Forked from the supervisor, or, in an older checkout, a separate program.
                names = [(folder / "comm").read_bytes().strip(), *(folder / "cmdline").read_bytes().split(b"\0")]
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == self._process.pid and b"beat" in names:
                    os.kill(int(folder.name), number)
                    return
        raise RuntimeError("the server has no process for periodic jobs")


@contextmanager
def running_server(checkout: Path) -> Iterator[Server]:
    """Start the server of `checkout` on a free port with an empty data directory; stop it and delete that at exit."""
    data_dir = Path(tempfile.mkdtemp(prefix="behaviour-"))
    data_dir.chmod(0o711)
    server = Server(checkout.resolve(), data_dir, _free_port())
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()
        shutil.rmtree(data_dir, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
