"""The requests of part two about sessions: messages, compactions, reviews."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.behaviour.corpus import messages

if TYPE_CHECKING:
    from tests.behaviour.endpoints import Endpoints

TIMEOUT_SECONDS = 60.0
#: States of unfinished work.
UNFINISHED = ("queued", "running")
#: The query parameters for lists of this part.
LIST_QUERIES: tuple[dict[str, Any], ...] = ({}, {"page_size": 3}, {"page_size": 0}, {"cursor": "nonsense"})


def settle(api: Endpoints, answer: Any) -> None:
    """Wait for the end of the work that a response named, if it named any."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    event = api.read(answer, "event_id")
    while event and time.monotonic() < deadline:
        state = api.client.call("GET", f"/api/v1/events/{event}", key=api.keys["admin"]).text
        if not any(f'"{api.client.names.codes.get(word, word)}"' in state for word in UNFINISHED):
            return
        time.sleep(0.3)


def hold_sessions(api: Endpoints) -> None:
    """Create sessions and messages, and two compactions that are reviewed and rolled back."""
    body = {
        "user_id": "bo",
        "model": "gpt-4o",
        "max_context_tokens": 3000,
        "directive": "Plan the trip.",
        "metadata": {"a": 1},
    }
    first = api.send("POST", "sessions", body, label="session-1")["id"]
    second = api.send("POST", "sessions", {**body, "user_id": "chen", "max_context_tokens": 3600}, label="session-2")[
        "id"
    ]
    third = api.send("POST", "sessions", {"metadata": {}}, "plain", label="session-3")["id"]
    _append(api, first, "Bo")
    _append(api, second, "Chen")
    path = f"sessions/{first}"
    api.send("GET", path)
    api.send("PATCH", path, {"directive": "Plan the whole trip."})
    for query in (*LIST_QUERIES, {"user_id": "bo"}, {"ordering": "-pressure"}, {"min_pressure": 0.5}, {"state": "x"}):
        api.send("GET", "sessions", query=query)
    for query in (*LIST_QUERIES, {"role": "tool", "page_size": 2}, {"q": "Vienna", "page_size": 5}, {"state": "live"}):
        api.send("GET", f"{path}/messages", query=query)
    message = api.client.call("GET", f"/api/v1/{path}/messages", key=api.keys["admin"]).json()["results"][11]["id"]
    api.send("GET", f"messages/{message}")
    api.send("PATCH", f"messages/{message}", {"pinned": True})
    api.send("POST", f"{path}/simulate", {"max_context_tokens": 5000, "sleep_threshold": 0.6})
    api.send("POST", f"{path}/simulate", {}, "as it is")
    api.send("POST", "prompts/trial", {"session_id": second, "text": "Summarise briefly."})
    api.send("POST", f"sessions/{third}/context", {"max_tokens": 500, "query": "train"}, "empty session")
    _compact(api, first, second)
    _append_again(api, third)
    api.send("DELETE", f"sessions/{third}")
    api.send("POST", f"sessions/{third}/restore")
    api.send("GET", "compactions")
    api.send("GET", "compactions", query={"state": "applied"})


def _append(api: Endpoints, session: str, traveller: str) -> None:
    for start in (0, 30):
        answer = api.send(
            "POST", f"sessions/{session}/messages", {"messages": messages(traveller)[start : start + 30]}, f"{start}"
        )
        rows = api.read(answer, "results") or api.read(answer, "messages") or []
        for number, row in enumerate(rows):
            api.labels.name(row["id"], f"message-{number + start}-of-{api.labels.text(session).strip('{}')}")
    api.send("POST", f"sessions/{session}/messages", {"messages": [{"role": "ghost", "content": "Boo."}]}, "bad role")


def _append_again(api: Endpoints, session: str) -> None:
    """Send messages that the session already contains, and start a compaction without waiting for it."""
    path = f"sessions/{session}"
    rows = [{**row, "source_id": f"row-{number}"} for number, row in enumerate(messages("Dana")[:30])]
    api.send("PATCH", path, {"max_context_tokens": 2000})
    for note in ("with source ids", "repeated"):
        api.send("POST", f"{path}/messages", {"messages": rows}, note)
    settle(api, api.send("POST", f"{path}/compact", {}, "without waiting"))


def _compact(api: Endpoints, first: str, second: str) -> None:
    context = {"query": "Which train?", "max_tokens": 3000, "preview": True, "explain": True}
    api.send("POST", f"sessions/{second}/context", context, "before")
    for session in (first, second):
        api.send("POST", f"sessions/{session}/compact", {"dry_run": True}, "dry run")
        done = api.send("POST", f"sessions/{session}/compact", {"wait": True}, "wait")
        identifier = api.read(done, "compaction_id")
        name = "compaction-" + api.labels.text(session).strip("{}")
        if identifier:
            api.labels.name(identifier, name)
        for _ in _follow_names(api, done, name):
            _review(api, identifier, session, is_first=session == first)
    settle(api, api.send("POST", f"sessions/{second}/compact", {}, "nothing to compact"))


def _follow_names(api: Endpoints, done: Any, name: str) -> list[str]:
    if event := api.read(done, "event_id"):
        api.labels.name(event, f"event-of-{name}")
        api.send("GET", f"events/{event}")
    return [name] if api.read(done, "compaction_id") else []


def _review(api: Endpoints, compaction: str, session: str, *, is_first: bool) -> None:
    path = f"compactions/{compaction}"
    body = api.send("GET", path)
    api.send("GET", f"sessions/{session}/compactions")
    api.send("GET", f"sessions/{session}/messages", query={"page_size": 60})
    masked = api.client.call(
        "GET", f"/api/v1/sessions/{session}/messages", key=api.keys["admin"], query={"role": "tool"}
    )
    api.send("POST", f"messages/{masked.json()['results'][0]['id']}/expand")
    context = {"query": "Where do they sleep, and at which price?", "max_tokens": 3000}
    for changes in (
        {},
        {"max_tokens": 800},
        {"render": "xml"},
        {"packer": "optimal"},
        {"max_tokens": 0},
    ):
        api.send("POST", f"sessions/{session}/context", {**context, **changes}, "compacted")
    actions: list[dict[str, Any]] = [
        {"action": "approve"},
        {"action": "reject", "reason": "Too short."},
        {"action": "fly"},
    ]
    if not is_first:
        edited = "Decision 2: we take the night train to Vienna. You must not forget missing papers."
        actions.insert(0, {"action": "edit", "text": edited, "edit_version": api.read(body, "edit_version") or 0})
        actions.insert(1, {"action": "append_missing", "facts": []})
        actions.insert(2, {"action": "regenerate"})
    for action in (*actions, {"action": "rollback", "reason": "Try again."}, {"action": "rollback"}):
        answer = api.send("POST", f"{path}/review", action, f"{action['action']}")
        settle(api, answer)
        api.send("GET", path, None, f"after {action['action']}")
    api.send("GET", f"sessions/{session}/messages", query={"page_size": 60, "state": "live"})


def spread_journal(api: Endpoints) -> None:
    """Label the memories that compaction stored by their text, and give each its own day of creation in the past."""
    rows = []
    for query in ({"page_size": 500}, {"page_size": 500, "archived": "true"}):
        page = api.client.call("GET", "/api/v1/memories", key=api.keys["admin"], query=query).json()
        rows += [row for row in page["results"] if not api.labels.knows(row["id"])]
    rows.sort(key=lambda row: (row["partition"], row["content"], bool(row["archived_at"])))
    for number, row in enumerate(rows):
        api.labels.name(row["id"], f"journal-{number}")
        if not row["archived_at"]:
            body = {"created_at": api.labels.time(days=2500 + number)}
            api.send("PATCH", f"memories/{row['id']}", body, "journal")
