"""Part one: store the memories of a recording, and record 500 contexts of them."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.behaviour.client import Answer, Client, entry
from tests.behaviour.corpus import REQUESTS, Material, context_request, memories
from tests.behaviour.labels import Labels, segment

API = "/api/v1"
FEEDBACK = ("POSITIVE", "POSITIVE", "NEGATIVE", "VERY_NEGATIVE")
#: Contexts that serve only to make the retrieval counts differ.
WARM_UP_REQUESTS = 25
#: The others are stored in bulk.
STORED_ONE_BY_ONE = 140
SETTLE_SECONDS = 4.0
TIMEOUT_SECONDS = 60.0

_SUMMARIES = {
    "user=alex": ("Alex plans the week and avoids coffee.", "Alex plans the week, avoids coffee after three, travels."),
    "user=bo": ("Bo prefers tea.", "Bo prefers tea without sugar and eats no nuts; the flight to Oslo is his."),
    "user=bo/topic=travel": ("Bo flies to Oslo.", "Bo flies to Oslo twice a year and takes the window seat."),
    "team=core": ("The core team releases on Thursdays.", "The core team releases on Thursdays after the review."),
}


class Setup:
    """Stores the rows that all parts of a recording use."""

    def __init__(self, client: Client, labels: Labels, key: str) -> None:
        self._client = client
        self._labels = labels
        self._key = key
        self.memory_ids: list[str] = []
        self.summary_ids: list[str] = []

    def run(self) -> Material:
        """Create profiles, memo, memories, changes to them, links, votes and summaries; return the ids for requests."""
        self._write_profiles()
        self._must("PUT", f"{API}/memo", {"content": "We are a team of six. Answer briefly, name the source."})
        rows = memories(self._labels)
        stored = [self._must("POST", f"{API}/memories", body) for body in rows[:STORED_ONE_BY_ONE]]
        stored += self._must("POST", f"{API}/memories/bulk", {"memories": rows[STORED_ONE_BY_ONE:]})["results"]
        for number, row in enumerate(stored):
            self._labels.name(row["id"], f"memory-{number}")
            self.memory_ids.append(row["id"])
        self._wait_for("every memory has its embedding", lambda rows: '"pending"' not in json.dumps(rows))
        self._change_memories()
        self._link_memories()
        for number in range(30, 90):
            body = {"memory_id": self.memory_ids[number % 47 + 100], "feedback": FEEDBACK[number % 4], "reason": ""}
            self._must("POST", f"{API}/feedback", body)
        self._write_summaries()
        return Material(self.memory_ids, self.summary_ids)

    def count_retrievals(self, server: Any, material: Material) -> None:
        """Request some contexts and wait until the periodic job has counted their memories."""
        for number in range(WARM_UP_REQUESTS):
            body = context_request(number, self._labels, material) | {"max_tokens": 1500}
            self._client.call("POST", f"{API}/context", _plain(body), key=self._key)
        server.resume_schedule()
        read = self._client.read
        self._wait_for("retrievals are counted", lambda rows: any(read(row, "retrieval_count") for row in rows))
        time.sleep(SETTLE_SECONDS)
        server.pause_schedule()
        time.sleep(1)

    def _wait_for(self, what: str, is_so: Callable[[list[Any]], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            page = self._client.call("GET", f"{API}/memories", key=self._key, query={"page_size": 500}).json()
            if is_so(page["results"]):
                return
            time.sleep(0.5)
        raise RuntimeError(f"not in time: {what}")

    def _must(self, method: str, path: str, body: Any) -> Any:
        answer = self._client.call(method, path, body, key=self._key)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} answers {answer.status}: {answer.text[:1000]}")
        return answer.json()

    def _write_profiles(self) -> None:
        wide = {"name": "wide", "default_tokens": 6000, "include_summaries_at": [0, 1, 2], "overfetch_ratio": 2.0}
        wide |= {"sections": {"memories": {"share": 0.6}, "linked_memories": {"tokens": 300}}}
        narrow = {"name": "narrow", "default_tokens": 600, "packer": "elastic", "ordering": "head_tail"}
        narrow |= {"minimum_score": 0.2, "include_memories_top_k": 3, "near_duplicate_threshold": 0.9}
        for body in (wide, narrow):
            self._must("POST", f"{API}/budget-profiles", body)

    def _change_memories(self) -> None:
        for number in range(40, 52):
            changed = {"content": f"Edited once: item {number} was moved to the archive shelf.", "confidence": 0.6}
            self._must("PATCH", f"{API}/memories/{self.memory_ids[number]}", changed)
        for number in range(52, 60):
            self._must("DELETE", f"{API}/memories/{self.memory_ids[number]}", None)
        for number in range(52, 55):
            self._must("POST", f"{API}/memories/{self.memory_ids[number]}/restore", None)

    def _link_memories(self) -> None:
        for number in range(0, 120, 2):
            if 52 <= number < 60:
                continue
            source, target = self.memory_ids[number], self.memory_ids[(number * 7 + 61) % 200 + 60]
            kind = ("related", "supports", "contradicts")[number % 3]
            self._must("POST", f"{API}/links", {"source_id": source, "target_id": target, "kind": kind})

    def _write_summaries(self) -> None:
        for partition, texts in _SUMMARIES.items():
            for style, text in zip(("compact", "detailed"), texts, strict=True):
                path = f"{API}/partitions/{segment(partition)}/summaries"
                summary = self._must("PUT", path, {"content": text, "style": style})
                self._labels.name(summary["id"], f"summary-{partition}-{style}".replace("/", "-"))
                self.summary_ids.append(summary["id"])


def record_contexts(client: Client, labels: Labels, key: str, material: Material) -> dict[str, Any]:
    """Return the responses to the fixed requests, by their number."""
    wait = (labels.anchor - datetime.now(UTC)).total_seconds()
    time.sleep(max(wait, 0))
    recorded: dict[str, Any] = {}
    given: dict[int, str] = {}
    for number in range(REQUESTS):
        body = context_request(number, labels, material)
        if isinstance(reference := body.get("stable_with"), str):
            body["stable_with"] = given.get(int(reference.removeprefix("#")))
        answer = client.call("POST", f"{API}/context", body, key=key)
        _name_context(client, labels, answer, number, given)
        recorded[f"context {number:03}"] = {"request": labels.value(body), **entry(answer, labels)}
    return recorded


def _name_context(client: Client, labels: Labels, answer: Answer, number: int, given: dict[int, str]) -> None:
    if isinstance(identifier := client.read(answer.json(), "id"), str):
        given[number] = identifier
        labels.name(identifier, f"context-{number}")


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in {"stable_with", "preview", "as_of"}}
