"""The API call and the workbench URL that give the context of a resolved request again."""

import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from context.services.ordering import DEFAULT_ORDERING

KEY_PLACEHOLDER = "YOUR_KEY"
#: Inputs that a record contains and the API does not take, or only with an earlier context.
_NOT_SENT = {"segments", "stable_with", "given", "shares_of", "already_shown", "session_id", "actor"}
_STABLE = "stable"
#: Inputs that the profiles determine if they are not given.
PROFILE_FIELDS = ("model", "profile", "budget_profile", "packer", "ordering")


def request_body(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of `POST context` for the inputs as a context stores them; a preview, so nothing is counted."""
    body = {name: value for name, value in record.items() if name not in _NOT_SENT and value not in (None, "", {})}
    if not record["exact"]:
        del body["exact"]
    if (record["focus"] or {}).get("partition"):
        body.pop("partition", None)  # the focus contains it
    if record["ordering"] == _STABLE:
        body["ordering"] = DEFAULT_ORDERING  # `stable` needs an earlier context
    return body | {"preview": True}


def curl_command(body: Mapping[str, Any], address: str) -> str:
    """Return the API call as a shell command, with a placeholder for the key."""
    return (
        f"curl -sS {shlex.quote(address)} \\\n  -H 'Authorization: Bearer {KEY_PLACEHOLDER}' \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {shlex.quote(json.dumps(body, ensure_ascii=False, indent=2))}"
    )


def workbench_inputs(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a record as inputs of the workbench, without those that a default determined."""
    focus, given, as_of = record["focus"] or {}, set(record["given"]), record["as_of"]
    inputs = {
        "query": record["query"],
        "partition": record["partition"],
        "exact": "on" if record["exact"] and record["partition"] else "",
        "max_tokens": record["max_tokens"],
        "focus_memory": focus.get("memory_id", ""),
        "focus_summary": focus.get("summary_id", ""),
        "style": record["render"],
        "as_of": datetime.fromisoformat(as_of).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if as_of else "",
        **{name: record[name] for name in PROFILE_FIELDS if name in given and record[name] != _STABLE},
    }
    return {name: value for name, value in inputs.items() if value}
