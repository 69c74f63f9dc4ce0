"""Texts that describe a retrieval plan and the timed steps of an assembly."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_MODES = {
    "hybrid": "vector and lexical",
    "vector": "vector",
    "lexical": "lexical",
    "newest": "none: the pinned memories, then the newest",
    "none": "none: no memories requested",
}
#: The parts of a plan in the order in which they run, with their labels and texts.
_PARTS = {
    "embed": ("Embedding model", "{model}"),
    "vector": ("Vector candidates", "{memories}, {search} search{reason}"),
    "lexical": ("Lexical candidates", "{memories}, by {stems}"),
    "pinned": ("Pinned", "{memories}"),
    "fused_rows": ("All candidates", "{memories}"),
    "gated_rows": ("Considered", "{memories}; best by rank"),
    "read": ("Read", "{memories}"),
    "beside": ("Adjacent turns", "{memories}, up to {messages} away"),
    "vectors": ("Vectors read", "of {memories}"),
    "in_play_rows": ("Scored", "{memories}, the best by score"),
}
#: Why the query planner chose a search; reasons of `memories.services.search.planner`.
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


class PlanLine(NamedTuple):
    """One line of a plan: a step and its result."""

    name: str
    text: str


def plan_lines(plan: Mapping[str, Any]) -> list[PlanLine]:
    """Return the lines of a plan. A part that is unknown here appears under its own name."""
    facts = [PlanLine("Searched", _MODES.get(plan.get("mode", ""), "–"))]
    if plan.get("failed"):
        facts.append(PlanLine("Outcome", "the search failed"))
    # A stored plan has no order.
    names = dict.fromkeys((*(name for name in _PARTS if name in plan), *plan))
    return facts + [_fact(name, plan[name]) for name in names if name not in ("mode", "failed")]


def step_label(step: str) -> str:
    """Return the label of a timed step."""
    return _STEPS.get(step, step.replace("_", " ").capitalize())


def _fact(name: str, entry: Any) -> PlanLine:
    part: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"rows": entry}
    if name not in _PARTS:
        words = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in part.items())
        return PlanLine(name.replace("_", " ").capitalize(), words if part is entry else str(entry))
    label, text = _PARTS[name]
    if part.get("failed"):
        return PlanLine(label, "did not answer")
    reason = SEARCH_PLAN_REASONS.get(part.get("reason", ""), "")
    values = {
        "memories": counted(part.get("rows", 0), "memory", "memories"),
        "stems": counted(part.get("lexemes", 0), "word stem", "word stems"),
        "messages": counted(part.get("reach", 0), "message", "messages"),
        "model": part.get("model", ""),
        "search": part.get("search", ""),
        "reason": f": {reason}" if reason else "",
    }
    return PlanLine(label, text.format(**values))


def counted(count: int, one: str, many: str) -> str:
    """Return the number with its noun: "1 memory", "1,200 memories"."""
    return f"{count:,} {one if count == 1 else many}"
