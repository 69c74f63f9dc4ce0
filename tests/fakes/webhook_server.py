"""A local receiver of webhooks: real HTTP, which records requests and returns the statuses that a test sets."""

import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

#: A status that means: send headers without end, byte by byte.
DRIPPING = -1


@dataclass(frozen=True)
class ReceivedWebhook:
    """One request: path, headers by lower-case name, and the body as sent."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebhookServer:
    """Returns each of `statuses` once, then 204; over TLS with a `certificate`, a file with its key."""

    certificate: Path | None = None
    statuses: deque[int] = field(default_factory=deque)
    received: list[ReceivedWebhook] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        origin = "http://127.0.0.1" if self.certificate is None else "https://localhost"
        return f"{origin}:{self._server.server_address[1]}/hook?token=t"

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()


def _handler_of(server: WebhookServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.received.append(ReceivedWebhook(self.path, headers, body))
            status = server.statuses.popleft() if server.statuses else 204
            if status == DRIPPING:
                self._drip()
                return
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def _drip(self) -> None:
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not server.stopping.is_set():
                    self.wfile.write(b"a")
                    time.sleep(0.05)
            except OSError:
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    return Handler


@contextmanager
def running_webhook_server(certificate: Path | None = None) -> Iterator[WebhookServer]:
    """A server for the duration of a test."""
    server = WebhookServer(certificate)
    try:
        yield server
    finally:
        server.stop()


def write_certificate(path: Path, name: str) -> Path:
    """Write a self-signed certificate for this name, with its key, valid for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form))
    return path
