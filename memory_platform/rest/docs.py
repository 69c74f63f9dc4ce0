"""The generator and the hooks of the OpenAPI document: summaries, examples, a reading order and the quick start."""

import json
import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

_FOLDER = Path(__file__).parent
#: The order of the operations of one URL.
_METHODS = ("post", "get", "put", "patch", "delete")
#: Code, detail and field of the errors that look the same for every operation.
_USUAL_ERRORS = {
    400: ("invalid", "The request is not valid: surprise.", "surprise"),
    401: ("key_missing", "Send a key as `Authorization: Bearer <key>` or `X-API-Key`.", ""),
    403: ("forbidden", "This key does not permit this request.", ""),
    409: ("conflict", "Another request stored the same data at the same time; read it again.", ""),
    412: ("stale_version", "It has changed in the meantime. Read it again.", ""),
    413: ("too_large", "The body is larger than 64 KiB.", ""),
    429: ("rate_limited", "Too many requests with this key; wait and try again.", ""),
    503: ("try_again", "The request conflicted with another request for the same rows; try again.", ""),
}
_KEY_REUSED = ("idempotency_key_reused", "This Idempotency-Key was already used for another request.", "")
_URL_PARAMETER = re.compile(r"\{(\w+?)(?:_id)?\}")

_GENERATION = Lock()


class DocumentGenerator(SchemaGenerator):
    """Generates one document at a time.

    drf-spectacular loads its extensions during the first document, and a simultaneous second one fails.
    """

    def get_schema(self, request: Any = None, public: bool = False) -> Any:
        with _GENERATION:
            return super().get_schema(request, public)  # type: ignore[no-untyped-call]


def add_operation_summaries(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the OpenAPI document with the first sentence of each description as the summary."""
    for operation in (each for methods in result["paths"].values() for each in methods.values()):
        operation.setdefault("summary", re.split(r"[.;](?:\s|$)", operation["description"], maxsplit=1)[0])
    return result


def add_examples(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the document with an example for each response: a recorded one, or the usual error of the status.

    `python -m tests.behaviour examples` records them.
    """
    recorded = _recorded_examples()
    for path, operation in ((path, each) for path, methods in result["paths"].items() for each in methods.values()):
        answers = recorded.get(operation["operationId"], {})
        for status, response in operation["responses"].items():
            example = answers.get(status) or _usual_error(int(status), path, operation)
            for content in response.get("content", {}).values() if example is not None else ():
                content.setdefault("example", example)
    return result


def order_operations(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the document with its operations in the order of `TAGS`, and with the quick start as its description."""
    tags: Any = settings.SPECTACULAR_SETTINGS["TAGS"]
    names = [tag["name"] for tag in tags]

    def place(item: tuple[str, dict[str, Any]]) -> tuple[int, int, str]:
        path, operations = item
        return min(names.index(each["tags"][0]) for each in operations.values()), path.count("/"), path

    result["paths"] = {
        path: dict(sorted(operations.items(), key=lambda each: _METHODS.index(each[0])))
        for path, operations in sorted(result["paths"].items(), key=place)
    }
    result["info"]["description"] = (_FOLDER / "quick_start.md").read_text()
    return result


@cache
def _recorded_examples() -> dict[str, dict[str, Any]]:
    examples: dict[str, dict[str, Any]] = json.loads((_FOLDER / "api_examples.json").read_text())
    return examples


def _usual_error(status: int, path: str, operation: dict[str, Any]) -> dict[str, Any] | None:
    headers = {parameter["name"] for parameter in operation.get("parameters", ())}
    errors = _USUAL_ERRORS | {404: ("not_found", f"There is no such {_what(path)}.", "")}
    if "Idempotency-Key" in headers:
        errors[409] = _KEY_REUSED
    if status not in errors:
        return None
    code, detail, field = errors[status]
    faults = [{"field": field, "code": "unknown_field", "detail": "There is no such field."}] if field else []
    problem = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "code": code}
    return {**problem, "detail": detail, "errors": faults}


def _what(path: str) -> str:
    """Return the noun for the last parameter of a URL, else the singular of its last part."""
    names = _URL_PARAMETER.findall(path)
    word = names[-1] if names else path.rpartition("/")[2].removesuffix("s")
    return {"name": "profile", "place": "partition"}.get(word, word.replace("_", " ").replace("-", " "))
