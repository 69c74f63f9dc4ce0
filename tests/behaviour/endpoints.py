"""Part two: successful and refused requests to every endpoint of the API."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.behaviour import steps
from tests.behaviour.client import Answer, Client, entry
from tests.behaviour.contexts import API
from tests.behaviour.corpus import Material
from tests.behaviour.labels import UUID, Labels

ABSENT = "00000000-0000-4000-8000-000000000000"
METHODS = ("get", "post", "put", "patch", "delete")


class Endpoints:
    """Sends the requests of `steps`; before the first one of each kind, sends its variants that are refused."""

    def __init__(self, client: Client, labels: Labels, keys: dict[str, str], material: Material) -> None:
        self.client = client
        self.labels = labels
        self.keys = keys
        self.material = material
        self.recorded: dict[str, Any] = {}
        self._refused: set[str] = set()
        self._succeeded: set[tuple[str, str]] = set()
        #: The first response of each status, as received, by the schema's name of the operation.
        self.examples: dict[str, dict[str, Any]] = {}
        answer = client.call("GET", "/api/schema/", query={"format": "json"}, key=keys["admin"])
        self._schema = answer.json()

    def run(self) -> dict[str, Any]:
        """Return all responses by the number, method, path and purpose of the request."""
        for name in ("/healthz", "/readyz"):
            self.send("GET", name, key="")
        for step in steps.STEPS:
            step(self)
        return self.recorded

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        note: str = "",
        *,
        label: str = "",
        key: str = "admin",
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
        refusals: bool = True,
    ) -> Any:
        """Record and return the body of the response; `label` names the id in it. Refused variants are sent first."""
        path = path if path.startswith("/") else f"{API}/{path}"
        shape = f"{method} {self._template(path)}"
        if refusals and key and shape not in self._refused:
            self._refused.add(shape)
            self._refuse(method, path, body, query)
        answer = self._ask(method, path, body, note, key=key, query=query, headers=headers, raw=raw)
        if answer.status < 300:
            self._succeeded.add((method, self._template(self.client.names.path(path))))
        content = answer.json()
        identifier = self.client.read(content, "id")
        if identifier is None and (results := self.client.read(content, "results")):
            identifier = self.client.read(results[0], "id")
        if label and isinstance(identifier, str):
            if UUID.fullmatch(identifier):
                self.labels.name(identifier, label)
            else:
                self.labels.name_literal(identifier, label)
            # Recorded again, because the label was not known when the response arrived.
            self._keep(answer, method, path, note, query, is_again=True)
        return content

    def etag(self, path: str) -> str:
        """Return the current ETag of a resource."""
        return str(self.client.call("GET", f"{API}/{path}", key=self.keys["admin"]).headers["ETag"])

    def read(self, body: Any, name: str) -> Any:
        """Return a field of a response by its old name."""
        return self.client.read(body, name)

    def missing(self) -> list[str]:
        """Return the paths and methods of the schema that have no successful response."""
        known = [f"{method.upper()} {path}" for path, methods in self._schema["paths"].items() for method in methods]
        return sorted(each for each in known if tuple(each.split(" ", 1)) not in self._succeeded)

    def schema(self) -> dict[str, Any]:
        """Return the fields of every request and response, by method and path without the names of its parameters."""
        recorded = {}
        for path, methods in self._schema["paths"].items():
            for method, operation in methods.items():
                if method in METHODS:
                    name = f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}"
                    recorded[name] = self._fields_of(operation)
        return recorded

    def _fields_of(self, operation: dict[str, Any]) -> dict[str, Any]:
        bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
        fields = {
            name: self._fields(each["schema"])
            for name, body in bodies.items()
            for each in body.get("content", {}).values()
        }
        query = {each["name"]: each["in"] for each in operation.get("parameters", ()) if each["in"] == "query"}
        return {"query": query, "bodies": fields}

    def _fields(self, schema: dict[str, Any], depth: int = 0) -> Any:
        if "$ref" in schema:
            schema = self._schema["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if "items" in schema:
            return [self._fields(schema["items"], depth)]
        if "properties" not in schema or depth > 4:
            return "any of" if "oneOf" in schema or "anyOf" in schema else schema.get("enum") or schema.get("type")
        return {name: self._fields(each, depth + 1) for name, each in schema["properties"].items()}

    def _template(self, path: str) -> str:
        """Return the schema's path that matches `path`; a fixed segment takes precedence over a parameter."""
        fitting = [each for each in self._schema["paths"] if re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", each), path)]
        return min(fitting, key=lambda each: each.count("{")) if fitting else UUID.sub("{id}", path)

    def _refuse(self, method: str, path: str, body: Any, query: dict[str, Any] | None) -> None:
        def refused(note: str, key: str = "admin", **changes: Any) -> None:
            self._ask(
                method, changes.pop("path", path), body, f"refused: {note}", **({"query": query, "key": key} | changes)
            )

        refused("no key", "")
        refused("bad key", "not-a-key")
        refused("absent id", path=UUID.sub(ABSENT, path)) if UUID.search(path) else None
        if UUID.search(path + json.dumps(body)):
            refused("another tenant's key", "foreign")
        if method == "GET":
            refused("unknown parameter", query={**(query or {}), "surprise": "1"})
            return
        refused("read key", "reader") if not path.endswith(("/search", "/diff", "/simulate")) else None
        if body is not None:
            self._refuse_bodies(method, path, body)
        self._refuse_method(path)

    def _refuse_bodies(self, method: str, path: str, body: Any) -> None:
        wrong = [{"x": 1}]
        changed: tuple[tuple[str, Any, bytes | None], ...] = (
            ("unknown field", {**body, "surprise": 1}, None),
            ("list for an object", [], None),
            ("malformed", None, b'{"content": '),
            ("NUL", dict.fromkeys(body, "a\0b"), None),
            ("wrong types", dict.fromkeys(body, wrong), None),
            ("nulls", dict.fromkeys(body), None),
            ("empty", {}, None)
            if method in {"POST", "PUT"} and path.endswith(("s", "e", "w", "k"))
            else ("", None, None),
        )
        for note, each, raw in changed:
            if note and not (note in {"empty", "nulls"} and self._is_satisfied_without(path)):
                self._ask(method, path, each, f"refused: {note}", raw=raw)

    def _is_satisfied_without(self, path: str) -> bool:
        """Return whether an empty body is a complete request there, which would change something."""
        return path.endswith(("/sessions", "/context", "/compact", "/roll-up", "/partitions"))

    def _refuse_method(self, path: str) -> None:
        self._ask("PUT" if path.endswith("/search") else "TRACE", path, None, "refused: method")

    def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        note: str,
        *,
        key: str = "admin",
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        sent = self.keys.get(key, key)
        answer = self.client.call(method, path, body, key=sent, query=query, headers=headers, raw=raw)
        operation = self._schema["paths"].get(self._template(path), {}).get(method.lower(), {})
        if answer.content and "operationId" in operation:
            self.examples.setdefault(operation["operationId"], {}).setdefault(str(answer.status), _as_shown(answer))
        self._keep(answer, method, path, note, query)
        return answer

    def _keep(
        self, answer: Answer, method: str, path: str, note: str, query: dict[str, Any] | None, *, is_again: bool = False
    ) -> None:
        number = len(self.recorded) - (1 if is_again else 0)
        if is_again:
            self.recorded.popitem()
        query_text = "".join(f" {name}={value}" for name, value in (query or {}).items())
        name = self.labels.text(
            f"{number:04} {method} {self.client.names.path(path)}{query_text}" + (f" ({note})" if note else "")
        )
        self.recorded[name] = entry(answer, self.labels)


def _as_shown(answer: Answer) -> Any:
    return answer.json() if "json" in str(answer.headers["Content-Type"]).split("ndjson")[0] else answer.text


Step = Callable[[Endpoints], None]
