"""The requests of part two, in order: later ones build on earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.behaviour.conversations import LIST_QUERIES, hold_sessions, settle, spread_journal
from tests.behaviour.labels import segment
from tests.behaviour.profiles import (
    write_budget_profiles,
    write_golden_questions,
    write_prompts,
    write_scoring_profiles,
)

if TYPE_CHECKING:
    from tests.behaviour.endpoints import Endpoints


def store_memories(api: Endpoints) -> None:
    """Memories: create, repeat, read, change, archive, restore, list, search."""
    body: dict[str, Any] = {
        "content": "Dana collects hashes_and_paths of the 1970s.",
        "user_id": "dana",
        "kind": "preference",
    }
    body |= {"created_at": api.labels.time(days=433), "links": [{"target_id": api.material.memories[3]}]}
    first = api.send("POST", "memories", body, label="hashes_and_paths")["id"]
    api.send("POST", "memories", body, "repeated")
    api.send("POST", "memories", {"content": "Only the text.", "user_id": "nora"}, label="only-text")
    for name, value in _BAD_MEMORIES.items():
        api.send("POST", "memories", {"content": f"Refused for {name}.", **value}, f"bad {name}")
    once = {"Idempotency-Key": "once-only"}
    body = {"content": "Sent twice with one idempotency key.", "user_id": "dana"}
    api.send("POST", "memories", body, "idempotent", label="idempotent", headers=once)
    api.send("POST", "memories", body, "idempotent again", headers=once)
    api.send("POST", "memories", {**body, "kind": "idea"}, "idempotent, other body", headers=once)
    api.send("POST", "memories", {"content": "Outside the prefix.", "user_id": "alex"}, "outside", key="narrow")
    api.send("POST", "memories", {"content": "Inside the prefix.", "user_id": "bo"}, "inside", key="narrow", label="in")
    rows: list[dict[str, Any]] = [
        {"content": f"Bulk row {number}.", "user_id": "bulk", "created_at": api.labels.time(days=440 + number)}
        for number in range(3)
    ]
    rows += [{"content": ""}, {"content": "x", "confidence": 3}, {"content": "Bulk row 1.", "user_id": "bulk"}]
    for row in api.send("POST", "memories/bulk", {"memories": rows})["results"]:
        if row.get("id"):
            api.labels.name(row["id"], f"bulk-{row['index']}")
    api.send("POST", "memories/bulk", {"memories": [{"content": "x"}] * 1001}, "too many")
    _change_memory(api, f"memories/{first}")
    for query in (*LIST_QUERIES, *_MEMORY_QUERIES):
        api.send("GET", "memories", query=query)
    for body in _SEARCHES:
        api.send("POST", "memories/search", body)


def _change_memory(api: Endpoints, path: str) -> None:
    api.send("GET", path)
    api.send("GET", path, None, "not modified", headers={"If-None-Match": api.etag(path)})
    api.send("PATCH", path, {"content": "Dana collects coins."}, "stale", headers={"If-Match": '"1.0000000000000000"'})
    api.send("PATCH", path, {"content": "Dana collects coins.", "metadata": {"a": [1]}, "pinned": True})
    api.send("PATCH", path, {"content": "Only the text.", "partition": "user=nora"}, "onto a duplicate")
    api.send("DELETE", path)
    api.send("GET", path, None, "archived")
    api.send("DELETE", path, None, "archived already")
    api.send("POST", f"{path}/restore")
    api.send("GET", f"{path}/history")


_BAD_MEMORIES: dict[str, dict[str, Any]] = {
    "kind": {"kind": "Not A Word"},
    "confidence": {"confidence": 1.5},
    "partition": {"partition": "no-equals-sign"},
    "both": {"partition": "user=a", "user_id": "a"},
    "depth": {"partition": "/".join(f"k{number}=v" for number in range(9))},
    "naive time": {"created_at": "2024-01-01T00:00:00"},
    "future": {"created_at": "2124-01-01T00:00:00Z"},
    "metadata": {"metadata": {"x": "y" * 9000}},
    "length": {"content": "z" * 33_000},
    "blank": {"content": "  \n "},
    "link": {"links": [{"target_id": "00000000-0000-4000-8000-000000000000"}]},
    "position": {"position": -1},
    "surrogate": {"source_id": "\ud800"},
}
_MEMORY_QUERIES: tuple[dict[str, Any], ...] = (
    {"partition": "user=bo", "page_size": 5},
    {"partition": "user=bo", "exact": "true"},
    {"user_id": "chen", "kind": "fact", "page_size": 10},
    {"pinned": "true"},
    {"archived": "true"},
    {"q": "piano", "page_size": 10},
    {"ordering": "-created_at", "page_size": 5},
    {"ordering": "nonsense"},
    {"created_after": "2019-01-01T00:00:00Z", "page_size": 2},
    {"pinned": "perhaps"},
)
_SEARCHES: tuple[dict[str, Any], ...] = (
    {"query": "piano lesson", "top_k": 5},
    {"query": "visa for Kenya", "mode": "vector", "top_k": 4, "user_id": "alex"},
    {"query": "ERR_4012", "mode": "lexical", "top_k": 4, "explain": True},
    {"query": "night train", "profile": "conversation-recall", "top_k": 6, "explain": True},
    {"query": "hotel", "filters": {"kind": {"in": ["fact", "idea"]}, "confidence": {"gte": 0.5}}, "threshold": 0.3},
    {"query": "hotel", "filters": {"unknown": 1}},
    {"query": "hotel", "filters": {"metadata.importance": {"in": [1, 2]}}, "top_k": 5},
    {"query": "hotel", "profile": "absent"},
    {"query": "hotel", "mode": "nonsense"},
    {"query": "hotel", "top_k": 201},
    {"query": " "},
)


def link_memories(api: Endpoints) -> None:
    """Links, votes and the lists that show them."""
    source, target = api.material.memories[5], api.material.memories[9]
    body = {"source_id": source, "target_id": target, "kind": "follows"}
    link = api.send("POST", "links", body, label="link")["id"]
    api.send("POST", "links", body, "repeated")
    api.send("POST", "links", {**body, "target_id": source}, "to itself")
    for query in (*LIST_QUERIES, {"source_id": source}, {"target_id": target, "kind": "follows"}, {"kind": "No"}):
        api.send("GET", "links", query=query)
    api.send("GET", f"links/{link}")
    api.send("DELETE", f"links/{link}")
    vote = api.send(
        "POST", "feedback", {"memory_id": target, "feedback": "POSITIVE", "reason": "It helped."}, label="vote"
    )
    api.send("POST", "feedback", {"memory_id": target, "feedback": "POSITIVE", "reason": "It helped."}, "repeated")
    api.send("POST", "feedback", {"memory_id": target, "feedback": "GREAT"}, "unknown word")
    api.send("POST", "feedback", {"feedback": "POSITIVE"}, "of nothing")
    api.send("GET", f"memories/{target}/feedback")
    api.send("GET", f"feedback/{vote['results'][0]['id']}")
    api.send("DELETE", f"feedback/{vote['results'][0]['id']}")
    api.send("GET", f"memories/{target}/feedback", None, "withdrawn")


def give_contexts(api: Endpoints) -> None:
    """Contexts, receipts, replay, differences, outcomes."""
    body: dict[str, Any] = {"query": "What about the piano lesson?", "max_tokens": 400, "partition": "user=dana"}
    context = api.send("POST", "context", body, label="given")
    text = context["text"]
    for name, value in _BAD_CONTEXTS.items():
        api.send("POST", "context", {**body, **value}, f"bad {name}")
    api.send("GET", f"context/{context['id']}")
    api.send("GET", f"context/{context['id']}", query={"explain": "true"})
    for mode in ("recorded", "today", "tomorrow"):
        api.send("POST", f"context/{context['id']}/replay", {"mode": mode}, mode)
    api.send("POST", f"context/{context['id']}/outcome", {"answer": f"As noted: {text[60:400]}"})
    _sort_votes(api)
    api.send("POST", "feedback", {"context_id": context["id"], "feedback": "POSITIVE"}, "of a context")
    _sort_votes(api)
    changed = {**body, "max_tokens": 900}
    api.send("POST", "context/diff", {**changed, "since": {"context_id": context["id"]}})
    api.send("POST", "context/diff", {**changed, "since": {"as_of": api.labels.time(days=100)}}, "a time")
    api.send("POST", "context/diff", {**changed, "profiles": ["default", "wide"]}, "profiles")
    api.send("POST", "context/diff", {**changed, "since": {"snapshot": "no such"}}, "absent snapshot")
    wanted = next(each["anchor"]["id"] for each in context["blocks"] if each["anchor"]["type"] == "memory")
    api.send("POST", "context/explain", {**body, "memory_id": wanted}, "included")
    api.send("POST", "context/explain", {**body, "memory_id": wanted, "partition": "user=emeka"}, "elsewhere")
    api.send("POST", "context/explain", body, "without a memory")
    for query in (*LIST_QUERIES, {"q": "piano", "page_size": 5}, {"model": "gpt-4", "page_size": 5}):
        api.send("GET", "contexts", query=query)
    block = context["blocks"][0]["text"]
    api.send(
        "POST",
        "memories",
        {"content": block, "partition": "user=dana/topic=recalled"},
        "recalled text",
        label="recalled",
    )


def _sort_votes(api: Endpoints) -> None:
    """The votes on the memories of a context have no fixed order."""
    body = next(reversed(api.recorded.values()))["body"]
    for rows in (each for each in body.values() if isinstance(each, list)):
        rows.sort(key=lambda row: str(api.read(row, "memory_id") or row))


_BAD_CONTEXTS: dict[str, dict[str, Any]] = {
    "budget": {"max_tokens": 0},
    "huge budget": {"max_tokens": 10_000_000},
    "profile": {"profile": "absent"},
    "budget profile": {"budget_profile": "absent"},
    "packer": {"packer": "suitcase"},
    "ordering": {"ordering": "sideways"},
    "render": {"render": "yaml"},
    "levels": {"include_summaries_at": [99]},
    "top k": {"include_memories_top_k": -1},
    "as of": {"as_of": "yesterday"},
    "stable with": {"stable_with": "00000000-0000-4000-8000-000000000000"},
    "focus": {"focus": {"memory_id": None}},
    "absent focus": {"focus": {"memory_id": "00000000-0000-4000-8000-000000000000"}},
    "two foci": {"focus": {"memory_id": "00000000-0000-4000-8000-000000000000", "partition": "user=bo"}},
}


def write_places(api: Endpoints) -> None:
    """Memo, partitions, summaries, snapshots, keys."""
    api.send("GET", "memo")
    api.send("PUT", "memo", {"content": "We are a team of seven. Answer briefly, name the source."})
    api.send("POST", "partitions", {"partition": "team=new/project=x"})
    api.send("POST", "partitions", {"partition": "team=new/project=x"}, "repeated")
    for query in (*LIST_QUERIES, {"partition": "user=bo"}, {"partition": "nonsense"}):
        api.send("GET", "partitions", query=query)
    place = f"partitions/{segment('user=dana')}"
    api.send(
        "PUT", f"{place}/summaries", {"content": "Dana likes quiet rooms.", "style": "compact"}, label="dana-summary"
    )
    api.send("PUT", f"{place}/summaries", {"content": "Dana wants a quiet room.", "style": "compact"}, "changed")
    api.send("GET", f"{place}/summaries")
    api.send("GET", f"{place}/summaries", query={"versions": "true"})
    api.send("DELETE", f"{place}/summaries", query={"style": "compact"})
    rolled = api.send("POST", f"{place}/roll-up", {"style": "compact"})
    _follow(api, rolled)
    api.send("GET", f"{place}/summaries", None, "rolled up")
    snapshot = api.send("POST", "snapshots", {"name": "before the changes"}, label="snapshot")["id"]
    api.send("POST", "snapshots", {"name": "before the changes"}, "repeated")
    api.send("PATCH", f"memories/{api.material.memories[7]}", {"content": "Changed after the snapshot."}, "after")
    api.send("GET", "snapshots")
    api.send("GET", f"snapshots/{snapshot}")
    api.send("GET", f"snapshots/{snapshot}/compare")
    api.send("POST", "context/diff", {"query": "changed", "since": {"snapshot": "before the changes"}}, "snapshot")
    gone = api.send("POST", "snapshots", {"name": "to be deleted"}, label="snapshot-2")["id"]
    api.send("DELETE", f"snapshots/{gone}")
    _write_keys(api)


def _write_keys(api: Endpoints) -> None:
    made = api.client.call("POST", "/api/v1/keys", {"name": "robot", "scopes": ["read"]}, key=api.keys["admin"]).json()
    api.labels.name_literal(str(api.read(made, "key")), "secret-made")
    api.labels.name_literal(made["id"], "key-made")
    body = {"name": "second robot", "scopes": ["read", "write"], "partition": "user=chen"}
    content = api.send("POST", "keys", body, label="key-second")
    secret = str(api.read(content, "key"))
    for name, recorded in api.recorded.items():
        if "second robot" in str(recorded) and secret.partition(".")[2] in str(recorded):
            api.recorded[name]["body"] = {**recorded["body"], api.client.names.fields.get("key", "key"): "{secret}"}
    api.send("POST", "keys", {"name": "x", "scopes": ["fly"]}, "unknown scope")
    api.send("GET", "keys")
    api.send("GET", f"keys/{made['id']}")
    api.send("DELETE", f"keys/{made['id']}")


def _follow(api: Endpoints, accepted: Any) -> None:
    """Wait for the end of the work that a response named, then record it."""
    event = api.read(accepted, "event_id")
    if not event:
        return
    api.labels.name(event, f"event-{len(api.recorded)}")
    settle(api, accepted)
    api.send("GET", f"events/{event}")
    api.send("POST", f"events/{event}/retry")


STEPS = (
    store_memories,
    link_memories,
    give_contexts,
    write_places,
    write_budget_profiles,
    write_scoring_profiles,
    write_golden_questions,
    write_prompts,
    hold_sessions,
    spread_journal,
)
