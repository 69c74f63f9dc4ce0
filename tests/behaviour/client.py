"""HTTP requests to the server, with names translated in requests and variable parts replaced in responses."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.behaviour.labels import Labels
from tests.behaviour.names import Names

TIMEOUT_SECONDS = 120
#: The recorded headers; others depend on the server, the time or the length.
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
    """One response as received."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON, or as text if it is not JSON."""
        try:
            return json.loads(self.content) if self.content else None
        except ValueError:
            return self.text


class Client:
    """One connection, kept open, and opened again if the server has closed it."""

    def __init__(self, url: str, names: Names) -> None:
        self._address = urlsplit(url).netloc
        self._connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        self.names = names

    def send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Return the response to a request whose path is already that of the server."""
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
        """Return the API's response; path, query and body use the old names. `raw` replaces `body`."""
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
        """Return the value of a field by its old name, or `None` if the response has none."""
        return body.get(self.names.fields.get(name, name)) if isinstance(body, dict) else None


def entry(answer: Answer, labels: Labels) -> dict[str, Any]:
    """Return a response of the API in recorded form."""
    headers = {name: labels.text(answer.headers[name]) for name in HEADERS if answer.headers[name] is not None}
    if policy := headers.get("Content-Security-Policy"):
        # Each process sends its directives in another order.
        headers["Content-Security-Policy"] = "; ".join(sorted(policy.split("; ")))
    return {"status": answer.status, "headers": headers, "body": labels.value(answer.json())}
