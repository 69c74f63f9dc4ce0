"""The examples of the API documentation: the first response of each status that a new server gives to an operation."""

import json
import re
from pathlib import Path
from typing import Any

from tests.behaviour.contexts import Setup
from tests.behaviour.endpoints import Endpoints
from tests.behaviour.evaluation import prepare_evaluations
from tests.behaviour.maintenance import MAINTENANCE_STEPS
from tests.behaviour.names import Names
from tests.behaviour.profiles import publish_profile
from tests.behaviour.recording import TENANTS, set_up
from tests.behaviour.server import Server

#: How much an example shows of a long list and of a long text.
ITEMS_MAX = 2
CHARACTERS_MAX = 400
#: The host in shown URLs, and the placeholder for secrets.
EXAMPLE_URL = "https://memory.example.com"
EXAMPLE_SECRET = "kEyPrEfX.this-text-is-shown-once"
#: The statuses whose examples are the same for every operation; `memory_platform.rest.docs` writes them.
SAME_EVERYWHERE = {"401", "403", "405", "413", "415", "429"}

_FAIL_RUN = """
from compaction.models import Run
from memories.tenancy.scopes import admin_write_scope
with admin_write_scope():
    run = Run.objects.filter(kind=Run.Kind.ROLL_UP, state=Run.State.DONE).latest("created_at")
    run.state = Run.State.FAILED
    run.save()
print(run.pk)
"""


def record_examples(server: Server) -> tuple[dict[str, Any], list[str]]:
    """Return the answers by operation and status, and the operations without a successful answer."""
    server.pause_schedule()
    keys, labels, client = set_up(server, Names())
    setup = Setup(client, labels, keys["admin"])
    endpoints = Endpoints(client, labels, keys, setup.run())
    endpoints.run()
    _retry_failed_run(server, endpoints)
    prepare_evaluations(server, labels, TENANTS[0])
    publish_profile(endpoints)
    server.resume_schedule()
    for step in MAINTENANCE_STEPS:
        step(endpoints)
    return {
        name: _shown(answers, server.url) for name, answers in sorted(endpoints.examples.items())
    }, endpoints.missing()


def _retry_failed_run(server: Server, api: Endpoints) -> None:
    """Mark a finished run as failed, because no run of a recording fails by itself."""
    event = server.manage("shell", "--no-imports", "-c", _FAIL_RUN)
    api.send("POST", f"events/{event}/retry", refusals=False)


def write_examples(path: Path, examples: dict[str, Any]) -> None:
    """Write them as JSON, one line per operation and status, so that diffs show what changed."""
    lines = []
    for name, answers in examples.items():
        shown = ",\n".join(
            f'    "{status}": {json.dumps(body, ensure_ascii=False)}' for status, body in answers.items()
        )
        lines.append(f'  "{name}": {{\n{shown}\n  }}')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _shown(answers: dict[str, Any], url: str) -> dict[str, Any]:
    return {
        status: _shortened(json.loads(json.dumps(body).replace(url, EXAMPLE_URL)))
        for status, body in sorted(answers.items())
        if status not in SAME_EVERYWHERE and status < "500"
    }


def _shortened(value: Any, name: str = "") -> Any:
    if name == "key" and isinstance(value, str) and "." in value:
        return EXAMPLE_SECRET
    if isinstance(value, dict):
        return {key: _shortened(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each) for each in value[:ITEMS_MAX]]
    if isinstance(value, str) and len(value) > CHARACTERS_MAX:
        return re.sub(r"\s+\S*$", "", value[:CHARACTERS_MAX]) + " ..."
    return value
