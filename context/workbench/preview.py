"""A preview: a context assembled as for an agent, joined with its rows. No receipt is stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from context.profiles.bars import TimedStep, WindowBar, timed_steps, window_bar
from context.profiles.budget_profiles import budget_profile_version
from context.profiles.scoring_profiles import scoring_profile_at
from context.profiles.token_counters import budget_calculator
from context.receipts.results import (
    LINKED_MEMORY,
    MEMORY,
    PARTITION_SUMMARY,
    TENANT_MEMO,
    Anchor,
    AssembledContext,
    Block,
    CandidateOutcome,
    Exclusion,
)
from context.services.assembly.optimality import Optimality
from context.services.assembly.profiled_scorer import MESSAGE_SHARE
from context.services.packer import AFTER_SKIP_LIMIT, OVER_BUDGET
from context.services.profiles.scoring_profiles import ADR_0040, ScoringProfile
from context.services.workbench.plan_text import PlanLine, plan_lines
from memories.models import Memory, PartitionSummary
from memories.search.queries.shared_results import shared_result
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

#: The names of the kinds of blocks that are not search results.
_KINDS = {TENANT_MEMO: "tenant memo", PARTITION_SUMMARY: "partition summary", LINKED_MEMORY: "linked memory"}


class AnchorRows(NamedTuple):
    """The current rows of anchors: memories and summaries by id."""

    memories: dict[str, Memory]
    summaries: dict[str, PartitionSummary]

    def of(self, anchor_id: str) -> dict[str, Any]:
        """Return the `memory` and the `summary` with an id, at most one of which is not None."""
        return {"memory": self.memories.get(anchor_id), "summary": self.summaries.get(anchor_id)}


@dataclass(frozen=True)
class IncludedRow:
    """An included block with its memory or summary (None for a memo), its candidate, and what superseded it."""

    block: Block
    found: CandidateOutcome | None
    memory: Memory | None
    summary: PartitionSummary | None
    is_focus: bool = False
    successor: Memory | None = None

    @property
    def place(self) -> int:
        return self.block.position + 1

    @property
    def kind(self) -> str:
        """The kind of the block for people; "" for a search result."""
        return "focus" if self.is_focus else _KINDS.get(self.block.kind, "")

    @property
    def whole_tokens(self) -> int | None:
        """Tokens of the whole text if the block is truncated."""
        return self.found.tokens if self.found and self.block.truncated else None


@dataclass(frozen=True)
class ExcludedRow:
    """An excluded item with its memory or summary, its candidate, the near-duplicate, and what superseded it."""

    exclusion: Exclusion
    found: CandidateOutcome | None
    memory: Memory | None
    summary: PartitionSummary | None
    twin: Memory | None
    successor: Memory | None

    @property
    def kind(self) -> str:
        return _KINDS.get(self.exclusion.anchor.type, self.exclusion.anchor.type)

    @property
    def is_for_the_budget(self) -> bool:
        """Whether a larger budget may include it."""
        return self.exclusion.reason in (OVER_BUDGET, AFTER_SKIP_LIMIT)


@dataclass(frozen=True)
class Preview:
    """An assembled context and the rows a page shows of it."""

    context: AssembledContext
    included: list[IncludedRow]
    excluded: list[ExcludedRow]
    scoring: ScoringProfile = ADR_0040
    minimum_score: float | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the score components for these candidates; of a calibrated profile its coefficients."""
        scored = self.context.candidates[0].score_breakdown if self.context.candidates else {}
        return self.scoring.numbers_for(scored.get(MESSAGE_SHARE, 0.0))

    @property
    def considered(self) -> int:
        return len(self.included) + len(self.excluded)

    @property
    def candidates(self) -> list[tuple[CandidateOutcome, str]]:
        """The candidates, each with its text; "" if no row of it is shown."""
        texts = {row.block.anchor.id: row.block.text for row in self.included}
        texts |= {row.exclusion.anchor.id: row.memory.content for row in self.excluded if row.memory}
        return [(each, texts.get(each.anchor.id, "")) for each in self.context.candidates]

    @property
    def sections(self) -> list[tuple[str, int]]:
        """Kind and tokens of each block, as the budget bar draws them."""
        return [(row.block.kind, row.block.tokens) for row in self.included]

    @property
    def highest_score(self) -> float:
        """The highest score, which fills a bar; 0 if nothing was scored."""
        scores = [row.block.score for row in self.included] + [row.exclusion.score for row in self.excluded]
        return max((score for score in scores if score is not None), default=0.0)

    @property
    def milliseconds(self) -> float:
        return self.context.timings.get("total", sum(self.context.timings.values()))

    @property
    def optimality(self) -> Optimality | None:
        """How the total score compares with the best possible one; None if nothing was scored."""
        figures = self.context.optimality
        bound = figures["upper_bound"] if figures else None
        if not figures or not bound:
            return None
        total = figures["total_score"] or 0.0
        return Optimality(
            total,
            figures["optimal_score"],
            bound,
            is_calibrated=self.scoring.is_calibrated,
            is_limited=any(row.exclusion.limit for row in self.excluded),
        )

    def window(self, directive: int = 0) -> WindowBar:
        """Return the model's window, with the tokens of the directive."""
        budget, model = self.context.budget, self.context.request["model"]
        calculator = budget_calculator()
        return window_bar(
            self.sections,
            used=budget.used,
            max_tokens=budget.max_tokens,
            window=calculator.context_window(model),
            reserve=budget.reserved,
            safety=calculator.safety_reserve(model),
            directive=directive,
        )

    @property
    def plan(self) -> list[PlanLine]:
        return plan_lines(self.context.plan)

    @property
    def steps(self) -> list[TimedStep]:
        return timed_steps(self.context.timings)


def build_preview(context: AssembledContext, tenant_id: UUID) -> Preview:
    """Return a context with the rows of its blocks and of what it excludes. Call it with no scope open."""
    return build_previews([context], tenant_id)[0]


def build_previews(
    contexts: Sequence[AssembledContext], tenant_id: UUID, *, with_excluded: bool = True
) -> list[Preview]:
    """Return contexts with the rows of their blocks and, with `with_excluded`, of what they exclude.

    Call it with no scope open.
    """
    anchors: list[Anchor] = []
    for context in contexts:
        anchors += [block.anchor for block in context.blocks]
        anchors += [exclusion.anchor for exclusion in context.omitted] if with_excluded else []
        anchors += [Anchor(MEMORY, row.superseded_by, 0) for row in context.candidates if row.superseded_by]
    with tenant_scope(tenant_id):
        rows = anchor_rows(anchors, tenant_id)
        # A receipt names its profile; the numbers are the current ones.
        scorings = [
            context.scoring or scoring_profile_at(tenant_id, context.profile["name"], context.profile["version"])
            for context in contexts
        ]
        minimum_scores = [_minimum_score(context, tenant_id) for context in contexts]
    return [
        _join_rows(context, rows, scoring, minimum_score)
        for context, scoring, minimum_score in zip(contexts, scorings, minimum_scores, strict=True)
    ]


def _join_rows(
    context: AssembledContext, rows: AnchorRows, scoring: ScoringProfile, minimum_score: float | None
) -> Preview:
    found = {candidate.anchor.id: candidate for candidate in context.candidates}
    focus = set((context.request.get("focus") or {}).values())
    successors = {
        each.anchor.id: rows.memories.get(each.superseded_by) for each in context.candidates if each.superseded_by
    }
    included = [
        IncludedRow(
            block,
            found.get(block.anchor.id),
            **rows.of(block.anchor.id),
            is_focus=block.anchor.id in focus,
            successor=successors.get(block.anchor.id),
        )
        for block in sorted(context.blocks, key=lambda block: block.position)
    ]
    excluded = [
        ExcludedRow(
            exclusion,
            found.get(exclusion.anchor.id),
            **rows.of(exclusion.anchor.id),
            twin=rows.memories.get(exclusion.twin.id) if exclusion.twin else None,
            successor=successors.get(exclusion.anchor.id),
        )
        for exclusion in context.omitted
    ]
    return Preview(context, included, excluded, scoring, minimum_score)


def _minimum_score(context: AssembledContext, tenant_id: UUID) -> float | None:
    """Return the least score that a memory needed; None for a receipt whose profile is no longer known."""
    if context.minimum_score is not None:
        return context.minimum_score
    named = context.budget_profile
    try:
        return budget_profile_version(tenant_id, named["name"], named["version"]).minimum_score
    except InvalidInput:
        return None


def anchor_rows(anchors: Iterable[Anchor], tenant_id: UUID) -> AnchorRows:
    """Return the current rows of anchors; inside a scope. At most two queries, for rows that the page has not read."""
    known: AnchorRows = shared_result(("anchor rows", tenant_id), lambda: AnchorRows({}, {}))
    ids: dict[str, set[str]] = {MEMORY: set(), PARTITION_SUMMARY: set()}
    for anchor in anchors:
        if anchor.type in ids:
            ids[anchor.type].add(anchor.id)
    memories = Memory.objects.for_tenant(tenant_id).with_ids(ids[MEMORY] - known.memories.keys())
    summaries = PartitionSummary.objects.for_tenant(tenant_id).latest_of(
        ids[PARTITION_SUMMARY] - known.summaries.keys()
    )
    known.memories.update({str(memory.id): memory for memory in memories})
    known.summaries.update({str(summary.summary_id): summary for summary in summaries})
    return known
