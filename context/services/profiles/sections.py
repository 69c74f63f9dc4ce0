"""The budgets of the sections of a context, as a budget profile sets them (ADR-0064)."""

from collections.abc import Iterator, Mapping

from memories.services.store.drafts import FieldProblem

#: The sections of a context in order of importance; the last two belong to conversations.
SECTIONS = (
    "tenant_memo",
    "partition_summaries",
    "focus",
    "linked_memories",
    "memories",
    "session_summary",
    "recent_messages",
)
SECTION_TOKENS_MAX = 2_000_000
#: Shares are sums of entered numbers: thirds that add up to 1.0000000000000002 count as 1.
SHARE_TOLERANCE = 1e-9


def problems_of_sections(sections: object) -> list[FieldProblem]:
    """Return every problem of `{section: {"tokens": n} or {"share": 0..1}}`; none when it can be stored."""
    if not isinstance(sections, Mapping):
        return [_problem("not_an_object", "Section budgets must be an object of section names and limits.")]
    problems = [problem for name, budget in sections.items() for problem in _problems_of_budget(name, budget)]
    if not problems and sum(budget.get("share", 0.0) for budget in sections.values()) > 1 + SHARE_TOLERANCE:
        problems.append(_problem("shares_exceed_whole", "The shares of all sections together exceed 1."))
    return problems


def _problem(code: str, detail: str) -> FieldProblem:
    return FieldProblem("sections", code, detail)


def _problems_of_budget(name: object, budget: object) -> Iterator[FieldProblem]:
    if name not in SECTIONS:
        yield _problem("unknown_section", f"There is no section {str(name)[:40]!r}; known: {', '.join(SECTIONS)}.")
    elif not isinstance(budget, Mapping) or len(budget) != 1 or not set(budget) <= {"tokens", "share"}:
        yield _problem(
            "bad_section_budget", f'The budget of {name} must be {{"tokens": n}} or {{"share": 0..1}}, not both.'
        )
    elif "tokens" in budget and not (type(budget["tokens"]) is int and 0 <= budget["tokens"] <= SECTION_TOKENS_MAX):
        detail = f"The tokens of {name} are a whole number from 0 to {SECTION_TOKENS_MAX:,}."
        yield _problem("tokens_out_of_range", detail)
    elif "share" in budget and not (type(budget["share"]) in (int, float) and 0 <= budget["share"] <= 1):
        yield _problem("share_out_of_range", f"The share of {name} is a number from 0 to 1.")
