"""Limits of the web server's worker (ADR-0113, ADR-0247) with shorter times, against a real server of a small app."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

THREADS = 2
#: A request that continues only after a time limit must not take longer.
WAIT_MAX_SECONDS = 20
#: Only a server that never starts takes as long.
START_MAX_SECONDS = 120
CONFIG = """
from memory_platform import http_worker

http_worker.SEND_SECONDS = http_worker.THREAD_WAIT_SECONDS = 0.2


def application(environ, start_response):
    start_response("200 OK", [])
    environ["wsgi.input"].read()
    for _ in range(1 if environ["PATH_INFO"] == "/small" else 1_000):
        yield b"a" * 100_000
"""
SMALL_REQUEST = b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE_BODY = b"POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, int]]:
    (tmp_path / "limited.py").write_text(CONFIG)
    worker = f"--worker-class=memory_platform.http_worker.HeadBufferingWorker --threads={THREADS} --graceful-timeout=0"
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [sys.executable, "-m", "gunicorn", f"--config={tmp_path / 'limited.py'}", f"--pythonpath={tmp_path}"]
        command += [*worker.split(), f"--bind=fd://{server.fileno()}", "limited:application"]
        process = subprocess.Popen(command, pass_fds=[server.fileno()])
        try:
            with socket.create_connection(server.getsockname(), timeout=START_MAX_SECONDS) as first:
                first.sendall(SMALL_REQUEST)
                assert first.recv(1)
            yield server.getsockname()
        finally:
            process.terminate()
            process.wait()


def test_client_that_does_not_read_its_response_loses_its_thread(address: tuple[str, int]) -> None:
    slow = [socket.create_connection(address, timeout=WAIT_MAX_SECONDS) for _ in range(THREADS)]
    for client in slow:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(1)  # it has a thread
    with socket.create_connection(address, timeout=WAIT_MAX_SECONDS) as other:
        other.sendall(SMALL_REQUEST)
        assert other.recv(1_000).startswith(b"HTTP/1.1 200 OK")
    for client in slow:
        client.close()


def test_large_body_that_waits_too_long_for_a_thread_is_refused(address: tuple[str, int]) -> None:
    with (
        socket.create_connection(address, timeout=WAIT_MAX_SECONDS) as first,
        socket.create_connection(address, timeout=WAIT_MAX_SECONDS) as second,
    ):
        first.sendall(LARGE_BODY)
        second.sendall(LARGE_BODY)
        refused = b""
        while piece := second.recv(10_000):
            refused += piece
        assert refused.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"Retry-After: 1\r\n" in refused
        assert b'"code": "try_again"' in refused
