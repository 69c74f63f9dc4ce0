"""HTTP requests to the server, with names translated on the way out and answers made comparable on the way in."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.behaviour.labels import Labels
from tests.behaviour.names import Names

TIMEOUT_SECONDS = 120
#: What an answer promises beside its body; others name the server, the moment or the length.
HEADERS = (
    "Content-Type",
    "Location",
    "ETag",
    "Allow",
    "Retry-After",
    "WWW-Authenticate",
    "Cache-Control",
    "Vary",
    "Content-Disposition",
    "Content-Security-Policy",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "Referrer-Policy",
    "HX-Redirect",
    "HX-Location",
    "Idempotency-Replayed",
    "Deprecation",
    "Link",
)


@dataclass(frozen=True)
class Answer:
    """One answer as it came."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON; its text where it is none."""
        try:
            return json.loads(self.content) if self.content else None
        except ValueError:
            return self.text


class Client:
    """One connection, kept open, and opened again when the server closed it."""

    def __init__(self, url: str, names: Names) -> None:
        self._address = urlsplit(url).netloc
        self._connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        self.names = names

    def send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """The answer to a request whose path is already the server's own."""
        for attempt in (1, 2):
            try:
                self._connection.request(method, path, body, headers or {})
                answer = self._connection.getresponse()
                return Answer(answer.status, answer.headers, answer.read())
            except (http.client.RemoteDisconnected, ConnectionError):
                self._connection.close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = "",
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        """The API's answer; path, query and body are given in the old names. `raw` is sent in place of `body`."""
        path = self.names.path(path)
        if query:
            path += "?" + urlencode({self.names.fields.get(name, name): value for name, value in query.items()})
        sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
        content = raw
        if raw is None and body is not None:
            content = json.dumps(self.names.request(body)).encode()
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        return self.send(method, path, content, sent)

    def read(self, body: Any, name: str) -> Any:
        """The value of a field by its old name; `None` where the answer has none."""
        return body.get(self.names.fields.get(name, name)) if isinstance(body, dict) else None


def entry(answer: Answer, labels: Labels) -> dict[str, Any]:
    """An answer of the API as it is recorded."""
    headers = {name: labels.text(answer.headers[name]) for name in HEADERS if answer.headers[name] is not None}
    if policy := headers.get("Content-Security-Policy"):
        # Its directives come in an order that each process chooses anew.
        headers["Content-Security-Policy"] = "; ".join(sorted(policy.split("; ")))
    return {"status": answer.status, "headers": headers, "body": labels.value(answer.json())}
