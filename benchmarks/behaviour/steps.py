"""The requests of part two, in order: later ones build on earlier ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.behaviour.corpus import messages
from benchmarks.behaviour.labels import segment

if TYPE_CHECKING:
    from benchmarks.behaviour.endpoints import Endpoints

PATIENCE_SECONDS = 60.0
LIST_QUERIES: tuple[dict[str, Any], ...] = (
    {},
    {"page_size": 3},
    {"page_size": 0},
    {"cursor": "nonsense"},
)


def store_memories(api: Endpoints) -> None:
    """Memories: create, repeat, read, change, archive, restore, list, search."""
    body = {"content": "Dana collects stamps of the 1970s.", "user_id": "dana", "kind": "preference"}
    body |= {"created_at": api.labels.time(days=433), "links": [{"target_id": api.material.memories[3]}]}
    first = api.send("POST", "memories", body, label="stamps")["id"]
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
    rows = [{"content": f"Bulk row {number}.", "user_id": "bulk"} for number in range(3)]
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
    {"ordering": "usefulness_score", "page_size": 5},
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
    """Links, votes and what lists them."""
    source, target = api.material.memories[5], api.material.memories[9]
    body = {"source_id": source, "target_id": target, "kind": "follows"}
    link = api.send("POST", "links", body, label="link")["id"]
    api.send("POST", "links", body, "repeated")
    api.send("POST", "links", {**body, "target_id": source}, "to itself")
    for query in (*LIST_QUERIES, {"source_id": source}, {"target_id": target, "kind": "follows"}, {"kind": "No"}):
        api.send("GET", "links", query=query)
    api.send("DELETE", f"links/{link}")
    vote = api.send(
        "POST", "feedback", {"memory_id": target, "feedback": "POSITIVE", "reason": "It helped."}, label="vote"
    )
    api.send("POST", "feedback", {"memory_id": target, "feedback": "GREAT"}, "unknown word")
    api.send("POST", "feedback", {"feedback": "POSITIVE"}, "of nothing")
    api.send("GET", f"memories/{target}/feedback")
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
    api.send("POST", "feedback", {"context_id": context["id"], "feedback": "POSITIVE"}, "of a context")
    changed = {**body, "max_tokens": 900}
    api.send("POST", "context/diff", {**changed, "since": {"context_id": context["id"]}})
    api.send("POST", "context/diff", {**changed, "since": {"as_of": api.labels.time(days=100)}}, "a time")
    api.send("POST", "context/diff", {**changed, "profiles": ["default", "wide"]}, "profiles")
    api.send("POST", "context/diff", {**changed, "since": {"snapshot": "no such"}}, "absent snapshot")
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
    api.send("DELETE", f"keys/{made['id']}")


def _follow(api: Endpoints, accepted: Any) -> None:
    """Wait for the end of the work that an answer named, then record it."""
    event = api.read(accepted, "event_id")
    if not event:
        return
    api.labels.name(event, f"event-{len(api.recorded)}")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        state = api.client.call("GET", f"/api/v1/events/{event}", key=api.keys["admin"]).text
        if not any(
            f'"{word}"' in state for word in ("queued", "pending", "running", "waiting", "requested", "claimed")
        ):
            break
        time.sleep(0.3)
    api.send("GET", f"events/{event}")
    api.send("POST", f"events/{event}/retry")


def write_budget_profiles(api: Endpoints) -> None:
    """Budget profiles: versions, assignments, comparison, roll-back."""
    body = {"name": "tight", "default_tokens": 900, "include_memories_top_k": 4, "ordering": "u_curve"}
    api.send("POST", "budget-profiles", body)
    api.send("POST", "budget-profiles", body, "repeated")
    for bad in (
        {"name": "No Slug"},
        {"name": "x", "minimum_score": 2},
        {"name": "x", "sections": {"attic": {"share": 1}}},
    ):
        api.send("POST", "budget-profiles", bad, "bad")
    api.send("GET", "budget-profiles")
    path = "budget-profiles/tight"
    api.send("GET", path)
    api.send("PATCH", path, {"default_tokens": 1000, "sections": {"memories": {"share": 0.5}}})
    api.send("PUT", path, {"default_tokens": 1200, "packer": "elastic", "compaction": {"target": 0.4}})
    api.send("GET", f"{path}/versions")
    api.send("GET", f"{path}/compare", query={"a": 1, "b": 3})
    api.send("GET", f"{path}/compare", query={"a": 1, "b": 1, "other": "wide"})
    api.send("GET", f"{path}/compare", query={"a": 1, "b": 99})
    api.send("POST", f"{path}/rollback", {"version": 1})
    api.send("POST", f"{path}/rollback", {"version": 77}, "absent")
    api.send("PUT", "budget-profiles/assignments", {"partition": "user=fatima", "budget_profile": "tight"})
    api.send("PUT", "budget-profiles/assignments", {"partition": "user=fatima", "budget_profile": "absent"}, "absent")
    for query in (*LIST_QUERIES, {"history": "true"}):
        api.send("GET", "budget-profiles/assignments", query=query)
    api.send("POST", "context", {"query": "night train", "user_id": "fatima", "preview": True}, "assigned profile")
    api.send("DELETE", "budget-profiles/assignments", query={"partition": "user=fatima"})


def write_scoring_profiles(api: Endpoints) -> None:
    """Scoring profiles: drafts, comparison, refused publishing, assignments."""
    weights = {"relevance": 0.7, "recency": 0.1, "usefulness": 0.1, "confidence": 0.1}
    api.send("POST", "profiles", {"name": "relevant", "weights": weights, "half_life_days": 30})
    for bad in (
        {"name": "x", "weights": {"relevance": 0.5}},
        {"name": "x", "weights": {"luck": 1}},
        {"name": "adr-0040"},
    ):
        api.send("POST", "profiles", bad, "bad")
    path = "profiles/relevant"
    api.send("GET", "profiles")
    api.send("GET", path)
    api.send("PATCH", path, {"mmr_diversity": 0.3, "half_life_days_by_kind": {"episode": 5}})
    api.send("GET", f"{path}/versions")
    api.send("GET", f"{path}/versions/1")
    api.send("GET", f"{path}/compare", query={"a": 1, "b": 1, "other": "adr-0040"})
    api.send("POST", f"{path}/publish", {"adr_reference": "ADR-0099"}, "without an evaluation")
    api.send("POST", f"{path}/retire", {"version": 1}, "of a draft")
    api.send("POST", f"{path}/rollback", {"version": 1}, "to a draft")
    api.send("PUT", "profiles/assignments", {"partition": "user=emeka", "profile": "conversation-recall"})
    api.send("PUT", "profiles/assignments", {"partition": "user=emeka", "profile": "relevant"}, "a draft")
    api.send("GET", "profiles/assignments")
    api.send("POST", "context", {"query": "night train", "user_id": "emeka", "preview": True}, "assigned scoring")
    api.send("POST", "context", {"query": "night train", "profile": "relevant", "preview": True}, "draft")
    api.send("DELETE", "profiles/assignments", query={"partition": "user=emeka"})


def write_prompts(api: Endpoints) -> None:
    """The prompt of summaries and its versions."""
    standard = api.send("GET", "prompts")
    text = str(api.read(standard, "text") or "Summarise the conversation.") + "\nName every train by its number."
    api.send("PUT", "prompts", {"text": text})
    api.send("PUT", "prompts", {"text": text + "\nAnd every price."}, "again")
    api.send("GET", "prompts", None, "changed")
    api.send("POST", "prompts/rollback", {"version": 1})
    api.send("POST", "prompts/rollback", {"version": 55}, "absent")


def hold_sessions(api: Endpoints) -> None:
    """Sessions and messages; two compactions that are reviewed and rolled back."""
    body = {
        "user_id": "bo",
        "model": "gpt-4o",
        "max_context_tokens": 6000,
        "directive": "Plan the trip.",
        "metadata": {"a": 1},
    }
    first = api.send("POST", "sessions", body, label="session-1")["id"]
    second = api.send("POST", "sessions", {**body, "user_id": "chen", "max_context_tokens": 9000}, label="session-2")[
        "id"
    ]
    third = api.send("POST", "sessions", {"metadata": {}}, "plain", label="session-3")["id"]
    for identifier in (first, second):
        _append(api, identifier)
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
    api.send("POST", "prompts/try", {"session_id": second, "text": "Summarise briefly."})
    _compact(api, first, second)
    api.send("POST", f"sessions/{third}/context", {"max_tokens": 500, "query": "train"}, "empty session")
    api.send("DELETE", f"sessions/{third}")
    api.send("POST", f"sessions/{third}/restore")
    api.send("GET", "compactions")
    api.send("GET", "compactions", query={"state": "applied"})


def _append(api: Endpoints, session: str) -> None:
    for start in (0, 30):
        answer = api.send(
            "POST", f"sessions/{session}/messages", {"messages": messages()[start : start + 30]}, f"{start}"
        )
        rows = api.read(answer, "results") or api.read(answer, "messages") or []
        for number, row in enumerate(rows):
            api.labels.name(row["id"], f"message-{number + start}-of-{api.labels.text(session).strip('{}')}")
    api.send("POST", f"sessions/{session}/messages", {"messages": [{"role": "ghost", "content": "Boo."}]}, "bad role")


def _compact(api: Endpoints, first: str, second: str) -> None:
    context = {"query": "Which train?", "max_tokens": 3000, "preview": True}
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
    api.send("POST", f"sessions/{second}/compact", {}, "without waiting")


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
    context = {"query": "Which train?", "max_tokens": 3000}
    for changes in (
        {},
        {"max_tokens": 800},
        {"render": "xml", "explain": True},
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
        _settle(api, answer)
        api.send("GET", path, None, f"after {action['action']}")
    api.send("GET", f"sessions/{session}/messages", query={"page_size": 60, "state": "live"})


def _settle(api: Endpoints, answer: Any) -> None:
    """Wait for the end of the work that a decision started."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    event = api.read(answer, "event_id")
    while event and time.monotonic() < deadline:
        state = api.client.call("GET", f"/api/v1/events/{event}", key=api.keys["admin"]).text
        if not any(
            f'"{word}"' in state for word in ("queued", "pending", "running", "waiting", "requested", "claimed")
        ):
            return
        time.sleep(0.3)


STEPS = (
    store_memories,
    link_memories,
    give_contexts,
    write_places,
    write_budget_profiles,
    write_scoring_profiles,
    write_prompts,
    hold_sessions,
)
