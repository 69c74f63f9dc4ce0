"""A context as the call of the API that gives the same one: what was asked, with every default spelled out."""

import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from context.services.ordering import DEFAULT_ORDERING

KEY_PLACEHOLDER = "YOUR_KEY"
#: Inputs of a record as the API takes them, in this order.
_FIELDS = (
    "query",
    "partition",
    "exact",
    "focus",
    "max_tokens",
    "model",
    "profile",
    "budget_profile",
    "packer",
    "ordering",
    "render",
    "summary_style",
    "include_tenant_memo",
    "include_summaries_at",
    "include_linked_memories",
    "include_memories_top_k",
    "as_of",
)
#: What says nothing may be left away.
_NOTHING: tuple[Any, ...] = (None, "", {})
_STABLE = "stable"
#: What the profiles decide where it was not given.
OF_A_PROFILE = ("model", "profile", "budget_profile", "packer", "ordering")


def request_body(record: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `POST context` for the inputs as a context keeps them; a preview, so that it counts nothing."""
    body = {name: record[name] for name in _FIELDS if record.get(name) not in _NOTHING}
    if body.get("exact") is False:
        del body["exact"]
    if (record.get("focus") or {}).get("partition"):
        body.pop("partition", None)  # said by the focus
    if body.get("ordering") == _STABLE:
        body["ordering"] = DEFAULT_ORDERING  # it takes an earlier context to be stable with
    return body | {"preview": True}


def curl_command(body: Mapping[str, Any], address: str) -> str:
    """The same as a command for a shell, with a placeholder for the key."""
    data = shlex.quote(json.dumps(body, ensure_ascii=False, indent=2))
    return "\n".join(
        [
            f"curl -sS {shlex.quote(address)} \\",
            f"  -H 'Authorization: Bearer {KEY_PLACEHOLDER}' \\",
            "  -H 'Content-Type: application/json' \\",
            f"  -d {data}",
        ]
    )


def workbench_query_string(record: Mapping[str, Any]) -> str:
    """The inputs of a record as the address of the workbench takes them; what a default decided is left to it.

    A record of the first version does not say what was given.
    """
    focus = record.get("focus") or {}
    given = set(record.get("given", ()))
    as_of = record.get("as_of")
    wished = {
        "query": record["query"],
        "partition": record["partition"],
        "exact": "on" if record.get("exact") and record["partition"] else "",
        "max_tokens": record["max_tokens"],
        "focus_memory": focus.get("memory_id", ""),
        "focus_summary": focus.get("summary_id", ""),
        "style": record["render"],
        "as_of": datetime.fromisoformat(as_of).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if as_of else "",
        **{name: record[name] for name in OF_A_PROFILE if name in given and record[name] != _STABLE},
    }
    return urlencode({name: value for name, value in wished.items() if value})
