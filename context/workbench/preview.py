"""A context to look at: assembled as an agent would get it, joined with the rows it came from. Nothing is stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.models import Receipt
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
    ContextRequest,
    Exclusion,
)
from context.services.assembly.optimality import Optimality
from context.services.packer import AFTER_SKIP_LIMIT, OVER_BUDGET
from context.services.profiles.scoring_profiles import ADR_0040, ScoringProfile
from context.services.workbench.plan_text import PlanLine, plan_lines
from memories.models import Memory, PartitionSummary
from memories.services.store.demo import demo_questions_for_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

_QUESTIONS_MAX = 6

# What a block is called where it is no memory that was searched for.
_KINDS = {TENANT_MEMO: "tenant memo", PARTITION_SUMMARY: "partition summary", LINKED_MEMORY: "linked memory"}


@dataclass(frozen=True)
class AnchorRows:
    """The current rows behind anchors: memories and summaries by id."""

    memories: Mapping[str, Memory]
    summaries: Mapping[str, PartitionSummary]


@dataclass(frozen=True)
class IncludedRow:
    """A packed block with its memory or summary (None for a memo) and how the search found it."""

    block: Block
    memory: Memory | None
    found: CandidateOutcome | None
    summary: PartitionSummary | None = None
    is_focus: bool = False

    @property
    def place(self) -> int:
        return self.block.position + 1

    @property
    def kind(self) -> str:
        """What the block is, in words; "" for a memory that was searched for."""
        return "focus" if self.is_focus else _KINDS.get(self.block.kind, "")

    @property
    def whole_tokens(self) -> int | None:
        """Tokens of the whole text where the block holds a part of it."""
        return self.found.tokens if self.found and self.block.truncated else None


@dataclass(frozen=True)
class ExcludedRow:
    """An item left out, with its memory or summary, how the search found it, and the memory that says the same."""

    omission: Exclusion
    memory: Memory | None
    found: CandidateOutcome | None
    summary: PartitionSummary | None = None
    twin: Memory | None = None

    @property
    def kind(self) -> str:
        return _KINDS.get(self.omission.anchor.type, self.omission.anchor.type)

    @property
    def is_for_the_budget(self) -> bool:
        """Whether a larger budget may let it in."""
        return self.omission.reason in (OVER_BUDGET, AFTER_SKIP_LIMIT)


@dataclass(frozen=True)
class Preview:
    """An assembled context and the rows a page shows of it."""

    context: AssembledContext
    kept: list[IncludedRow]
    left_out: list[ExcludedRow]
    scoring: ScoringProfile = ADR_0040
    minimum_score: float | None = None

    @property
    def weights(self) -> Mapping[str, float]:
        """What each part of a score weighs; of a calibrated profile its coefficients."""
        return self.scoring.weights if self.scoring.coefficients is None else self.scoring.coefficients

    @property
    def considered(self) -> int:
        """How many items were candidates: those kept and those left out."""
        return len(self.kept) + len(self.left_out)

    @property
    def candidates(self) -> list[tuple[CandidateOutcome, str]]:
        """What the search considered, each with its text; "" where no row of it is shown."""
        texts = {row.block.anchor.id: row.block.text for row in self.kept}
        texts |= {row.omission.anchor.id: row.memory.content for row in self.left_out if row.memory}
        return [(each, texts.get(each.anchor.id, "")) for each in self.context.candidates]

    @property
    def sections(self) -> list[tuple[str, int]]:
        """Kind and tokens of each block, as the budget bar draws them."""
        return [(row.block.kind, row.block.tokens) for row in self.kept]

    @property
    def highest_score(self) -> float:
        """The best score of all that was kept or left out, which fills a bar; 0 where nothing was scored."""
        scores = [row.block.score for row in self.kept] + [row.omission.score for row in self.left_out]
        return max((score for score in scores if score is not None), default=0.0)

    @property
    def milliseconds(self) -> float:
        """How long the whole assembly took."""
        return self.context.timings.get("total", sum(self.context.timings.values()))

    @property
    def optimality(self) -> Optimality | None:
        """How the choice compares with the best one, where any was scored."""
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
            is_limited=any(row.omission.limit for row in self.left_out),
        )

    def window(self, directive: int = 0) -> WindowBar:
        """The model's window, with what the directive takes of it."""
        budget, model = self.context.budget, self.context.request["model"]
        whole = budget_calculator().calculate(model)
        return window_bar(
            self.sections,
            used=budget.used,
            max_tokens=budget.max_tokens,
            window=whole.context_window,
            reserve=budget.reserved,
            safety=whole.safety_reserve_tokens,
            directive=directive,
        )

    @property
    def plan(self) -> list[PlanLine]:
        """What the search did, one line a step."""
        return plan_lines(self.context.plan)

    @property
    def steps(self) -> list[TimedStep]:
        """What took how many milliseconds, one after the other."""
        return timed_steps(self.context.timings)


@dataclass(frozen=True)
class PreviewChange:
    """What another budget or question would change: rows that come in, rows that fall out.

    `no_candidates` were kept or left out before and are not even considered afterwards.
    """

    added: list[IncludedRow]
    removed: list[IncludedRow]
    tokens: int = 0
    no_candidates: int = 0

    @property
    def is_none(self) -> bool:
        return not (self.added or self.removed or self.tokens)


def preview_context(wish: ContextRequest, *, tenant_id: UUID, actor: Actor, now: datetime) -> Preview:
    """Assemble `wish`, which must be a preview, with the tenant's whole reach. Called with no scope open."""
    if not wish.preview:
        raise ValueError("a page only previews")
    context = assemble_context(wish, tenant_id=tenant_id, reach="", actor=actor, now=now)
    return build_preview(context, tenant_id)


def build_preview(context: AssembledContext, tenant_id: UUID) -> Preview:
    """A context with the rows behind its anchors. Called with no scope open."""
    anchors = [block.anchor for block in context.blocks] + [omission.anchor for omission in context.omitted]
    with tenant_scope(tenant_id):
        rows = anchor_rows(anchors, tenant_id)
        scoring = context.scoring or _scoring_of(context, tenant_id)
        minimum_score = _minimum_score(context, tenant_id)
    found = {candidate.anchor.id: candidate for candidate in context.candidates}
    focus = set((context.request.get("focus") or {}).values())
    kept = [
        IncludedRow(
            block,
            rows.memories.get(block.anchor.id),
            found.get(block.anchor.id),
            rows.summaries.get(block.anchor.id),
            is_focus=block.anchor.id in focus,
        )
        for block in context.blocks
    ]
    left_out = [
        ExcludedRow(
            omission,
            rows.memories.get(omission.anchor.id),
            found.get(omission.anchor.id),
            rows.summaries.get(omission.anchor.id),
            None if omission.twin is None else rows.memories.get(omission.twin.id),
        )
        for omission in context.omitted
    ]
    return Preview(context, sorted(kept, key=lambda row: row.block.position), left_out, scoring, minimum_score)


def _scoring_of(context: AssembledContext, tenant_id: UUID) -> ScoringProfile:
    """The profile that a receipt names, in whatever state it is today."""
    return scoring_profile_at(tenant_id, context.profile["name"], context.profile["version"])


def _minimum_score(context: AssembledContext, tenant_id: UUID) -> float | None:
    """The least score that a memory needed; None for a receipt whose profile is not known any more."""
    if context.minimum_score is not None:
        return context.minimum_score
    named = context.budget_profile
    try:
        return budget_profile_version(tenant_id, named["name"], named["version"]).minimum_score
    except InvalidInput:
        return None


def compare_previews(before: Preview, after: Preview) -> PreviewChange:
    """What `after` holds that `before` does not, and the other way round, each in its own order."""
    was, becomes = ([row.block.anchor for row in preview.kept] for preview in (before, after))
    had, has = set(was), set(becomes)
    considered = [
        set(anchors).union(row.omission.anchor for row in preview.left_out)
        for anchors, preview in ((was, before), (becomes, after))
    ]
    return PreviewChange(
        added=[row for row in after.kept if row.block.anchor not in had],
        removed=[row for row in before.kept if row.block.anchor not in has],
        tokens=after.context.budget.used - before.context.budget.used,
        no_candidates=len(considered[0] - considered[1]),
    )


def anchor_rows(anchors: Iterable[Anchor], tenant_id: UUID) -> AnchorRows:
    """The rows behind anchors as they are today; inside a scope. Two queries."""
    ids: dict[str, set[str]] = {MEMORY: set(), PARTITION_SUMMARY: set()}
    for anchor in anchors:
        if anchor.type in ids:
            ids[anchor.type].add(anchor.id)
    memories = Memory.objects.for_tenant(tenant_id).with_ids(ids[MEMORY]) if ids[MEMORY] else []
    summaries = PartitionSummary.objects.for_tenant(tenant_id).latest_of(ids[PARTITION_SUMMARY])
    return AnchorRows(
        {str(memory.id): memory for memory in memories},
        {str(summary.summary_id): summary for summary in (summaries if ids[PARTITION_SUMMARY] else [])},
    )


@dataclass(frozen=True)
class RecentQuestion:
    """Something that was asked, and where."""

    query: str
    partition: str

    @property
    def query_string(self) -> str:
        """As the preview page's address takes it."""
        return urlencode({"query": self.query, "partition": self.partition})


def recent_questions(tenant_id: UUID) -> list[RecentQuestion]:
    """The latest different questions that agents asked, newest first; inside a scope."""
    rows = Receipt.objects.for_tenant(tenant_id).recent_questions(_QUESTIONS_MAX)
    return [RecentQuestion(query, partition) for query, partition in rows]


def demo_questions(tenant_name: str) -> list[RecentQuestion]:
    """What is worth asking of the demo tenant, for as long as nobody has asked; nothing for any other tenant."""
    return [RecentQuestion(query, partition) for query, partition in demo_questions_for_tenant(tenant_name)]
