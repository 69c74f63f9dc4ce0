"""Requests of part two about files, moves, hygiene lists, evaluations and erasure."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.behaviour.contexts import API

if TYPE_CHECKING:
    from tests.behaviour.endpoints import Endpoints

POLL_SECONDS = 0.5
TIMEOUT_SECONDS = 120.0
_FILE = {"Content-Type": "application/x-ndjson"}
_ROWS = b'{"content": "Greta plays chess on Fridays.", "partition": "user=greta"}\n{"content": ""}\n'
_CORPUS: dict[str, Any] = {
    "corpus": "upload",
    "corpus_name": "Two dinners",
    "memories": [
        {"id": f"m{number}", "created_at": f"2019-03-0{number}T09:00:00Z", "content": f"Guest {number} ordered {food}."}
        for number, food in enumerate(("figs", "kale"), 1)
    ],
    "questions": [{"id": "q1", "text": "What did guest 1 order?", "evidence": ["m1"], "answer": "figs"}],
    "budgets": [60],
}


def exchange_files(api: Endpoints) -> None:
    """Import, export, move and undo the move."""
    api.send("POST", "import", None, raw=_ROWS, headers=_FILE, refusals=False)
    api.send("GET", "export", query={"type": "jsonl", "partition": "user=greta"}, refusals=False)
    move = {"filter": {"partition": "user=greta"}, "to": "user=greta/topic=games"}
    act = api.read(api.send("POST", "memories/move", move, refusals=False), "act_id")
    api.send("GET", f"acts/{act}", refusals=False)
    api.send("POST", f"acts/{act}/undo", refusals=False)


def tidy_up(api: Endpoints) -> None:
    """Record the hygiene lists, once the periodic job has filled one, and an action on each that has rows."""
    names: list[str] = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not names and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        lists = api.client.call("GET", f"{API}/hygiene", key=api.keys["admin"]).json()["results"]
        names = [api.read(each, "name") for each in lists if api.read(each, "count")]
    api.send("GET", "hygiene", refusals=False)
    for name in names:
        rows = api.send("GET", f"hygiene/{name}", query={"page_size": 2}, refusals=False)["results"]
        if rows:
            body = {"action": "dismiss", "ids": [api.read(rows[0], "id")]}
            api.send("POST", f"hygiene/{name}", body, refusals=False)


def evaluate_profiles(api: Endpoints) -> None:
    """Two evaluations of one corpus, compared; a third one cancelled, repeated and deleted."""
    first, second = (_evaluated(api, profile) for profile in ("adr-0040", "recall"))
    api.send("GET", f"evaluations/{first}", refusals=False)
    api.send("GET", f"evaluations/{first}/answers", refusals=False)
    api.send("GET", f"evaluations/{first}/compare", query={"other": second}, refusals=False)
    third = api.send("POST", "evaluations", {**_CORPUS, "profile": "adr-0040"}, refusals=False)["id"]
    api.send("POST", f"evaluations/{third}/cancel", refusals=False)
    api.send("POST", f"evaluations/{third}/retry", refusals=False)
    api.send("DELETE", f"evaluations/{second}", refusals=False)


def watch_tenant(api: Endpoints) -> None:
    """A rule and a destination of alerts; the destination is tested, removed and restored."""
    api.send("GET", "alert-rules", refusals=False)
    api.send("GET", "alert-rules/contradictions", refusals=False)
    api.send("PATCH", "alert-rules/contradictions", {"enabled": True, "threshold": 5}, refusals=False)
    mail = {"kind": "email", "address": "ops@example.com"}
    destination = f"alert-destinations/{api.send('POST', 'alert-destinations', mail, refusals=False)['id']}"
    api.send("GET", "alert-destinations", refusals=False)
    api.send("GET", destination, refusals=False)
    api.send("POST", f"{destination}/test", refusals=False)
    api.send("GET", "alert-deliveries", refusals=False)
    api.send("DELETE", destination, refusals=False)
    api.send("POST", f"{destination}/restore", refusals=False)
    api.send("GET", "alerts", refusals=False)


def erase_and_retain(api: Endpoints) -> None:
    """A retention policy, and the erasure of a person, which is the last request."""
    policy = {"partition": "user=greta", "days": 365, "age_from": "created"}
    identifier = api.read(api.send("POST", "retention-policies", policy, refusals=False), "id")
    api.send("GET", "retention-policies", refusals=False)
    api.send("DELETE", f"retention-policies/{identifier}", refusals=False)
    erasure = f"erasures/{api.send('POST', 'erasures', {'partition': 'user=greta'}, refusals=False)['id']}"
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        body = api.client.call("GET", f"{API}/{erasure}", key=api.keys["admin"]).json()
        if api.read(body, "state") not in {"queued", "running"}:
            break
    api.send("GET", erasure, refusals=False)
    api.send("GET", "erasures", refusals=False)
    api.send("POST", "erasures", {}, "nothing", refusals=False)


def _evaluated(api: Endpoints, profile: str) -> str:
    run = str(api.send("POST", "evaluations", {**_CORPUS, "profile": profile}, refusals=False)["id"])
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        body = api.client.call("GET", f"{API}/evaluations/{run}", key=api.keys["admin"]).json()
        if api.read(body, "state") not in {"queued", "running"}:
            return run
        time.sleep(POLL_SECONDS)
    raise RuntimeError("the evaluation does not end")


MAINTENANCE_STEPS = (exchange_files, tidy_up, evaluate_profiles, watch_tenant, erase_and_retain)
