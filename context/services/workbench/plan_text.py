"""Texts that describe a retrieval plan and the timed steps of an assembly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MODES = {
    "hybrid": "vector and lexical",
    "vector": "vector",
    "lexical": "lexical",
    "newest": "none: the pinned memories, then the newest",
    "none": "none: no memories requested",
}
#: Parts of a plan in the order they run.
ORDER = (
    "embed",
    "vector",
    "lexical",
    "pinned",
    "fused_rows",
    "gated_rows",
    "read",
    "beside",
    "vectors",
    "in_play_rows",
)
#: Why the query planner chose a search; reasons of `memories.services.search.plan`.
SEARCH_PLAN_REASONS = {
    "history": "past versions are not indexed",
    "no_index": "no index yet",
    "few_rows": "the scope is small",
    "shared_index": "the scope is a small part of the index",
    "many_rows": "the scope is large",
    "too_few_found": "the index found too few",
}
_STEPS = {
    "resolve": "Profile, memo, summaries",
    "embed": "Embed query",
    "vector": "Vector search",
    "lexical": "Lexical search",
    "pinned": "Pinned memories",
    "read": "Read candidates",
    "beside": "Read adjacent turns",
    "vectors": "Read vectors",
    "retrieve": "Retrieval",
    "linked": "Linked memories",
    "neighbours": "Links, near-duplicates",
    "score": "Scoring",
    "likeness": "Near-duplicates",
    "pack": "Packing",
    "render": "Order, render, count",
    "receipt": "Store receipt",
    "total": "Total",
}


@dataclass(frozen=True)
class PlanLine:
    """One line of a plan: a step and its result."""

    name: str
    text: str


def plan_lines(plan: Mapping[str, Any]) -> list[PlanLine]:
    """Return the lines of a plan. A part that is unknown here appears under its own name."""
    facts = [PlanLine("Searched", _MODES.get(plan.get("mode", ""), "–"))]
    if plan.get("failed"):
        facts.append(PlanLine("Outcome", "the search failed"))
    # A stored plan has no order.
    known = [name for name in ORDER if name in plan]
    others = [name for name in plan if name not in (*ORDER, "mode", "failed")]
    return facts + [_fact(name, plan[name]) for name in (*known, *others)]


def step_label(step: str) -> str:
    """Return the label of a timed step."""
    return _STEPS.get(step, step.replace("_", " ").capitalize())


def _fact(name: str, entry: Any) -> PlanLine:
    match name, entry:
        case "embed", {"failed": True}:
            return PlanLine("Embedding model", "did not answer")
        case "embed", {"model": model}:
            return PlanLine("Embedding model", model)
        case "vector", {"rows": rows, "search": search}:
            reason = SEARCH_PLAN_REASONS.get(entry.get("reason", ""), "")
            return PlanLine(
                "Vector candidates", f"{_memories(rows)}, {search} search" + (f": {reason}" if reason else "")
            )
        case "lexical", {"rows": rows, "lexemes": stems}:
            return PlanLine("Lexical candidates", f"{_memories(rows)}, by {_counted(stems, 'word stem')}")
        case "pinned", {"rows": rows}:
            return PlanLine("Pinned", _memories(rows))
        case "fused_rows", int():
            return PlanLine("All candidates", _memories(entry))
        case "gated_rows", int():
            return PlanLine("Considered", f"{_memories(entry)}; best by rank")
        case "in_play_rows", int():
            return PlanLine("Scored", f"{_memories(entry)}, the best by score")
        case "read", {"rows": rows}:
            return PlanLine("Read", _memories(rows))
        case "beside", {"rows": rows, "reach": reach}:
            return PlanLine("Adjacent turns", f"{_memories(rows)}, up to {_counted(reach, 'message')} away")
        case "vectors", {"rows": rows}:
            return PlanLine("Vectors read", f"of {_memories(rows)}")
    return PlanLine(name.replace("_", " ").capitalize(), _plain(entry))


def _plain(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {part}" for name, part in entry.items())
    return str(entry)


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
