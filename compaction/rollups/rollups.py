"""The orchestrator of roll-ups: a partition's summary from its memories and those below it (ADR-0074, ADR-0104)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.models import Run
from compaction.pipeline.drafting_input import DraftingError
from compaction.pipeline.fallback import SummariserWithFallback
from compaction.pipeline.orchestrator import DRAFTS_MAX, WORK_TIME_LIMIT, clock_from
from compaction.pipeline.summarisers import (
    Summariser,
    SummariserError,
    SummaryTask,
    configured_summariser,
    summary_model,
)
from compaction.services.pipeline.faithfulness import check_statements
from compaction.services.pipeline.prompts import ROLL_UP_PROMPT
from compaction.services.pipeline.statements.model import render_statements
from compaction.services.rollups.choice import StoredText, choose_texts
from compaction.services.sessions.turns import SessionTurn
from context.profiles.budget_profiles import budget_profile_for
from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.models import Memory, Partition, PartitionSummary, Tenant
from memories.partitions.actions import save_summary, withdraw_summary
from memories.services.partitions.paths import parse_partition
from memories.services.partitions.tree import parent_path
from memories.services.time_limits import TimeIsUpError, while_in_time, work_until
from memories.services.tokens import count_tokens
from memories.tenancy.audit import Actor
from memories.tenancy.claims import claim_in_turn
from memories.tenancy.exceptions import Conflict, PlatformError
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn

logger = logging.getLogger(__name__)

ROLL_UP = PartitionSummary.Origin.ROLL_UP
_BY = Actor.system("roll-up")
#: Memories of the partition itself that one roll-up reads: pinned ones, then the newest.
MEMORIES_READ_MAX = 1_000
#: The same for the partitions below it, for each of them and in total.
BELOW_READ_MAX, ALL_BELOW_READ_MAX = 20, 500
_LEASE = timedelta(minutes=5)
#: Time limit of the model.
MODEL_TIME_LIMIT = timedelta(minutes=2)
#: Partitions of a tenant that one sweep starts with, by style.
PARTITIONS_MAX = 200
CHILDREN_READ_MAX = 200


@dataclass(frozen=True)
class RollUpResult:
    """The active summary after a roll-up, and whether this run wrote or withdrew one."""

    summary: PartitionSummary | None
    is_new: bool
    dropped: int = 0


@dataclass(frozen=True)
class _WrittenRollUp:
    """The text of a summary, what wrote it, and how many statements of a model were dropped."""

    content: str
    summariser: str = ""
    is_fallback: bool = False
    dropped: int = 0


def open_roll_up(partition: Partition, style: str, requested_by: str, now: datetime) -> Run:
    """Return a queued run; inside a scope. `requested_by` is "" for the schedule. Raises `Conflict` if one is open."""
    try:
        with transaction.atomic():
            run: Run = Run.objects.create(
                tenant_id=partition.tenant_id,
                kind=Run.Kind.ROLL_UP,
                partition=partition,
                style=style,
                requested_by=requested_by[:150],
                created_at=now,
            )
    except IntegrityError as error:
        raise Conflict("already_running", "A roll-up of this summary is already running.") from error
    return run


def roll_up_changed_partitions(*, now: datetime) -> int:
    """Roll up changed partitions, the deepest first so that those above follow; return how many summaries changed."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.visible().values_list("pk", flat=True))
    return sum(_roll_up_tenant(tenant_id, now) for tenant_id in tenants_in_turn("roll-ups", tenant_ids))


def _roll_up_tenant(tenant_id: UUID, now: datetime) -> int:
    new = 0
    for style in PartitionSummary.Style.values:
        with tenant_scope(tenant_id):
            checked = Run.objects.for_tenant(tenant_id).last_roll_up(style)
            rows = Partition.objects.for_tenant(tenant_id).needing_summary(style, now, checked=checked)
            waiting = {row.path: row for row in rows[:PARTITIONS_MAX]}
        for _ in while_in_time(iter(waiting.__len__, 0)):
            deepest = max(waiting.values(), key=lambda row: (row.depth, row.path))
            del waiting[deepest.path]
            if _roll_up_by_schedule(deepest, style, now):
                new += 1
                waiting |= _above(deepest, style)
    return new


def _roll_up_by_schedule(partition: Partition, style: str, now: datetime) -> bool:
    with tenant_scope(partition.tenant_id):
        if not partition_policy(partition).has_roll_ups:
            return False
        try:
            run = open_roll_up(partition, style, "", now)
        except Conflict:
            return False
    done = run_roll_up(partition.tenant_id, run.pk, now=now)
    return done is not None and done.is_new


def _above(partition: Partition, style: str) -> dict[str, Partition]:
    """Return the partition one level up, unless people or agents wrote its summary; empty for the root."""
    parent = parent_path(partition.path)
    if not parent:
        return {}
    with tenant_scope(partition.tenant_id):
        summaries = PartitionSummary.objects.for_tenant(partition.tenant_id).current()
        if _is_written(summaries.of_partition(parent).of_style(style).first()):
            return {}
        return {row.path: row for row in Partition.objects.for_tenant(partition.tenant_id).at([parent])}


def _is_written(summary: PartitionSummary | None) -> bool:
    return summary is not None and summary.origin != ROLL_UP


def run_roll_up(tenant_id: UUID, run_id: UUID, *, now: datetime) -> RollUpResult | None:
    """Run one requested roll-up and store its result; None if another worker has it, it is done, or it must wait."""
    with tenant_scope(tenant_id):
        rows = Run.objects.for_tenant(tenant_id)
        if not claim_in_turn(rows, tenant_id, run_id, now=now, until=now + _LEASE):
            return None
        run = rows.get(pk=run_id)
    clock = clock_from(now)
    by = Actor.system(run.requested_by) if run.requested_by else _BY
    options: dict[str, Any] = {"replaces_written": by is not _BY, "by": by, "now": now}
    try:
        with work_until(lambda: clock() > now + WORK_TIME_LIMIT):
            done = roll_up_partition(tenant_id, run.partition_id, run.style, **options)
    except (PlatformError, TimeIsUpError) as error:
        code, detail = "time_limit", "It exceeded the worker's time limit."
        if isinstance(error, PlatformError):
            code, detail = error.code, "The summary could not be stored."
        logger.warning("roll-up failed: %s", code)
        with tenant_scope(tenant_id):
            rows.with_id(run_id).finish("failed", now, code=code, detail=detail)
        return None
    with tenant_scope(tenant_id):
        rows.with_id(run_id).finish("done", now, step=_outcome(done))
    return done


def _outcome(done: RollUpResult) -> str:
    if not done.is_new or done.summary is None:
        return "nothing changed"
    if done.summary.is_fallback:
        return "rolled up by rules"
    return f"rolled up, {done.dropped} dropped" if done.dropped else "rolled up"


def partition_policy(partition: Partition) -> CompactionPolicy:
    """Return the policy of a partition; inside a scope."""
    profile = budget_profile_for(partition.tenant_id, api_key_id=None, partition_path=partition.path)
    return profile.compaction_policy


def roll_up_partition(
    tenant_id: UUID, partition_id: int, style: str, *, replaces_written: bool = True, by: Actor = _BY, now: datetime
) -> RollUpResult:
    """Regenerate the partition's summary; with nothing left to summarise, withdraw it. Called with no scope open.

    The former summary is kept as a version. Unless `replaces_written`, text of people or agents is kept, even if they
    wrote it during the run. A deleted partition gets no summary. Raises `StaleVersion` if another summary became active
    at the same moment, and `Conflict` `busy` if the texts that it read were erased in each of `DRAFTS_MAX` attempts.
    """
    for _ in range(DRAFTS_MAX):
        with tenant_scope(tenant_id):
            partition = Partition.objects.for_tenant(tenant_id).filter(pk=partition_id).first()
            if partition is None:
                return RollUpResult(None, is_new=False)
            texts = [*_written_below(partition, style), *_memories(partition, now)]
            policy = partition_policy(partition)
        is_compact = style == PartitionSummary.Style.COMPACT
        budget = policy.roll_up_compact_tokens if is_compact else policy.roll_up_detailed_tokens
        written = _write(tenant_id, texts, budget, summary_model(DEFAULT_MODEL, policy.compaction_model), now)
        with tenant_scope(tenant_id):
            if _are_still_stored(tenant_id, texts):
                return _store(partition, style, written, replaces_written=replaces_written, by=by, now=now)
    raise Conflict("busy", "What the summary is made from was erased or rewritten repeatedly during the roll-up.")


def _are_still_stored(tenant_id: UUID, texts: Sequence[StoredText]) -> bool:
    """Return whether what a roll-up has read is still stored, and keep it until the transaction ends.

    An erasure can delete memories while a model summarises them; the summary would bring their content back. One that
    begins later finds the summary (`compaction.erasure`).
    """
    memory_ids = {UUID(text.id) for text in texts if text.day}
    written = {UUID(text.id): text.content for text in texts if not text.day}
    summaries = PartitionSummary.objects.for_tenant(tenant_id).current().filter(summary_id__in=written)
    contents = dict(summaries.locked().values_list("summary_id", "content"))
    return contents == written and Memory.objects.keep_stored(tenant_id, memory_ids) == memory_ids


def _store(
    partition: Partition, style: str, written: _WrittenRollUp, *, replaces_written: bool, by: Actor, now: datetime
) -> RollUpResult:
    """Make the text the active summary, or withdraw the former one if there is no text; inside a scope."""
    tenant_id = partition.tenant_id
    rows = PartitionSummary.objects.for_tenant(tenant_id).current().of_partition(partition.path)
    current = rows.of_style(style).first()
    if _is_written(current) and not replaces_written:
        return RollUpResult(current, is_new=False)
    if not written.content:
        if current is None or _is_written(current):
            return RollUpResult(None, is_new=False)
        withdraw_summary(summary=current, by=by, now=now)
        return RollUpResult(None, is_new=True)
    saved = save_summary(
        tenant=Tenant.objects.get(pk=tenant_id),
        partition=parse_partition(partition.path),
        style=style,
        content=written.content,
        origin=ROLL_UP,
        summariser=written.summariser,
        is_fallback=written.is_fallback,
        if_version=current.version if current else 0,
        by=by,
        now=now,
    )
    is_new = current is None or saved.pk != current.pk
    return RollUpResult(saved, is_new=is_new, dropped=written.dropped)


def _write(tenant_id: UUID, texts: Sequence[StoredText], budget: int, model: str, now: datetime) -> _WrittenRollUp:
    """Return the summary of the texts by the configured model, or by rules if there is none or it fails."""
    if not any(text.content.strip() for text in texts):
        return _WrittenRollUp("")
    turns = [_turn(text) for text in texts]
    task = SummaryTask(turns, (), budget, count_tokens, prompt=ROLL_UP_PROMPT, model=model)

    def request(summariser: Summariser, limit: float | None) -> _WrittenRollUp:
        if summariser.is_local:
            return _WrittenRollUp(_by_rules(texts, budget), summariser.name)
        summary = summariser.summarise(replace(task, time_limit_seconds=limit))
        checked = check_statements(summary.statements, turns)
        if not checked.kept:
            raise SummariserError("unsupported", "The memories support none of the model's statements.")
        lines = [statement.text for statement in checked.kept]
        dropped = summary.dropped + len(checked.flaws)
        if dropped:
            cited = {source for statement in checked.kept for source in statement.message_ids}
            available = budget - count_tokens("\n".join([*lines, ""]))
            lines += filter(None, [_by_rules([text for text in texts if text.id not in cited], available)])
        return _WrittenRollUp("\n".join(lines), summariser.name, dropped=dropped)

    with_fallback = SummariserWithFallback(tenant_id, clock_from(now), deadline=now + MODEL_TIME_LIMIT)
    try:
        written, by = with_fallback.call(request)
    except DraftingError as error:
        logger.warning("roll-up failed: %s", error.code)
        return _WrittenRollUp("")
    return replace(written, is_fallback=by.name != configured_summariser().name)


def _by_rules(texts: Sequence[StoredText], budget: int) -> str:
    return render_statements(choose_texts(texts, token_budget=budget, count_tokens=count_tokens)).strip()


def _turn(text: StoredText) -> SessionTurn:
    at = datetime.combine(text.day, time(), tzinfo=UTC) if text.day else None
    return SessionTurn(text.id, "user", text.content, count_tokens(text.content), created_at=at)


def _memories(partition: Partition, now: datetime) -> list[StoredText]:
    """Return memories of the partition and a few of each one below, oldest first, without summaries of sessions."""
    live = Memory.objects.for_tenant(partition.tenant_id).live(now).without_session_summaries()
    own = live.of_partition(partition.pk).pinned_and_newest(MEMORIES_READ_MAX)
    below = live.within(partition.path).exclude(partition_id=partition.pk)
    read = [*own, *below.pinned_and_newest_by_partition(BELOW_READ_MAX, ALL_BELOW_READ_MAX)]
    read.sort(key=lambda row: (row.created_at, str(row.pk)))
    return [StoredText(str(row.pk), row.content, row.created_at.date(), row.pinned) for row in read]


def _written_below(partition: Partition, style: str) -> list[StoredText]:
    """Return what people and agents wrote about the partitions one level below."""
    below = Partition.objects.for_tenant(partition.tenant_id).children_of(partition.path, partition.depth)
    rows = PartitionSummary.objects.for_tenant(partition.tenant_id).current().of_style(style)
    written = rows.of_partitions(below).written()[:CHILDREN_READ_MAX]
    return [StoredText(str(row.summary_id), row.content) for row in written]
