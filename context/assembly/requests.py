"""Resolve a context request: validate it once, limit it to the key's reach and fill in every default."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from context.assembly.sources import ContextCaller, ContextSources, SourceReader, given_or_default
from context.models import BudgetProfile
from context.profiles.token_counters import budget_calculator
from context.receipts.request_body import PROFILE_FIELDS
from context.receipts.results import Anchor, ContextRequest, ContextWarning, Focus
from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.assembly.packing_settings import PackingSettings
from context.services.ordering import DEFAULT_ORDERING, ORDERINGS
from context.services.packer import ELASTIC, OPTIMAL, PACKERS
from context.services.profiles.fields import SUMMARY_LEVELS_MAX, TOP_K_MAX
from context.services.profiles.scoring_profiles import ScoringProfile
from context.services.rendering import RENDER_STYLES
from memories.models import PartitionSummary
from memories.services.partitions.paths import MAX_DEPTH, PartitionError, PartitionPath, is_within, parse_partition
from memories.services.store.content import ContentError, check_content
from memories.services.store.moments import PointInTime
from memories.store.search_scope import SearchScope
from memories.tenancy.exceptions import Forbidden, InvalidInput

MODEL_NAME_CHARACTERS = 200
STABLE_ORDERING, HEAD_TAIL = "stable", "head_tail"
EARLIER_UNVERIFIED = ContextWarning(
    "stable_with_unverified", "The earlier context cannot be reproduced, so a stable prefix is not guaranteed."
)
#: Fields that the budget profile or a default determines if a request omits them.
INCLUDE_FIELDS = (
    *("include_tenant_memo", "include_summaries_at", "include_linked_memories", "include_memories_top_k"),
    "include_memory_days",
)
OPTIONAL_FIELDS = ("max_tokens", *PROFILE_FIELDS, "summary_style", *INCLUDE_FIELDS)


@dataclass(frozen=True)
class ResolvedContextRequest:
    """A context request of a `caller` with every default filled in; `given` is the request as it came.

    `scope` are the rows that the search reads.

    `query` None: the partition's top `top_k` memories, or none if that is 0; with a query, `top_k` is None. With
    `has_days` the text gives the day of each memory.
    """

    given: ContextRequest
    caller: ContextCaller
    query: str | None
    partition: PartitionPath
    moment: PointInTime
    scope: SearchScope
    model: str
    max_tokens: int
    profile: BudgetProfile
    scoring: ScoringProfile
    packing: PackingSettings
    ordering: str
    top_k: int | None
    wants_linked: bool
    has_days: bool
    sources: ContextSources
    notices: Sequence[ContextWarning]
    previous: Sequence[Anchor] = field(default_factory=list)
    is_pool: bool = False  # the search returns a pool of candidates, which scores cut down to the budget

    def as_record(self) -> dict[str, Any]:
        """Return the inputs as a receipt stores them; `given` names those that no default filled in."""
        request, profile = self.given, self.profile
        part: dict[str, Any] = {} if request.shares_of is None else {"shares_of": request.shares_of}
        if request.already_shown:
            part["already_shown"] = [str(memory_id) for memory_id in request.already_shown]
        if request.session_id is not None:
            part["session_id"] = str(request.session_id)
        return {
            "query": self.query or "",
            "partition": self.partition.path,
            "exact": request.exact,
            "focus": None if request.focus is None else request.focus.as_record(),
            "segments": dict(request.segments),
            "max_tokens": self.max_tokens,
            "model": self.model,
            "profile": self.scoring.name,
            "budget_profile": profile.name,
            "packer": self.packing.packer,
            "ordering": self.ordering,
            "render": request.render,
            "summary_style": request.summary_style or profile.summary_style,
            "include_tenant_memo": given_or_default(request.include_tenant_memo, profile.include_tenant_memo),
            "include_summaries_at": list(given_or_default(request.include_summaries_at, profile.include_summaries_at)),
            "include_linked_memories": self.wants_linked,
            "include_memories_top_k": self.top_k,
            "include_memory_days": self.has_days,
            "as_of": None if request.as_of is None else request.as_of.isoformat(),
            "stable_with": None if request.stable_with is None else str(request.stable_with),
            "given": [
                *[name for name in OPTIONAL_FIELDS if getattr(request, name) not in (None, "")],
                *(["partition"] if request.focus is not None and request.partition is not None else []),
            ],
            **part,
        }


def resolve_context_request(request: ContextRequest, caller: ContextCaller) -> ResolvedContextRequest:
    """Return `request` with its defaults, from the tenant's rows in one short scope or from the cache.

    Raises `InvalidInput` naming the field, `Forbidden` for a partition outside of the caller's reach, `NotFound` for a
    focus or a `stable_with` outside of it.
    """
    calculator = budget_calculator()
    _check_choices(request)
    moment = _moment(request, caller.now)
    named = _named_partition(request, caller.reach)
    query = _query(request.query)
    model = request.model or DEFAULT_MODEL
    window = calculator.context_window(model)
    _check_range("max_tokens", request.max_tokens, window)
    sources = SourceReader(request, caller, named, moment).read()
    profile, partition = sources.profile, sources.partition or named
    packer = request.packer or profile.packer
    return ResolvedContextRequest(
        given=request,
        caller=caller,
        query=query,
        partition=partition,
        moment=moment,
        scope=SearchScope(caller.tenant_id, partition.path, moment, request.exact, request.segments),
        model=model,
        max_tokens=given_or_default(request.max_tokens, min(profile.default_tokens, window)),
        profile=profile,
        scoring=sources.scoring,
        packing=_packing(request, profile, packer, query),
        ordering=_ordering(request, profile, packer),
        top_k=None if query else _top_k(request, profile),
        wants_linked=given_or_default(request.include_linked_memories, profile.include_linked_memories),
        has_days=given_or_default(request.include_memory_days, profile.include_memory_days),
        sources=sources,
        notices=_notices(request, query, calculator.warnings_for(model), sources),
        previous=[block.anchor for block in sources.earlier.context.blocks] if sources.earlier else [],
        is_pool=query is not None and sources.scoring.pool_size > 0,
    )


def _check_choices(request: ContextRequest) -> None:
    _check_choice("render", request.render, RENDER_STYLES)
    _check_choice("ordering", request.ordering or DEFAULT_ORDERING, ORDERINGS)
    _check_choice("packer", request.packer or PACKERS[0], PACKERS)
    _check_choice("summary_style", request.summary_style or PartitionSummary.Style.COMPACT, PartitionSummary.Style)
    _check_range("include_memories_top_k", request.include_memories_top_k, TOP_K_MAX)
    levels, focus = request.include_summaries_at or (), request.focus
    if len(levels) > SUMMARY_LEVELS_MAX or not all(0 <= level < MAX_DEPTH for level in levels):
        detail = f"At most {SUMMARY_LEVELS_MAX} levels: whole numbers from 0, the first segment, to {MAX_DEPTH - 1}."
        raise InvalidInput("out_of_range", detail, "include_summaries_at")
    if focus is not None and len(focus.as_record()) != 1:
        raise InvalidInput("one_focus", "A focus must be exactly one of memory_id, summary_id and partition.", "focus")
    if focus is not None and focus.partition is not None and request.partition is not None:
        raise InvalidInput("given_twice", "Give either `partition` or a partition focus, not both.", "focus.partition")
    if len(request.model) > MODEL_NAME_CHARACTERS:
        raise InvalidInput("too_long", f"A model name can have at most {MODEL_NAME_CHARACTERS} characters.", "model")
    if (request.draft or request.scoring) and not request.preview:
        raise InvalidInput("draft_needs_preview", "A draft of a profile can only be previewed.", "preview")


def _check_choice(name: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise InvalidInput("invalid_choice", f"Known values: {', '.join(known)}.", name)


def _check_range(name: str, value: int | None, highest: int) -> None:
    if value is not None and not 1 <= value <= highest:
        raise InvalidInput("out_of_range", f"The number must be between 1 and {highest:,}.", name)


def _moment(request: ContextRequest, now: datetime) -> PointInTime:
    if request.moment is not None:
        return request.moment
    if request.as_of is None:
        return PointInTime.now(now)
    if request.as_of.utcoffset() is None:
        raise InvalidInput("no_offset", "The time must have a UTC offset, such as 2026-05-08T13:56:00Z.", "as_of")
    if request.as_of > now:
        raise InvalidInput("in_the_future", "The time must not be in the future.", "as_of")
    return PointInTime.valid(request.as_of)


def _named_partition(request: ContextRequest, reach: str) -> PartitionPath:
    """Return the partition that the request names, else all that the key reaches."""
    focus = request.focus or Focus()
    name = "partition" if focus.partition is None else "focus.partition"
    try:
        partition = parse_partition((request.partition if focus.partition is None else focus.partition) or reach)
    except PartitionError as error:
        raise InvalidInput(error.code, error.detail, name) from error
    if not is_within(partition.path, reach):
        raise Forbidden("outside_partition", "This key has no access to that partition.", name)
    return partition


def _query(query: str) -> str | None:
    text = query.strip()
    if not text:
        return None
    try:
        check_content(text)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, "query") from error
    return text


def _packing(request: ContextRequest, profile: BudgetProfile, packer: str, query: str | None) -> PackingSettings:
    """Return the settings of the budget profile; pinned memories are limited only if there is a query."""
    return PackingSettings(
        packer=packer,
        minimum_score=profile.minimum_score,
        target_items=profile.elastic_target_items,
        min_tokens=profile.elastic_min_tokens,
        max_tokens=profile.elastic_max_tokens,
        fills_budget=profile.elastic_fills_budget,
        pinned_share=1.0 if query is None else profile.pinned_share,
        is_explained=request.explain,
    )


def _ordering(request: ContextRequest, profile: BudgetProfile, packer: str) -> str:
    """Return the requested ordering, else that of the earlier context, else one that suits the packer."""
    if request.ordering:
        return request.ordering
    if request.stable_with is not None:
        return STABLE_ORDERING
    return HEAD_TAIL if packer == ELASTIC and profile.ordering == DEFAULT_ORDERING else profile.ordering


def _top_k(request: ContextRequest, profile: BudgetProfile) -> int:
    """Return how many memories a context without query includes: none by default if its focus is a row."""
    focus = request.focus or Focus()
    has_other_focus = focus.memory_id is not None or focus.summary_id is not None
    return given_or_default(request.include_memories_top_k, 0 if has_other_focus else profile.include_memories_top_k)


def _notices(
    request: ContextRequest, query: str | None, unknown_models: Sequence[str], sources: ContextSources
) -> list[ContextWarning]:
    notices = [ContextWarning("unknown_model", warning) for warning in unknown_models]
    if request.stable_with is not None and request.ordering not in ("", STABLE_ORDERING):
        notices.append(
            ContextWarning(
                "stable_with_unused", "`stable_with` is ignored: only the ordering `stable` keeps an earlier order."
            )
        )
    if query and request.include_memories_top_k is not None:
        notices.append(
            ContextWarning(
                "top_k_unused",
                "With a query, the budget limits the number of memories, so `include_memories_top_k` is ignored.",
            )
        )
    if (request.packer or sources.profile.packer) == OPTIMAL and not sources.scoring.is_calibrated:  # ADR-0043
        detail = (
            f"The scores of {sources.scoring.name} are not calibrated probabilities: their highest sum favours many "
            "short, weak memories over few strong ones. The greedy packer finds more evidence."
        )
        notices.append(ContextWarning("uncalibrated_profile", detail))
    unverified = [EARLIER_UNVERIFIED] if sources.earlier and not sources.earlier.is_verified else []
    return [*notices, *sources.notices, *unverified]
