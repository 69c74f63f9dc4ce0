"""A web process frees what a large request leaves behind."""

import gc
import socket
import weakref
from collections.abc import Callable, Iterable, Iterator

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import TConn

from memory_platform.http_worker import LARGE_BODY_BYTES, HeadBufferingWorker


class Answer:
    """An answer that refers to itself, as those of REST framework do."""

    def __init__(self) -> None:
        self.view = self


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(("body_bytes", "is_freed"), [(LARGE_BODY_BYTES, True), (LARGE_BODY_BYTES - 1, False)])
def test_objects_of_a_large_request_that_refer_to_each_other_are_freed(body_bytes: int, is_freed: bool) -> None:
    left: list[weakref.ref[Answer]] = []

    def application(_environ: object, start_response: Callable[..., object]) -> Iterable[bytes]:
        left.append(weakref.ref(Answer()))
        start_response("204 No Content", [])
        return []

    config = Config()
    worker = HeadBufferingWorker(0, 0, [], None, 30, config, Logger(config))
    worker.wsgi, worker.keepalived_conns = application, []
    client, server = socket.socketpair()
    with client, server:
        client.sendall(f"POST / HTTP/1.1\r\nContent-Length: {body_bytes}\r\n\r\n".encode())
        connection = TConn(config, server, ("127.0.0.1", 1), ("127.0.0.1", 2))
        connection.init()
        worker.handle_request(next(connection.parser), connection)
    worker.tmp.close()
    assert (left[0]() is None) == is_freed
