"""What the web server's worker reads of a request before it assigns a thread (ADR-0247)."""

import socket
import time

import pytest

from memory_platform.http_worker import HEAD_BYTES_MAX, SMALL_BODY_BYTES_MAX, _Arriving, _TimedReader

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"


@pytest.mark.parametrize(
    ("sent", "is_whole", "is_streamed"),
    [
        (HEAD, False, False),
        (HEAD + b"\r\n", True, False),
        (b"\r\n\r\n\r\n" + HEAD, False, False),
        (HEAD + b"content-length:  3\r\n\r\nab", False, False),
        (HEAD + b"Content-Length: 3\r\n\r\nabc", True, False),
        (HEAD + b"Content-Length: 3\r\n\r\nabcGET / HTTP/1.1", True, False),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (SMALL_BODY_BYTES_MAX + 1), True, True),
        (HEAD + b"Content-Length: %s\r\n\r\n" % (b"9" * 9_000), True, True),
        (HEAD + b"Content-Length: none\r\n\r\n", True, False),
        (HEAD + b"X-Content-Length: 3\r\n\r\n", True, False),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n", True, True),
        (HEAD + b"Content-Length: 3\r\nEXPECT: 100-continue\r\n\r\n", True, True),
    ],
)
def test_request_is_whole_with_its_small_body(sent: bytes, is_whole: bool, is_streamed: bool) -> None:
    arriving = _Arriving(bytearray(), 0.0)
    for place in range(len(sent)):
        arriving.data += sent[place : place + 1]
        whole = arriving.is_whole()
    assert (whole, arriving.is_streamed, arriving.is_too_large()) == (is_whole, is_streamed, False)


def test_head_without_an_end_is_too_large() -> None:
    arriving = _Arriving(bytearray(HEAD + b"a" * HEAD_BYTES_MAX), 0.0)
    assert not arriving.is_whole()
    assert arriving.is_too_large()


def test_body_is_read_until_its_deadline_however_often_a_byte_arrives() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = _TimedReader(ours)
        reader.deadline = time.monotonic() + 60
        theirs.sendall(b"a")
        assert reader.recv(10) == b"a"
        reader.deadline = time.monotonic() + 0.1
        with pytest.raises(TimeoutError):
            reader.recv(10)
        theirs.sendall(b"a")
        with pytest.raises(TimeoutError):
            reader.recv(10)
        assert ours.gettimeout() is None
