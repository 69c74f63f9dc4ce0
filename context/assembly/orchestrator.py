"""Assembles a context: resolve -> retrieve -> score -> pack -> order -> render -> count -> receipt (ADR-0094).

Slow work (embedding the query, searching) runs outside the scopes opened here. If a part fails, the caller gets a
context without it and a warning, never an exception; only an invalid request is refused.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from time import perf_counter

from django.db import Error as DatabaseFailure

from context.assembly.candidates import gather_candidates, plan_timings, plan_without_timings
from context.assembly.layout import (
    CONTEXT_SECTION_ORDER,
    MEMORIES_SECTION,
    TrimmedContext,
    build_layout,
    pack_sections,
    trim_blocks_to_budget,
)
from context.assembly.packing import unused_tokens_warning
from context.assembly.requests import STABLE_ORDERING, ResolvedContextRequest, resolve_context_request
from context.assembly.sources import ContextCaller, log_failure
from context.models import Receipt
from context.profiles.token_counters import budget_calculator
from context.receipts.results import (
    ALREADY_INCLUDED,
    MEMORY,
    Anchor,
    AssembledContext,
    Block,
    CandidateOutcome,
    ContextBudget,
    ContextRequest,
    ContextWarning,
    Exclusion,
    Section,
    SectionLimit,
)
from context.receipts.storing import build_receipt
from context.services.assembly.model_catalog import family_of
from context.services.budget import response_reserve
from context.services.packer import OVER_BUDGET
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS, item_overhead_tokens
from memories.models import AuditEntry
from memories.services.store.moments import TimeAxis
from memories.store.recall import record_retrieval_tick
from memories.tenancy.audit import record_search
from memories.tenancy.queries.prepared import send_now
from memories.tenancy.scopes import last_write_scope
from memory_platform.observability.metrics import record_context

RECEIPT_FAILED = ContextWarning(
    "receipt_failed", "The context could not be recorded, so it has no id and its retrievals are not counted."
)


def _since(start: float) -> float:
    return round((perf_counter() - start) * 1000, 3)


@dataclass
class StepTimer:
    """The duration of each step, in milliseconds."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] = _since(start)

    def timings(self) -> dict[str, float]:
        """Return the steps so far, and as `total` the time since the timer was made."""
        return self.milliseconds | {"total": _since(self.started)}


def assemble_context(request: ContextRequest, caller: ContextCaller, *, is_audited: bool = True) -> AssembledContext:
    """Return the context for `request`, from the rows that the caller reaches. Call with no scope open.

    Unless it is a preview, its receipt is stored and the packed memories count as retrieved; at a past time nothing is
    counted. The receipt's timings end before it is stored; those of the response include storing it. A preview leaves
    an entry in the audit log if it is for a person or a key and `is_audited`. Raises `InvalidInput`, `Forbidden` or
    `NotFound`, naming the field, for an invalid request before anything is searched.
    """
    timer, actor = StepTimer(), caller.actor
    with timer.step("resolve"):
        resolved = resolve_context_request(request, caller)
    context = assemble_resolved_context(resolved, timer)
    if not request.preview:
        if caller.api_key_id is None:
            context = context.changed(request={**context.request, "actor": {"kind": actor.kind, "label": actor.label}})
        with timer.step("receipt"):
            context = _record(context, resolved)
        context = context.changed(timings=timer.timings())
    elif is_audited and actor.kind != AuditEntry.ActorKind.SYSTEM:
        record_preview(context, caller)
    record_context(context.timings, tokens=context.budget.used, is_preview=request.preview)
    return context


def record_preview(context: AssembledContext, caller: ContextCaller) -> None:
    """Write the audit entry of a preview."""
    tenant_id, by, now, *_ = caller
    query, path, count = context.request["query"], context.request["partition"], len(context.blocks)
    record_search("preview_context", query, path, results=count, tenant_id=tenant_id, by=by, now=now)


def assemble_resolved_context(request: ResolvedContextRequest, timer: StepTimer | None = None) -> AssembledContext:
    """Return the context of a resolved request as a preview: nothing is stored or counted. Call with no scope open."""
    timer, calculator = timer or StepTimer(), budget_calculator()
    layout = build_layout(request)
    candidates = gather_candidates(request, layout.budget_of(MEMORIES_SECTION), timer.step, is_gated=True)
    plan = plan_without_timings(candidates.retrieval.plan)
    timer.milliseconds |= plan_timings(candidates.retrieval.plan)
    plan |= {"in_play_rows": len(candidates.memories)} if request.is_pool else {}
    with timer.step("pack"):
        sections = pack_sections(request, layout, candidates)
    with timer.step("render"):
        trimmed = trim_blocks_to_budget(sections, request)
    known_at = request.moment.at if request.moment.kind is TimeAxis.RECORDED else request.caller.now
    family, counter = family_of(request.model), calculator.measure("", request.model)
    reserved = response_reserve(family.context_window, family.max_output_tokens)
    return AssembledContext(
        id=None,
        text=trimmed.text,
        blocks=[block.as_known_at(known_at) for block in trimmed.blocks],
        omitted=_omitted(sections, trimmed, request),
        budget=ContextBudget(request.max_tokens, trimmed.tokens, reserved, counter.tokenizer, counter.exact),
        profile={"name": request.scoring.name, "version": request.scoring.version},
        budget_profile={"name": request.profile.name, "version": request.profile.version},
        warnings=[*candidates.notices, *_unused_room(sections, request)],
        candidates=_candidates(sections, trimmed.dropped),
        plan=plan,
        request=request.as_record(),
        created_at=request.caller.now,
        nonce_counter=trimmed.nonce_counter,
        stable_prefix_tokens=_stable_prefix_tokens(request, trimmed.text),
        optimality=next((section.optimality for section in sections if section.optimality is not None), None),
        scoring=request.scoring,
        minimum_score=request.packing.minimum_score,
        timings=timer.timings(),
    )


def _stable_prefix_tokens(request: ResolvedContextRequest, text: str) -> int | None:
    """Return the tokens of the common beginning: None without an earlier context, 0 if that is not verified."""
    earlier = request.sources.earlier
    if earlier is None or request.ordering != STABLE_ORDERING:
        return None
    if not earlier.is_verified:
        return 0
    pairs = zip(earlier.context.text, text, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return budget_calculator().count_tokens(text[:shared], request.model)


def _omitted(sections: Sequence[Section], trimmed: TrimmedContext, request: ResolvedContextRequest) -> list[Exclusion]:
    """Return the excluded items in order of importance, each once.

    An item that one section excludes and another includes is not excluded. A near duplicate of a block that was dropped
    at the end is over budget too. `tokens_missing` is set only where the whole budget, not the section's share or the
    elastic packer's target, excludes the item.
    """
    free = request.max_tokens - trimmed.tokens
    dropped = {block.anchor for block in trimmed.dropped}
    omitted = [
        omission.changed(reason=OVER_BUDGET, twin=None) if omission.twin in dropped else omission
        for section in sections
        for omission in section.omitted
    ]
    omitted += [block.left_out(OVER_BUDGET) for block in trimmed.dropped]
    kept = {block.anchor for block in trimmed.blocks}
    last = {row.anchor: row for row in omitted if row.reason == ALREADY_INCLUDED or row.anchor not in kept}
    fence_tokens, _ = EXPECTED_OVERHEAD_TOKENS[request.given.render]
    fence_left = fence_tokens if free == request.max_tokens else 0
    unpacked = request.max_tokens - fence_tokens - sum(section.tokens for section in sections)
    limits = _limits(sections, request)
    return [
        row
        if row.reason != OVER_BUDGET
        else row.changed(tokens_missing=max(_needed(row, request) + fence_left - free, 1))
        if row.anchor in dropped or _needed(row, request) > unpacked
        else row.changed(limit=limits.get(row.anchor))
        for row in last.values()
    ]


def _unused_room(sections: Sequence[Section], request: ResolvedContextRequest) -> list[ContextWarning]:
    marker_tokens = item_overhead_tokens(MEMORY, style=request.given.render, has_days=request.has_days)
    packed = zip(CONTEXT_SECTION_ORDER[-2:], sections[-2:], strict=True)
    warnings = [
        unused_tokens_warning(name.replace("_", " "), section, request.packing, marker_tokens)
        for name, section in packed
    ]
    return [warning for warning in warnings if warning is not None]


def _needed(row: Exclusion, request: ResolvedContextRequest) -> int:
    """Return the tokens of an item with its marker."""
    return row.tokens + item_overhead_tokens(row.anchor.type, style=request.given.render, has_days=request.has_days)


def _limits(sections: Sequence[Section], request: ResolvedContextRequest) -> dict[Anchor, SectionLimit]:
    """Return the limit of its section for each item that does not fit there; of two sections, the later one's."""
    return {
        row.anchor: SectionLimit(name, max(section.available, 0), request.max_tokens, section.tokens)
        for name, section in zip(CONTEXT_SECTION_ORDER, sections, strict=True)
        for row in section.omitted
        if section.tokens + _needed(row, request) > section.available
    }


def _candidates(sections: Sequence[Section], dropped: Sequence[Block]) -> list[CandidateOutcome]:
    if not dropped:
        return [candidate for section in sections for candidate in section.candidates]
    excluded = {block.anchor for block in dropped}
    excluded |= {omission.anchor for section in sections for omission in section.omitted if omission.twin in excluded}
    return [
        candidate.changed(outcome=OVER_BUDGET) if candidate.anchor in excluded else candidate
        for section in sections
        for candidate in section.candidates
    ]


def _record(context: AssembledContext, request: ResolvedContextRequest) -> AssembledContext:
    """Store the receipt, and count its memories as retrieved and their texts as rendered, in one statement."""
    texts = {block.anchor.id: block.text for block in context.blocks if block.anchor.type == MEMORY}
    tenant_id, api_key_id = request.caller.tenant_id, request.caller.api_key_id
    receipt = build_receipt(context, moment=request.moment, tenant_id=tenant_id, api_key_id=api_key_id)
    insertion = Receipt.objects.insertion(receipt)
    try:
        with last_write_scope(tenant_id, is_pipelined=True):
            if request.moment.reads_history:
                insertion.run()
            else:
                record_retrieval_tick(
                    tenant_id=tenant_id,
                    texts=texts,
                    ids=texts,
                    now=request.caller.now,
                    api_key_id=api_key_id,
                    partition_path=context.request["partition"],
                    segments=context.request["segments"],
                    beside=insertion,
                )
            send_now(is_last=True)
            _ = context.items  # the response is built while the receipt waits for the disk (ADR-0265)
    except DatabaseFailure as error:
        log_failure("receipt", error)
        return context.changed(warnings=[*context.warnings, RECEIPT_FAILED])
    return context.changed(id=receipt.id)
