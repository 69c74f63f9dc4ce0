"""How a context was found, in words: the search's plan and the steps that took time, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MODES = {
    "hybrid": "by meaning and by words",
    "vector": "by meaning",
    "lexical": "by words",
    "newest": "none: the pinned memories, then the newest",
    "none": "none: no memories were asked for",
}
#: Parts of a plan as they happen.
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
#: Why the vectors were searched as they were; reasons of `memories.services.search.plan`.
SEARCH_PLAN_REASONS = {
    "history": "former versions stand in no index",
    "no_index": "there is no index yet",
    "few_rows": "the scope is small",
    "shared_index": "the scope is a small part of the index",
    "many_rows": "the scope is large",
    "too_few_found": "the index found too few",
}
_STEPS = {
    "resolve": "Profile, memo, summaries",
    "embed": "Embedding the question",
    "vector": "Search by meaning",
    "lexical": "Search by words",
    "pinned": "Pinned memories",
    "read": "Reading the candidates",
    "beside": "Reading messages beside them",
    "vectors": "Reading their vectors",
    "retrieve": "The whole search",
    "linked": "Linked memories",
    "neighbours": "Links, near duplicates",
    "score": "Scoring",
    "likeness": "Near duplicates",
    "pack": "Packing",
    "render": "Ordering, rendering, counting",
    "receipt": "Writing the receipt",
    "total": "Total",
}


@dataclass(frozen=True)
class PlanLine:
    """One line: what, and what became of it."""

    name: str
    text: str


def plan_lines(plan: Mapping[str, Any]) -> list[PlanLine]:
    """What the search did. A part of the plan that is not known here is told by its own name."""
    facts = [PlanLine("Searched", _MODES.get(plan.get("mode", ""), "–"))]
    if plan.get("failed"):
        facts.append(PlanLine("Outcome", "the search failed"))
    # a stored plan has lost the order in which things happened
    known = [name for name in ORDER if name in plan]
    others = [name for name in plan if name not in (*ORDER, "mode", "failed")]
    return facts + [_fact(name, plan[name]) for name in (*known, *others)]


def step_label(step: str) -> str:
    """A step that took time, in words."""
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
                "Found by meaning", f"{_memories(rows)}, {search} search" + (f": {reason}" if reason else "")
            )
        case "lexical", {"rows": rows, "lexemes": stems}:
            return PlanLine("Found by words", f"{_memories(rows)}, by {_counted(stems, 'word stem')}")
        case "pinned", {"rows": rows}:
            return PlanLine("Pinned", _memories(rows))
        case "fused_rows", int():
            return PlanLine("Found in all", _memories(entry))
        case "gated_rows", int():
            return PlanLine("Considered", f"{_memories(entry)}, the best found")
        case "in_play_rows", int():
            return PlanLine("In play", f"{_memories(entry)}, the best by score")
        case "read", {"rows": rows}:
            return PlanLine("Read", _memories(rows))
        case "beside", {"rows": rows, "reach": reach}:
            return PlanLine("Beside them", f"{_memories(rows)}, up to {_counted(reach, 'message')} away")
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
