"""The requests of part two about budget profiles, scoring profiles and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.behaviour.conversations import LIST_QUERIES

if TYPE_CHECKING:
    from tests.behaviour.endpoints import Endpoints

_TEXT = "Travellers ask for trains by name, and recency hides them."
PUBLISH = {
    "argument": dict.fromkeys(("context", "decision", "consequences"), _TEXT),
    "reason": "The corpus is small, and the roll-back is one request.",
}


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
    api.send("GET", f"{path}/diff", query={"a": 1, "b": 3})
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
    api.send("GET", f"{path}/diff", query={"a": 1, "b": 1, "other": "adr-0040"})
    api.send("POST", f"{path}/publish", PUBLISH, "without an evaluation")
    api.send("POST", f"{path}/retire", {"version": 1}, "of a draft")
    api.send("POST", f"{path}/rollback", {"version": 1}, "to a draft")
    api.send("PUT", "profiles/assignments", {"partition": "user=emeka", "profile": "conversation-recall"})
    api.send("PUT", "profiles/assignments", {"partition": "user=emeka", "profile": "relevant"}, "a draft")
    api.send("GET", "profiles/assignments")
    api.send("POST", "context", {"query": "night train", "user_id": "emeka", "preview": True}, "assigned scoring")
    api.send("POST", "context", {"query": "night train", "profile": "relevant", "preview": True}, "draft")
    api.send("DELETE", "profiles/assignments", query={"partition": "user=emeka"})


def write_golden_questions(api: Endpoints) -> None:
    """Golden questions: collected, imported, changed, removed."""
    first, second = api.material.memories[:2]
    body = {"text": "Which train runs at night?", "memory_ids": [first], "category": "trains"}
    path = f"golden-questions/{api.send('POST', 'golden-questions', body, label='question')['id']}"
    api.send("POST", "golden-questions", body, "repeated")
    api.send("POST", "golden-questions/bulk", {"questions": [body, {"text": "No evidence?"}]})
    for query in (*LIST_QUERIES, {"removed": "true"}):
        api.send("GET", "golden-questions", query=query)
    api.send("PATCH", path, {"answer": "The night train."})
    api.send("PUT", f"{path}/memories/{second}")
    api.send("DELETE", f"{path}/memories/{second}")
    api.send("DELETE", f"{path}/memories/{first}", None, "the last one")
    api.send("DELETE", path)
    api.send("POST", f"{path}/restore")
    api.send("GET", path)
    api.send("POST", "evaluations", {"corpus": "golden", "profile": "nobody"}, "unknown profile")
    api.send("GET", "evaluations")


def write_prompts(api: Endpoints) -> None:
    """The prompt for summaries and its versions."""
    standard = api.send("GET", "prompts")
    text = str(api.read(standard, "text") or "Summarise the conversation.") + "\nName every train by its number."
    api.send("PUT", "prompts", {"text": text})
    api.send("PUT", "prompts", {"text": text + "\nAnd every price."}, "again")
    api.send("GET", "prompts", None, "changed")
    api.send("POST", "prompts/rollback", {"version": 1})
    api.send("POST", "prompts/rollback", {"version": 55}, "absent")


def publish_profile(api: Endpoints) -> None:
    """Publish a scoring profile that was evaluated, roll back to it, and retire it."""
    path = "profiles/relevant"
    api.send("POST", f"{path}/publish", PUBLISH)
    api.send("GET", path, None, "published")
    api.send("PATCH", path, {"mmr_diversity": 0.1}, "a new draft")
    api.send("POST", f"{path}/rollback", {"version": 2}, "to the published one")
    api.send("POST", f"{path}/retire", {"version": 2})
    api.send("POST", f"{path}/rollback", {"version": 2}, "to the retired one")
    api.send("POST", "context", {"query": "night train", "profile": "relevant", "preview": True}, "published profile")


def prepare_pages(api: Endpoints) -> None:
    """Make changes so that few rows of the first pages have equal times, whose order would depend on random ids.

    Makes as many changes as the first pages of the audit log show, and replaces the snapshots with one that differs by
    a single change.
    """
    key = api.keys["admin"]
    memories = [f"/api/v1/memories/{memory}" for memory in api.material.memories[60:220]]
    for number, path in enumerate(memories):
        api.client.call("PATCH", path, {"confidence": round(0.2 + number / 400, 4)}, key=key)
    for row in api.client.call("GET", "/api/v1/snapshots", key=key).json()["results"]:
        api.client.call("DELETE", f"/api/v1/snapshots/{row['id']}", key=key)
    snapshot = api.client.call("POST", "/api/v1/snapshots", {"name": "late"}, key=key).json()
    api.labels.name(snapshot["id"], "snapshot-late")
    api.client.call("PATCH", memories[0], {"content": "Changed after the late snapshot."}, key=key)
