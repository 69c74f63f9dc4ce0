"""Requests generated from the OpenAPI document: valid ones, damaged ones, and ones with ids of earlier responses."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

#: Values that often break services, for any field.
HOSTILE: list[Any] = [
    *(None, True, -1, 0, 2**31, 2**63, 1e308, 0.1, "", " ", "0", [], {}, [None], {"a": {"b": [1]}}),
    *("\u0000", "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "‮​", "a" * 3000),
    *("'; DROP TABLE memories_memory; --", "../../etc/passwd", "<script>alert(1)</script>", "%00", "{{7*7}}"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", "00000000-0000-0000-0000-000000000000"),
]
TEXTS = [
    "Alex prefers green tea.",
    "The kettle was repaired on 3 May.",
    "user=alex",
    "ERR_4012",
    "What changed?",
    "日本",
]
KEPT_IDS = 50
DAMAGED_SHARE = 0.35


@dataclass
class RequestMaker:
    """Generates requests of a document; `noted` are ids and names from responses, by the name of their parameter."""

    document: dict[str, Any]
    randomness: random.Random
    noted: dict[str, list[str]] = field(default_factory=dict)

    def operations(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return every (method, path, operation)."""
        paths = self.document["paths"].items()
        return [(method, path, operation) for path, item in paths for method, operation in item.items()]

    def request(self, path: str, operation: dict[str, Any]) -> tuple[str, dict[str, str], bytes, str]:
        """Return a URL, headers, body and content type for an operation."""
        query, headers = {}, {}
        for parameter in map(self._resolved, operation.get("parameters", [])):
            name, place = parameter["name"], parameter["in"]
            if place == "path":
                path = path.replace(f"{{{name}}}", quote(self._path_value(name, parameter["schema"]), safe="="))
            elif parameter.get("required") or self.randomness.random() < 0.3:
                text = self._text(self._damaged(lambda schema=parameter["schema"]: self.value(schema)))
                if place == "query":
                    query[name] = text
                elif text.isprintable() and text.isascii():
                    headers[name] = text
        content = operation.get("requestBody", {}).get("content", {})
        kind = self.randomness.choice(list(content)) if content else "application/json"
        body = self._body(content[kind]["schema"], kind) if content else b""
        return f"{path}?{urlencode(query)}" if query else path, headers, body, kind

    def note(self, path: str, answer: Any) -> None:
        """Keep the ids of a response for later requests."""
        noun = next((part for part in reversed(path.split("/")) if part and "{" not in part), "")
        self._note(answer, re.sub(r"ies$", "y", noun).rstrip("s"))

    def _note(self, value: Any, noun: str) -> None:
        if isinstance(value, list):
            for each in value[:5]:
                self._note(each, noun)
        elif isinstance(value, dict):
            for key, each in value.items():
                if isinstance(each, str) and (key == "id" or key.endswith("_id") or key == "name"):
                    known = self.noted.setdefault(f"{noun}_id" if key == "id" else key, [])
                    known.append(each)
                    del known[:-KEPT_IDS]
                else:
                    self._note(each, re.sub(r"ies$", "y", key).rstrip("s"))

    def value(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """Return a value for a schema; at any depth, it may be replaced by a hostile one."""
        schema = self._resolved(schema)
        choose = self.randomness.choice
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self.value(choose(schema[word]), depth)
        if "allOf" in schema:
            return self.value(schema["allOf"][0], depth)
        if "enum" in schema:
            return choose(schema["enum"])
        kind = schema.get("type", "object")
        kind = choose(kind) if isinstance(kind, list) else kind
        makers: dict[str, Callable[[], Any]] = {
            "object": lambda: self._object(schema, depth),
            "array": lambda: [self.value(schema.get("items", {}), depth + 1) for _ in range(choose([0, 1, 1, 2]))],
            "string": lambda: self._string(schema),
            "integer": lambda: self.randomness.randint(*self._bounds(schema)),
            "number": lambda: self.randomness.uniform(*self._bounds(schema)),
            "boolean": lambda: choose([True, False]),
            "null": lambda: None,
        }
        return makers[kind]()

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), set(schema.get("required", ()))
        made = {}
        for name, each in properties.items():
            if name in required or (depth < 4 and self.randomness.random() < 0.4):
                noted = self.noted.get(name)
                make = (
                    (lambda known=noted: self.randomness.choice(known))
                    if noted
                    else (lambda part=each: self.value(part, depth + 1))
                )
                made[name] = self._damaged(make, share=0.04)
        if self.randomness.random() < 0.03:
            made["surprise"] = self.randomness.choice(HOSTILE)
        return made

    def _string(self, schema: dict[str, Any]) -> str:
        form = schema.get("format", "")
        if form == "uuid":
            known = [each for ids in self.noted.values() for each in ids if len(each) == 36]
            return (
                self.randomness.choice(known) if known else str(UUID(int=self.randomness.getrandbits(128), version=4))
            )
        if form in {"date", "date-time"}:
            return "2026-05-03" if form == "date" else "2026-05-03T10:00:00Z"
        return self.randomness.choice(TEXTS)[: schema.get("maxLength", 100)]

    def _bounds(self, schema: dict[str, Any]) -> tuple[int, int]:
        low = int(schema.get("minimum", 0))
        return low, max(low, min(int(schema.get("maximum", 3000)), 3000))

    def _body(self, schema: dict[str, Any], kind: str) -> bytes:
        if self.randomness.random() < 0.02:
            return self.randomness.choice([b"", b"{", b"[]", b"null", b"\xff", b'{"a": NaN}', b"[" * 2000])
        value = self._damaged(lambda: self.value(schema), share=0.04)
        if kind != "application/json":
            return b'{"content": "Alex prefers tea."}\n' if "json" in kind else b"content\nAlex prefers tea.\n"
        return json.dumps(value).encode()

    def _path_value(self, name: str, schema: dict[str, Any]) -> str:
        noted = self.noted.get(name) or self.noted.get("name" if name == "name" else "")
        if noted and self.randomness.random() < 0.8:
            return self.randomness.choice(noted)
        return self._text(self._damaged(lambda: self.value(schema))) or "-"

    def _damaged(self, make: Callable[[], Any], share: float = DAMAGED_SHARE / 3) -> Any:
        return self.randomness.choice(HOSTILE) if self.randomness.random() < share else make()

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            target: Any = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            schema = target
        return schema

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)
