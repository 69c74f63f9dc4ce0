"""One recording: create a tenant, then record contexts, responses and pages, in this order."""

import gzip
import json
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.behaviour.client import Client
from tests.behaviour.contexts import Setup, record_contexts
from tests.behaviour.endpoints import Endpoints
from tests.behaviour.evaluation import prepare_evaluations
from tests.behaviour.labels import UUID, Labels
from tests.behaviour.names import Names
from tests.behaviour.pages import Console, Crawl
from tests.behaviour.profiles import prepare_pages, publish_profile
from tests.behaviour.server import Server
from tests.behaviour.visible import read_page

TENANTS = ("acme", "other")
OPERATOR = "ada"
#: Storing takes less time. In every recording, the first context is requested at the anchor, so ages are the same.
ANCHOR_AFTER = timedelta(seconds=75)
#: A recording must not span midnight, because pages count days.
QUIET_MINUTES = 40
#: The interval at which a page with the state of periodic jobs is requested, and how many responses must be equal.
POLL_SECONDS = 4.0
QUIET_POLLS = 4
QUIET_TIMEOUT_SECONDS = 150.0


def record(server: Server, names: Names) -> dict[str, Any]:
    """Return the recording of a new server, as JSON."""
    server.pause_schedule()
    _refuse_midnight()
    progress = _Progress()
    keys, labels, client = set_up(server, names)
    setup = Setup(client, labels, keys["admin"])
    material = setup.run()
    setup.count_retrievals(server, material)
    progress.report("stored")
    recorded: dict[str, Any] = {"contexts": record_contexts(client, labels, keys["admin"], material)}
    progress.report("contexts recorded")
    endpoints = Endpoints(client, labels, keys, material)
    recorded["api"] = endpoints.run()
    recorded["schema"] = endpoints.schema()
    progress.report("endpoints recorded")
    prepare_evaluations(server, labels, TENANTS[0])
    publish_profile(endpoints)
    progress.report("evaluations run")
    console = Console(client, labels)
    console.sign_in(OPERATOR, keys["password"])
    server.resume_schedule()
    _wait_for_quiet(console, names.path(f"/t/{keys['tenant-acme']}/hygiene"))
    server.pause_schedule()
    time.sleep(1)
    progress.report("periodic jobs run")
    prepare_pages(endpoints)
    recorded["pages"] = Crawl(console).run("/")
    progress.report("pages recorded")
    missing = endpoints.missing()
    recorded["missing"] = missing
    counts = {part: len(entries) for part, entries in recorded.items()}
    print(f"recorded {counts}; endpoints without a successful answer: {', '.join(missing) or 'none'}", file=sys.stderr)
    return recorded


def _wait_for_quiet(console: Console, path: str) -> None:
    deadline = time.monotonic() + QUIET_TIMEOUT_SECONDS
    seen: list[list[str]] = []
    while time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        seen.append(read_page(console.get(path).text).lines)
        if len(seen) > QUIET_POLLS and all(each == seen[-1] for each in seen[-QUIET_POLLS:]):
            return
    raise RuntimeError(f"{path} does not come to rest")


def write_recording(path: Path, recorded: dict[str, Any]) -> None:
    """Write it as compressed JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(recorded, ensure_ascii=False, indent=0).encode(), mtime=0))


def read_recording(path: Path) -> dict[str, Any]:
    """Return what `write_recording` wrote."""
    recorded: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return recorded


class _Progress:
    def __init__(self) -> None:
        self._start = time.monotonic()

    def report(self, what: str) -> None:
        print(f"{time.monotonic() - self._start:6.1f} s  {what}", file=sys.stderr, flush=True)


def set_up(server: Server, names: Names) -> tuple[dict[str, str], Labels, Client]:
    """Return the credentials of a new tenant by name, the labels of what will be recorded, and a client."""
    keys = _create_credentials(server)
    labels = Labels((datetime.now(UTC) + ANCHOR_AFTER).replace(microsecond=0), server.url)
    _label_credentials(labels, keys)
    return keys, labels, Client(server.url, names)


def _create_credentials(server: Server) -> dict[str, str]:
    keys: dict[str, str] = {}
    for name in TENANTS:
        keys[f"tenant-{name}"] = "".join(UUID.findall(server.manage("create_tenant", name)))
    keys["admin"] = server.manage("create_key", TENANTS[0], "--scopes", "read,write,admin", "--name", "full agent")
    keys["reader"] = server.manage("create_key", TENANTS[0], "--scopes", "read")
    keys["narrow"] = server.manage("create_key", TENANTS[0], "--scopes", "read,write", "--partition", "user=bo")
    keys["foreign"] = server.manage("create_key", TENANTS[1], "--scopes", "read,write,admin")
    arguments = ("create_operator", OPERATOR, "--role", "admin", "--tenant", TENANTS[0], "--generate-password")
    keys["password"] = server.manage(*arguments)
    return keys


def _label_credentials(labels: Labels, keys: dict[str, str]) -> None:
    for name, key in keys.items():
        if name.startswith("tenant-"):
            labels.name(key, name)
            continue
        labels.name_literal(key, f"secret-{name}")
        if name != "password":
            labels.name_literal(key.partition(".")[0], f"key-{name}")


def _refuse_midnight() -> None:
    now = datetime.now(UTC)
    minutes = now.hour * 60 + now.minute
    if not QUIET_MINUTES <= minutes <= 24 * 60 - QUIET_MINUTES:
        raise RuntimeError(f"a recording does not run within {QUIET_MINUTES} minutes of midnight (UTC)")
