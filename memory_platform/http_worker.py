"""Gunicorn's threaded worker for slow clients (ADR-0113, ADR-0247): `--worker-class` of the web process."""

import gc
import json
import re
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from socket import SHUT_WR, socket
from typing import Any
from weakref import WeakSet

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import TConn, ThreadWorker

from memory_platform.observability.memory import trim_memory
from memory_platform.web.too_large import too_large_page
from memory_platform.web.unread_bodies import SMALL_BODY_BYTES_MAX

#: A request whose line, headers and small body take longer, or whose line and headers are larger, is refused.
HEAD_SECONDS = 10.0
HEAD_BYTES_MAX = 64 * 1024
#: How long a larger body may take, and how long its request waits for a thread.
BODY_SECONDS = 60.0
THREAD_WAIT_SECONDS = 30.0
#: How long the client may take to read one piece of a response.
SEND_SECONDS = 30.0
RECEIVED_BYTES = 16 * 1024
CLOSING_SECONDS = 2.0
#: Unused memory is freed and returned to the system after a body of this size, and otherwise after this many seconds.
LARGE_BODY_BYTES = 64 * 1024
RETURN_SECONDS = 10.0

_HEAD_END = b"\r\n\r\n"
#: The client waits for "100 Continue", which is sent by a thread, or does not send the size of the body.
_IS_STREAMED = re.compile(rb"^(?:expect|transfer-encoding)[ \t]*:", re.IGNORECASE | re.MULTILINE)
#: A browser that loads a page, not htmx or an agent. Some HTTP libraries also accept text/html, so the path counts too.
_ACCEPTS_PAGES = re.compile(rb"^accept:[^\r\n]*text/html", re.IGNORECASE | re.MULTILINE)
_IS_FOR_API = re.compile(rb"\s*\S+ (?:https?://[^/ ]*)?/api[/? ]")
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,18})", re.IGNORECASE | re.MULTILINE)

_PROBLEMS = {
    LimitRequestLine: (HTTPStatus.REQUEST_URI_TOO_LONG, "uri_too_long", "The request line is too long."),
    LimitRequestHeaders: (
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "headers_too_large",
        "The headers are too large, or there are too many.",
    ),
    TimeoutError: (HTTPStatus.SERVICE_UNAVAILABLE, "try_again", "Too many large requests arrived at once; try again."),
}


@dataclass
class _Arriving:
    """The part of its next request that a connection has sent, and until when it may send the rest."""

    data: bytearray
    deadline: float
    #: The bytes of the head and of a small body, and whether a large body follows; known once the head is whole.
    size: int = 0
    is_streamed: bool = False

    def is_whole(self) -> bool:
        """Whether the head and a small body have arrived; empty lines before the request do not count."""
        if not self.size:
            leading = len(self.data) - len(self.data.lstrip(b"\r\n"))
            end = self.data.find(_HEAD_END, leading)
            if end < 0:
                return False
            head = bytes(self.data[leading : end + len(_HEAD_END)])
            declared = _LENGTH.search(head)
            length = int(declared[1]) if declared else 0
            self.is_streamed = length > SMALL_BODY_BYTES_MAX or bool(_IS_STREAMED.search(head))
            self.size = end + len(_HEAD_END) + (0 if self.is_streamed else length)
        return len(self.data) >= self.size

    def is_too_large(self) -> bool:
        return not self.size and len(self.data) > HEAD_BYTES_MAX


class _TimedReader:
    """The socket of a connection for the parser of its requests, which reads until a deadline."""

    def __init__(self, client: socket) -> None:
        self._client = client
        self._timeout: float | None = None
        self.deadline = 0.0

    def recv(self, size: int) -> bytes:
        """Return what has arrived, at least a byte. Raises `TimeoutError`."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the body took too long")
        former = self._client.gettimeout()
        self._client.settimeout(left if self._timeout is None else min(left, self._timeout))
        try:
            return self._client.recv(size)
        finally:
            self._client.settimeout(former)

    def gettimeout(self) -> float | None:
        return self._timeout

    def settimeout(self, seconds: float | None) -> None:
        """Limit each read, as gunicorn does to discard a body."""
        self._timeout = seconds


class HeadBufferingWorker(ThreadWorker):  # type: ignore[misc]
    """Assigns a thread to a connection when its headers and a small body are complete; the main loop never waits.

    Gunicorn's own worker assigns a thread at the first byte, so that as many slow clients as there are threads block
    the process, and its main loop waits until a client has closed its side. Requests with larger bodies, which are read
    with a thread, get at most half of the threads.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._heads: dict[TConn, _Arriving] = {}
        #: Connections that have a thread for a request with a large body, and those that wait for one.
        self._streaming: set[TConn] = set()
        self._waiting: deque[tuple[TConn, _Arriving]] = deque()
        #: Connections whose response is sent, and until when their clients may close them.
        self._closing: dict[TConn, float] = {}
        #: Sockets of browsers that load a page.
        self._browsers: WeakSet[socket] = WeakSet()
        #: When a request last returned unused memory to the system.
        self._returned_at = time.monotonic()

    def enqueue_req(self, conn: TConn) -> None:
        """Wait for the head of the next request, a part of which may have arrived with the previous request."""
        buffered = bytearray(conn.parser.unreader.take_buffered() if conn.parser else b"")
        arriving = _Arriving(buffered, time.monotonic() + HEAD_SECONDS)
        if arriving.is_whole():
            self._submit(conn, arriving)
            return
        conn.sock.setblocking(False)
        self._heads[conn] = arriving
        self.poller.register(conn.sock, EVENT_READ, partial(self._read_head, conn))

    def _read_head(self, conn: TConn, client: socket) -> None:
        arriving = self._heads[conn]
        try:
            received = client.recv(RECEIVED_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        arriving.data += received
        if not received:
            self._give_up(conn)
        elif arriving.is_whole():
            self._forget(conn)
            self._submit(conn, arriving)
        elif arriving.is_too_large():
            self._note_browser(conn, arriving)
            self._refuse(client, LimitRequestHeaders)
            self._give_up(conn)

    def _submit(self, conn: TConn, arriving: _Arriving) -> None:
        """Give the request a thread; requests with a large body get only a few threads."""
        if arriving.is_streamed:
            if not self._may_stream():
                arriving.deadline = time.monotonic() + THREAD_WAIT_SECONDS
                self._waiting.append((conn, arriving))
                return
            self._streaming.add(conn)
        conn.sock.setblocking(True)
        conn.init()
        unreader = conn.parser.unreader
        if not isinstance(unreader.sock, _TimedReader):
            unreader.sock = _TimedReader(unreader.sock)
        unreader.sock.deadline = time.monotonic() + BODY_SECONDS
        unreader.unread(bytes(arriving.data))
        self._note_browser(conn, arriving)
        super().enqueue_req(conn)

    def _may_stream(self) -> bool:
        return bool(len(self._streaming) < max(1, self.cfg.threads // 2))

    def _forget(self, conn: TConn) -> None:
        del self._heads[conn]
        self.poller.unregister(conn.sock)

    def _give_up(self, conn: TConn) -> None:
        if conn in self._heads:
            self._forget(conn)
        self.nr_conns -= 1
        self._close(conn, graceful=True)

    def murder_pending(self) -> None:
        """Close connections whose request, thread or end takes too long; on shutdown, also incomplete requests."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [conn for conn, each in self._heads.items() if each.deadline <= now or not self.alive]:
            self._give_up(conn)
        while self._waiting and (self._waiting[0][1].deadline <= now or not self.alive):
            conn, arriving = self._waiting.popleft()
            self._note_browser(conn, arriving)
            self._refuse(conn.sock, TimeoutError)
            self._give_up(conn)
        for conn in [conn for conn, deadline in self._closing.items() if deadline <= now]:
            self._closed(conn)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        """Handle a request; after a large one, and now and then, free and return memory (ADR-0253, ADR-0271)."""
        conn.sock.settimeout(SEND_SECONDS)
        try:
            return super().handle_request(req, conn)
        finally:
            if _is_large(req.headers) or time.monotonic() - self._returned_at >= RETURN_SECONDS:
                self._returned_at = time.monotonic()
                # Request, view, response and serializers refer to each other (ADR-0210).
                gc.collect()
                trim_memory()

    def finish_request(self, conn: TConn, request: Any) -> None:
        """Keep the connection for another request, or close it without waiting for the client."""
        conn.close = partial(self._close, conn)
        self._streaming.discard(conn)
        super().finish_request(conn, request)
        while self._waiting and self._may_stream():
            self._submit(*self._waiting.popleft())

    def _close(self, conn: TConn, graceful: bool = False) -> None:
        """Close a connection; if `graceful`, only after its client has read the response, so that it is complete."""
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
        """Respond to requests that never reach Django."""
        if type(error) not in _PROBLEMS:
            super().handle_error(request, client, address, error)
            return
        self.log.warning("Refused a request: %s", type(error).__name__)
        self._refuse(client, type(error))

    def _note_browser(self, conn: TConn, arriving: _Arriving) -> None:
        head, _, _ = arriving.data.partition(_HEAD_END)
        is_page = _ACCEPTS_PAGES.search(head) and not _IS_FOR_API.match(head)
        (self._browsers.add if is_page else self._browsers.discard)(conn.sock)

    def _refuse(self, client: socket, kind: type[Exception]) -> None:
        """Respond with a problem, or with a page for a browser that loads one."""
        status, code, detail = _PROBLEMS[kind]
        if client in self._browsers:
            _write_response(client, status, "text/html; charset=utf-8", too_large_page(status))
            return
        problem = {"type": "about:blank", "title": status.phrase, "status": status, "code": code, "detail": detail}
        _write_response(client, status, "application/problem+json", json.dumps({**problem, "errors": []}))


def _is_large(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a body is as large as that of a bulk request, or of unknown size."""
    sizes = {name: value for name, value in headers if name in {"CONTENT-LENGTH", "TRANSFER-ENCODING"}}
    declared = sizes.get("CONTENT-LENGTH", "0")
    return "TRANSFER-ENCODING" in sizes or (declared.isdigit() and int(declared) >= LARGE_BODY_BYTES)


def _write_response(client: socket, status: HTTPStatus, content_type: str, text: str) -> None:
    body = text.encode()
    lines = [f"HTTP/1.1 {status} {status.phrase}", "Connection: close", f"Content-Type: {content_type}"]
    lines += ["Cache-Control: no-store", "Vary: Accept"]  # a cache may otherwise store 414
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        lines.append("Retry-After: 1")
    head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode()
    try:
        write_nonblock(client, head + body)
    except OSError:
        return
