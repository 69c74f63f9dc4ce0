"""A web process frees the memory of large requests, and occasionally that of other requests."""

import gc
import socket
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn

from memory_platform import http_worker
from memory_platform.http_worker import LARGE_BODY_BYTES, RETURN_SECONDS, HeadBufferingWorker

Application = Callable[[object, Callable[..., object]], Iterable[bytes]]


class Answer:
    """An answer that refers to itself, as those of REST framework do."""

    def __init__(self) -> None:
        self.view = self


def no_content(_environ: object, start_response: Callable[..., object]) -> Iterable[bytes]:
    start_response("204 No Content", [])
    return []


@contextmanager
def new_worker(application: Application) -> Iterator[HeadBufferingWorker]:
    config = Config()
    worker = HeadBufferingWorker(0, 0, [], None, 30, config, Logger(config))
    worker.wsgi, worker.keepalived_conns = application, []
    yield worker
    worker.tmp.close()


def handle(worker: HeadBufferingWorker, body_bytes: int) -> None:
    client, server = socket.socketpair()
    with client, server:
        client.sendall(f"POST / HTTP/1.1\r\nContent-Length: {body_bytes}\r\n\r\n".encode())
        connection = TConn(worker.cfg, server, ("127.0.0.1", 1), ("127.0.0.1", 2))
        connection.init()
        worker.handle_request(next(connection.parser), connection)


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    ("body_bytes", "seconds", "is_freed"),
    [(LARGE_BODY_BYTES, 0.0, True), (LARGE_BODY_BYTES - 1, 0.0, False), (0, RETURN_SECONDS, True)],
)
def test_objects_that_refer_to_each_other_are_freed_after_large_requests_and_some_time(
    body_bytes: int, seconds: float, is_freed: bool
) -> None:
    left: list[weakref.ref[Answer]] = []

    def application(environ: object, start_response: Callable[..., object]) -> Iterable[bytes]:
        left.append(weakref.ref(Answer()))
        return no_content(environ, start_response)

    with new_worker(application) as worker:
        worker._returned_at -= seconds
        handle(worker, body_bytes)
    assert (left[0]() is None) == is_freed


def test_small_requests_return_free_memory_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[float] = []
    monkeypatch.setattr(http_worker, "trim_memory", lambda: returned.append(time.monotonic()))
    with new_worker(no_content) as worker:
        handle(worker, 0)
        assert not returned
        worker._returned_at -= RETURN_SECONDS
        handle(worker, 0)
        handle(worker, 0)
    assert len(returned) == 1
