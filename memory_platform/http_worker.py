"""Gunicorn's threaded worker for clients that send slowly (ADR-0113): `--worker-class` of the web process."""

import gc
import json
import time
from collections.abc import Iterable
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from socket import SHUT_WR, socket
from typing import Any

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import TConn, ThreadWorker

from memory_platform.observability.memory import trim_memory

#: A request whose line and headers take longer or are larger is refused.
HEAD_SECONDS = 10.0
HEAD_BYTES_MAX = 64 * 1024
RECEIVED_BYTES = 16 * 1024
CLOSING_SECONDS = 2.0
#: After a body of this size, unused memory is returned to the system.
LARGE_BODY_BYTES = 64 * 1024

_PROBLEMS = {
    LimitRequestLine: (HTTPStatus.REQUEST_URI_TOO_LONG, "uri_too_long", "The request line is too long."),
    LimitRequestHeaders: (
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "headers_too_large",
        "The headers are too large, or there are too many.",
    ),
}


class HeadBufferingWorker(ThreadWorker):  # type: ignore[misc]
    """Assigns a thread to a connection when its headers are complete; the main loop never waits for a client.

    Gunicorn's own worker assigns a thread at the first byte, so that as many slow clients as there are threads block
    the process, and its main loop waits until a client has closed its side.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        #: What each connection has sent of its next request and until when it may send the rest, the oldest first.
        self._heads: dict[TConn, tuple[bytearray, float]] = {}
        #: Connections whose answer is sent, and until when their clients may close them.
        self._closing: dict[TConn, float] = {}

    def enqueue_req(self, conn: TConn) -> None:
        """Wait for the head of the next request; a part of it may have arrived with the previous request."""
        head = bytearray(conn.parser.unreader.take_buffered() if conn.parser else b"")
        if _is_whole(head):
            self._submit(conn, head)
            return
        conn.sock.setblocking(False)
        self._heads[conn] = head, time.monotonic() + HEAD_SECONDS
        self.poller.register(conn.sock, EVENT_READ, partial(self._read_head, conn))

    def _read_head(self, conn: TConn, client: socket) -> None:
        head, _ = self._heads[conn]
        try:
            received = client.recv(RECEIVED_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        head += received
        if not received:
            self._give_up(conn)
        elif _is_whole(head):
            self._forget(conn)
            self._submit(conn, head)
        elif len(head) > HEAD_BYTES_MAX:
            _write_problem(client, LimitRequestHeaders)
            self._give_up(conn)

    def _submit(self, conn: TConn, head: bytearray) -> None:
        conn.sock.setblocking(True)
        conn.init()
        conn.parser.unreader.unread(bytes(head))
        super().enqueue_req(conn)

    def _forget(self, conn: TConn) -> None:
        del self._heads[conn]
        self.poller.unregister(conn.sock)

    def _give_up(self, conn: TConn) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        self._close(conn, graceful=True)

    def murder_pending(self) -> None:
        """Close connections whose head or end takes too long; on shutdown, also those without a complete head."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [conn for conn, (_, deadline) in self._heads.items() if deadline <= now or not self.alive]:
            self._give_up(conn)
        for conn in [conn for conn, deadline in self._closing.items() if deadline <= now]:
            self._closed(conn)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        """Handle a request; after a large one, return its memory to the system."""
        try:
            return super().handle_request(req, conn)
        finally:
            if _is_large(req.headers):
                # Its request, view, response and serializers refer to each other (ADR-0210).
                gc.collect()
                trim_memory()

    def finish_request(self, conn: TConn, request: Any) -> None:
        """Keep the connection for another request, or close it without waiting for the client."""
        conn.close = partial(self._close, conn)
        super().finish_request(conn, request)

    def _close(self, conn: TConn, graceful: bool = False) -> None:
        """Close a connection; if `graceful`, only after its client has read the response, which would else be cut."""
        try:
            if graceful:
                conn.sock.shutdown(SHUT_WR)
        except OSError:
            graceful = False
        if not graceful:
            conn.sock.close()
            return
        conn.sock.setblocking(False)
        self.nr_conns += 1
        self._closing[conn] = time.monotonic() + CLOSING_SECONDS
        self.poller.register(conn.sock, EVENT_READ, partial(self._read_end, conn))

    def _read_end(self, conn: TConn, client: socket) -> None:
        try:
            if client.recv(RECEIVED_BYTES):
                return
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            pass
        self._closed(conn)

    def _closed(self, conn: TConn) -> None:
        del self._closing[conn]
        self.poller.unregister(conn.sock)
        conn.sock.close()
        self.nr_conns -= 1

    def handle_error(self, request: Any, client: socket, address: Any, error: Exception) -> None:
        """Respond to requests that never reach Django in the format of API errors."""
        if type(error) not in _PROBLEMS:
            super().handle_error(request, client, address, error)
            return
        self.log.warning("Refused a request: %s", type(error).__name__)
        _write_problem(client, type(error))


def _is_large(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a body is as large as that of a bulk request, or of unknown size."""
    sizes = {name: value for name, value in headers if name in {"CONTENT-LENGTH", "TRANSFER-ENCODING"}}
    declared = sizes.get("CONTENT-LENGTH", "0")
    return "TRANSFER-ENCODING" in sizes or (declared.isdigit() and int(declared) >= LARGE_BODY_BYTES)


def _is_whole(head: bytearray) -> bool:
    """Whether the empty line after the headers has arrived; empty lines before the request do not count."""
    return b"\r\n\r\n" in head.lstrip(b"\r\n")


def _write_problem(client: socket, kind: type[Exception]) -> None:
    status, code, detail = _PROBLEMS[kind]
    problem = {"type": "about:blank", "title": status.phrase, "status": status, "code": code, "detail": detail}
    body = json.dumps({**problem, "errors": []}).encode()
    lines = (f"HTTP/1.1 {status} {status.phrase}", "Connection: close", "Content-Type: application/problem+json")
    head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode()
    try:
        write_nonblock(client, head + body)
    except OSError:
        return
