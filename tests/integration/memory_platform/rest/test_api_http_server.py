"""A user's first requests: commands, a real gunicorn, HTTP over a socket."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command

from memories.services.tokens import load_encoding
from memory_platform.embedded.supervisor import REQUEST_LINE_MAX_BYTES, WEB_WORKER
from tests import servers
from tests.architecture import ROOT

CONVERSATION = ROOT.parent / "shared" / "data" / "locomo" / "26.json"
QUESTION_COUNT = 5
#: Only a server that never answers takes as long.
START_SECONDS = 300
MIB = 1024 * 1024

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Server:
    """A gunicorn on a port of this machine, and a key for it."""

    port: int
    key: str = ""

    def request(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"Content-Type": "application/json", **({"X-API-Key": self.key} if self.key else {}), **(headers or {})}
        data = body if isinstance(body, bytes) or hasattr(body, "__next__") or body is None else json.dumps(body)
        with closing(connection):
            connection.request(method, path, data, given, encode_chunked=hasattr(body, "__next__"))
            response = connection.getresponse()
            content = response.read()
        return response, json.loads(content) if content else None

    def raw(self, text: bytes) -> bytes:
        """Return the server's response to these bytes before it closes or stops sending."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(text)
            return connection.recv(65536)


def command(name: str, *arguments: str) -> str:
    output = StringIO()
    call_command(name, *arguments, stdout=output, stderr=StringIO())
    return output.getvalue().strip()


def collect_static_files() -> None:
    """Collect the files that pages refer to, unless that has been done."""
    if not (ROOT / "staticfiles" / "staticfiles.json").exists():
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
        subprocess.run(collect, cwd=ROOT, check=True)


@contextmanager
def running_gunicorn(folder: Path, *, threads: int) -> Iterator[int]:
    """Start one web process as `make run` does; return its port. Its log is printed at the end."""
    collect_static_files()
    port = servers.unused_port()
    log = (folder / "gunicorn.log").open("w+")
    arguments = ["--bind", f"127.0.0.1:{port}", "--worker-class", WEB_WORKER, "--threads", str(threads)]
    arguments += ["--no-control-socket", "--limit-request-line", str(REQUEST_LINE_MAX_BYTES), "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "memory_platform.wsgi:application", *arguments],
        cwd=ROOT, env=dict(os.environ), stdout=log, stderr=log,
    )  # fmt: skip
    try:
        wait_until_it_answers(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)
        log.seek(0)
        print(log.read())
        log.close()


@pytest.fixture(scope="module")
def gunicorn(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[int]:
    """The port of one gunicorn for all these tests; they leave only connections in it."""
    with running_gunicorn(tmp_path_factory.mktemp("gunicorn"), threads=4) as port:
        yield port


@pytest.fixture
def server(gunicorn: int) -> Server:
    return Server(gunicorn)


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            response, _ = Server(port).request("GET", "/healthz")
        except OSError:
            time.sleep(0.1)
            continue
        assert response.status == 200
        return
    pytest.fail("gunicorn does not answer")


def questions() -> list[str]:
    rows = json.loads(CONVERSATION.read_text())["qa"]
    return [row["question"] for row in rows if row.get("evidence")][:QUESTION_COUNT]


@pytest.mark.skipif(not CONVERSATION.is_file(), reason=f"needs the LoCoMo conversation {CONVERSATION.name}")
def test_a_conversation_is_imported_and_its_context_stays_within_the_budget(server: Server) -> None:
    command("create_tenant", "locomo")
    server.key = command("create_key", "locomo", "--scopes", "read,write")
    command("import_locomo", str(CONVERSATION), "--tenant", "locomo")
    table = load_encoding("o200k_base")
    for question in questions():
        body = {"query": question, "partition": "conversation=26", "max_tokens": 1000}
        response, answer = server.request("POST", "/api/v1/context", body)
        assert response.status == 200, answer
        tokens = len(table.encode_ordinary(answer["text"]))
        assert tokens == answer["budget"]["used"]
        assert 800 < tokens <= 1000
        assert answer["warnings"] == []
        _, again = server.request("GET", f"/api/v1/context/{answer['id']}")
        assert again["text"] == answer["text"]
        assert again["is_verified"]


@pytest.mark.parametrize("path", ["user=alex/topic=a b", "user=a%2Fb", "user=\u00e9", ""])
def test_any_path_can_be_part_of_an_address(server: Server, path: str) -> None:
    command("create_tenant", "paths")
    server.key = command("create_key", "paths", "--scopes", "read,write")
    url = f"/api/v1/partitions/{quote(path, safe='')}/summaries"
    response, made = server.request("PUT", url, {"content": "In short."})
    assert (response.status, made["partition"]) == (201, path)
    _, page = server.request("GET", url)
    assert [row["partition"] for row in page["results"]] == [path]


def test_the_server_refuses_what_a_socket_can_carry(server: Server) -> None:
    command("create_tenant", "Acme")
    server.key = command("create_key", "Acme", "--scopes", "write")
    path = "/api/v1/memories"
    too_long = b'{"content": "' + b"x" * (8 * MIB) + b'"}'

    def chunks(body: bytes) -> Iterator[bytes]:
        yield from (body[start : start + MIB] for start in range(0, len(body), MIB))

    for body in (too_long, chunks(too_long)):
        response, answer = server.request("POST", path, body)
        assert (response.status, answer["code"]) == (413, "too_large")
    for body in (b" " * MIB, chunks(b" " * MIB)):
        response, answer = server.request("POST", "/api/v1/feedback", body)
        assert (response.status, answer["detail"]) == (413, "The body is larger than 64 KiB.")
    response, answer = server.request("POST", path, chunks(b'{"content": "sent in pieces"}'))
    assert (response.status, answer["content"]) == (201, "sent in pieces")
    response, answer = server.request("POST", path, b'{"content": "x"}', headers={"Content-Type": "text/plain"})
    assert (response.status, answer["code"]) == (415, "unsupported_media_type")
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {server.key}\r\n".encode()
    assert b" 415 " in server.raw(head + b'Content-Length: 16\r\n\r\n{"content": "y"}')
    assert b" 400 " in server.raw(b"GET /api/v1/memories HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    for bad in ("%00", "%ED%A0%80", "%FF"):
        response, answer = server.request("GET", f"{path}?user_id={bad}")
        assert response.status in {200, 400}
        response, _ = server.request("GET", f"{path}/{bad}")
        assert response.status == 404
    _, page = server.request("GET", path)
    assert [row["content"] for row in page["results"]] == ["sent in pieces"]


def test_readiness_names_every_part(server: Server) -> None:
    response, answer = server.request("GET", "/readyz")
    assert response.status == 200, answer
    assert answer["status"] == "ok"
    assert set(answer["parts"]) == {
        "database",
        "vector",
        "role",
        "migrations",
        "broker",
        "embedder",
        "embedding_models",
    }
