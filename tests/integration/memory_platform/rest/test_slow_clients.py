"""Clients that send slowly or never close, with a web server started as by `make run`."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from memory_platform import http_worker
from memory_platform.embedded.supervisor import REQUEST_LINE_MAX_BYTES, WEB_THREADS
from tests.integration.memory_platform.rest.test_api_http_server import Server, running_gunicorn

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = 20
#: A server that waits for slow clients responds after `HEAD_SECONDS` or later; a busy machine may need some of that
#: time.
ANSWER_SECONDS = 0.9 * http_worker.HEAD_SECONDS
#: Only a test that would never end waits as long.
WAIT_MAX_SECONDS = 60
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Server]:
    with running_gunicorn(tmp_path_factory.mktemp("slow"), threads=WEB_THREADS) as port:
        yield Server(port)


@contextmanager
def connections(server: Server, first: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        address = ("127.0.0.1", server.port)
        opened = [
            stack.enter_context(socket.create_connection(address, timeout=WAIT_MAX_SECONDS)) for _ in range(CLIENTS)
        ]
        for each in opened:
            each.sendall(first)
        yield opened


@contextmanager
def dripping(opened: list[socket.socket]) -> Iterator[None]:
    """Send a byte on each connection every tenth of a second."""
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.1):
            for each in opened:
                try:
                    each.send(b"a")
                except OSError:
                    continue

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def slowest_answer(server: Server, seconds: float) -> float:
    """Return the longest time that `/healthz` takes meanwhile."""
    end, slowest = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        start = time.monotonic()
        response, _ = server.request("GET", "/healthz")
        assert response.status == 200
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.1)
    return slowest


#: The number of concurrent clients that send one of these requests and then a byte at a time.
FIRST_BYTES = {
    "line": b"G",
    "headers": HEAD,
    "header": HEAD + b"X-Slow: ",
    "second request": HEAD + b"\r\n" + HEAD,
    "empty lines": b"\r\n\r\n\r\n" + HEAD,
    "small body": POST + b"Content-Length: 60000\r\n\r\n{",
}
#: A thread reads the bodies of these requests.
LARGE_BODIES = {
    "large body": POST + b"Content-Length: 8000000\r\n\r\n{",
    "chunks": POST + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n{",
    "announced body": POST + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
}


def test_health_is_answered_while_clients_drip_their_headers_and_they_are_disconnected(server: Server) -> None:
    with ExitStack() as stack:
        opened = {name: stack.enter_context(connections(server, first)) for name, first in FIRST_BYTES.items()}
        begun = time.monotonic()
        stack.enter_context(dripping([each for same in opened.values() for each in same]))
        assert slowest_answer(server, 3) < ANSWER_SECONDS
        for name, same in opened.items():
            assert all(is_closed_by(each, begun + http_worker.HEAD_SECONDS + WAIT_MAX_SECONDS) for each in same), name


def test_health_and_small_bodies_are_answered_while_clients_drip_large_ones(server: Server) -> None:
    with ExitStack() as stack:
        opened = [stack.enter_context(connections(server, first)) for first in LARGE_BODIES.values()]
        stack.enter_context(dripping([each for same in opened for each in same]))
        assert slowest_answer(server, 3) < ANSWER_SECONDS
        response, _ = server.request("POST", "/api/v1/memories", {"content": "a" * 50_000})
        assert response.status == 401


def is_closed_by(client: socket.socket, deadline: float) -> bool:
    """Return whether the server closes the connection before that time."""
    try:
        while (left := deadline - time.monotonic()) > 0:
            client.settimeout(left)
            if not client.recv(65536):
                return True
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
    return False


def test_health_is_answered_while_clients_do_not_close(server: Server) -> None:
    with connections(server, HEAD + b"Connection: close\r\n\r\n"):
        assert slowest_answer(server, 3) < ANSWER_SECONDS


def test_body_that_comes_in_pieces_is_read(server: Server) -> None:
    body = b'{"content": "One"}'
    for head in (b"Content-Length: 18\r\n\r\n", b"Content-Length: 18\r\nExpect: 100-continue\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_MAX_SECONDS) as client:
            for piece in (POST, head, body[:5], body[5:]):
                client.sendall(piece)
                time.sleep(0.05)
            received = b""
            while b"401 Unauthorized" not in received:
                received += client.recv(65536)


def test_head_that_comes_in_pieces_is_answered_and_the_connection_kept(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_MAX_SECONDS) as client:
        for _ in range(2):
            for piece in (HEAD[:5], HEAD[5:], b"\r", b"\n"):
                client.sendall(piece)
                time.sleep(0.05)
            received = b""
            while b'{"status": "ok"}' not in received:
                received += client.recv(65536)
            assert received.startswith(b"HTTP/1.1 200 OK\r\n")


def test_pipelined_requests_are_answered_in_turn(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_MAX_SECONDS) as client:
        client.sendall((HEAD + b"\r\n") * 3)
        received = b""
        while received.count(b'{"status": "ok"}') < 3:
            received += client.recv(65536)
        assert received.count(b"HTTP/1.1 200 OK") == 3


@pytest.mark.parametrize(
    ("request_of", "status", "code"),
    [
        (lambda: b"GET /" + b"a" * REQUEST_LINE_MAX_BYTES + b" HTTP/1.1\r\n\r\n", 414, "uri_too_long"),
        (lambda: HEAD + b"X-Long: " + b"a" * 9_000 + b"\r\n\r\n", 431, "headers_too_large"),
        (lambda: HEAD + b"X-Many: a\r\n" * 200 + b"\r\n", 431, "headers_too_large"),
        (lambda: HEAD + b"X-Endless: a\r\n" * 10_000, 431, "headers_too_large"),
    ],
)
def test_head_that_is_too_large_is_a_problem_for_an_agent_and_a_page_for_a_browser(
    server: Server, request_of: Callable[[], bytes], status: int, code: str
) -> None:
    request = request_of()
    head, body = refusal_of(server, request)
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Type: application/problem+json" in head
    problem = json.loads(body)
    assert (problem["status"], problem["code"], problem["errors"]) == (status, code, [])
    first, rest = request.split(b"\r\n", 1)
    head, body = refusal_of(server, first + b"\r\nAccept: text/html,*/*;q=0.8\r\n" + rest)
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Type: text/html" in head
    assert b"Vary: Accept\r\n" in head + b"\r\n"
    assert b"Go to overview" in body
    to_api = first.replace(b" /", b" /api/v1/", 1) + b"\r\nAccept: text/html, image/gif, */*; q=.2\r\n" + rest
    assert b"Content-Type: application/problem+json" in refusal_of(server, to_api)[0], "as Java accepts by default"


def refusal_of(server: Server, request: bytes) -> tuple[bytes, bytes]:
    """Return head and body of the response to a request that the server may refuse before it has read all of it."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_MAX_SECONDS) as client:
        with suppress(OSError):  # the server may refuse the rest; its response can still be read
            client.sendall(request)
        received = b""
        while piece := client.recv(65536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body
