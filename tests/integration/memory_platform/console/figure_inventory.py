"""Figures that appear in several places: the query or column that computes each, and how each place shows it.

Add a line when a page, an endpoint or the metrics shows one of them as well.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.utils import timezone

from compaction.models import Compaction, Session
from compaction.pipeline.backlog import failed_run_backlogs, full_session_backlogs, review_backlogs
from context.evaluation.backlog import failed_evaluation_backlogs
from context.models import GoldenQuestion, Receipt
from context.profiles.budget_profiles import find_budget_profile
from context.receipts.queries import FAILURE_CODES
from memories.embeddings.status import failed_embedding_backlogs, waiting_embeddings
from memories.hygiene.findings import pair_backlogs
from memories.models import Memory, MemoryVersion, Partition, Snapshot, TenantMemo
from memories.services.store.moments import PointInTime
from memory_platform.console.action_items import action_items
from memory_platform.web.time_ranges import DEFAULT_SPAN
from tests.integration.memory_platform.console.figure_reading import (
    EXPECTING,
    Figure,
    FilledTenant,
    Read,
    answered,
    listed,
    measured,
    of_all_tenants,
    on,
    shown_milliseconds,
)

_ACTION_ITEMS = (
    *("reviews", "full sessions", "contradictions", "near-duplicates"),
    *("failed jobs", "failed evaluations", "failed embeddings"),
)
_HYGIENE = {"contradiction": "Contradictions", "near_duplicate": "Near-duplicates"}


def _contexts(column: str) -> Read:
    def read(filled: FilledTenant) -> float:
        rows = Receipt.objects.for_tenant(filled.tenant.pk)
        bins = rows.figures_by_bin(since=DEFAULT_SPAN.starts_at(timezone.now())[0], step=DEFAULT_SPAN.step)
        return float(sum(getattr(each, column) for each in bins.values()))

    return read


def _latency(percentile: int) -> Read:
    def read(filled: FilledTenant) -> float:
        values = _receipts_of_seven_days(filled).values_list("latency_ms", flat=True)
        return shown_milliseconds(float(np.percentile(list(values), percentile)))

    return read


def _receipts_of_seven_days(filled: FilledTenant) -> Any:
    since = DEFAULT_SPAN.starts_at(timezone.now())[0]
    return Receipt.objects.for_tenant(filled.tenant.pk).filter(created_at__gte=since)


def _latency_of_newest_interval(filled: FilledTenant) -> float:
    rows = Receipt.objects.for_tenant(filled.tenant.pk)
    bins = rows.figures_by_bin(since=DEFAULT_SPAN.starts_at(timezone.now())[0], step=DEFAULT_SPAN.step)
    return round(bins[max(bins)].p95_ms or 0.0, 1)


def _budget_used(filled: FilledTenant) -> float:
    rows = list(_receipts_of_seven_days(filled))
    return round(100 * sum(row.tokens_used for row in rows) / sum(row.budget["max_tokens"] for row in rows), 1)


def _excluded(filled: FilledTenant) -> float:
    rows = list(_receipts_of_seven_days(filled))
    excluded, included = sum(len(row.omitted) for row in rows), sum(len(row.blocks) for row in rows)
    return round(100 * excluded / (excluded + included), 1)


def _failed_contexts(filled: FilledTenant) -> int:
    return sum(any(each["code"] in FAILURE_CODES for each in row.warnings) for row in _receipts_of_seven_days(filled))


#: The last interval with contexts in the table of a latency chart.
_NEWEST_P95 = r": Latency Time p50 p95 .*UTC [\d,.]+ #(?= Budget used| \d+ \w{3} \d{4})"


def _memories_of_snapshot(filled: FilledTenant) -> float:
    moment = PointInTime.recorded(filled.row(Snapshot).recorded_at)
    rows = (model.objects.for_tenant(filled.tenant.pk).at(moment) for model in (Memory, MemoryVersion))
    return float(sum(each.row_count() for each in rows))


def _added_since_snapshot(filled: FilledTenant) -> float:
    counts = filled.json("snapshots/{Snapshot}/compare")["counts"]
    return float(counts["added"] - counts["removed"])


def _pairs(kind: str, noun: str) -> Figure:
    def length(found: Any) -> float:
        return next(float(each["count"]) for each in found["results"] if each["name"] == kind)

    return Figure(
        lambda filled: filled.count(pair_backlogs, kind, now=timezone.now()),
        {
            "all tenants": of_all_tenants(_HYGIENE[kind]),
            "overview": on("tenant-overview", f"# pairs? of {noun} memories"),
            "hygiene": on("hygiene", f"# {_HYGIENE[kind]}"),
            "API": answered("hygiene", length),
        },
    )


OF_TENANT: Mapping[str, Figure] = {
    "live memories": Figure(
        lambda filled: filled.tally.live,
        {
            "all tenants": of_all_tenants("Live memories"),
            "overview": on("tenant-overview", "Live memories # "),
            "partitions": on("partitions", r"whole tenant [\d,]+ partitions #"),
            "embeddings": on("embeddings", "of # live memories"),
            "snapshot": on("snapshot", "Today # memories", Snapshot),
            "API": answered(
                "partitions?page_size=200", lambda found: sum(row["memory_count"] for row in found["results"])
            ),
        },
    ),
    "tokens of live memories": Figure(
        lambda filled: filled.tally.tokens,
        {
            "all tenants": of_all_tenants("Tokens"),
            "overview": on("tenant-overview", "Stored text # tokens"),
            "partitions": on("partitions", r"whole tenant [\d,]+ partitions [\d,]+ (?:[\d,]+ here )?#"),
            "snapshot": on("snapshot", r"Today [\d,]+ memories, # tokens", Snapshot),
        },
    ),
    "live facts": Figure(
        lambda filled: dict(Memory.objects.for_tenant(filled.tenant.pk).live_kinds(timezone.now()))["fact"],
        {"overview": on("tenant-overview", "Browse .*?fact #"), "memories": on("memories", "fact #")},
    ),
    "pinned memories": Figure(
        lambda filled: filled.tally.pinned,
        {
            "overview": on("tenant-overview", "# pinned"),
            "partitions": on("partitions", r"whole tenant [\d,]+ partitions [\d,]+ (?:[\d,]+ here )?[\d,]+ #"),
        },
    ),
    "partitions": Figure(
        lambda filled: Partition.objects.for_tenant(filled.tenant.pk).without_root().row_count(),
        {
            "overview": on("tenant-overview", "# partitions,"),
            "partitions": on("partitions", "whole tenant # partitions"),
            "API": answered(
                "partitions?page_size=200", lambda found: sum(row["depth"] > 0 for row in found["results"])
            ),
        },
    ),
    "embedding backlog": Figure(
        lambda filled: filled.count(waiting_embeddings),
        {
            "overview": on("tenant-overview", "Embedding backlog # "),
            "jobs": on("jobs", "Embedding backlog # memor"),
            "embeddings": on("embeddings", "# versions? waits? for one"),
            "metrics": measured('memory_platform_backlog{kind="embeddings"}'),
        },
    ),
    "failed embeddings": Figure(
        lambda filled: filled.count(failed_embedding_backlogs),
        {
            "all tenants": of_all_tenants("Failed embeddings"),
            "overview": on("tenant-overview", "# memor(?:y has|ies have) no vector"),
            "overview, tile": on("tenant-overview", r"Embedding backlog [\d,]+ # failed"),
            "jobs": on("jobs", "# failed"),
            "embeddings": on("embeddings", "# texts? (?:was|were) rejected"),
            "memories": listed("memories", 'data-label="Confidence"', "state=failed"),
        },
    ),
    "memories at the time of a snapshot": Figure(
        _memories_of_snapshot,
        {
            "snapshot": on("snapshot", "Compare Before the sensor refit # memories", Snapshot),
            "API": lambda filled: filled.tally.live - _added_since_snapshot(filled),
        },
    ),
    "open sessions": Figure(
        lambda filled: Session.objects.for_tenant(filled.tenant.pk).open().row_count(),
        {
            "overview": on("tenant-overview", "Open sessions #"),
            "partitions": on("partitions", r"whole tenant [\d,]+ partitions (?:[\d,]+ (?:here )?)*?# memo"),
            "sessions": listed("sessions", 'data-label="Text tokens"', ""),
        },
    ),
    "full sessions": Figure(
        lambda filled: filled.count(full_session_backlogs),
        {
            "all tenants": of_all_tenants("Full sessions"),
            "overview": on("tenant-overview", "# sessions? above (?:its|their) warning"),
            "sessions": listed("sessions", 'data-label="Text tokens"', "state=over"),
            "alerts": on("alerts", "Full sessions # session"),
        },
    ),
    "reviews": Figure(
        lambda filled: filled.count(review_backlogs),
        {
            "all tenants": of_all_tenants("Reviews"),
            "overview": on("tenant-overview", "# summar(?:y waits|ies wait) for review"),
            "navigation": on("memo", "Reviews # waiting"),
            "reviews": on("reviews", "Waiting for review # compaction"),
            "compaction": on("compaction", "Review [0-9]+ of #", Compaction),
            "API": answered("compactions?to_review=true", lambda found: len(found["results"])),
            "metrics": measured('memory_platform_backlog{kind="reviews"}'),
        },
    ),
    "contradictions": _pairs("contradiction", "contradictory"),
    "near-duplicates": _pairs("near_duplicate", "near-duplicate"),
    "failed jobs": Figure(
        lambda filled: filled.count(failed_run_backlogs),
        {
            "all tenants": of_all_tenants("Failed jobs"),
            "overview": on("tenant-overview", "# compactions? (?:or|and) roll-ups? failed"),
            "jobs": listed("jobs", 'data-label="Attempts"', "kind=runs&state=failed"),
        },
    ),
    "failed evaluations": Figure(
        lambda filled: filled.count(failed_evaluation_backlogs),
        {
            "all tenants": of_all_tenants("Failed evaluations"),
            "overview": on("tenant-overview", "# evaluations? failed"),
            "jobs": listed("jobs", 'data-label="Attempts"', "kind=evaluation&state=failed"),
        },
    ),
    "attention": Figure(
        lambda filled: sum(item.backlog.count for item in action_items([filled.tenant.pk])[filled.tenant.pk]),
        {
            "all tenants": of_all_tenants("Attention"),
            "overview": lambda filled: sum(OF_TENANT[item].shown["overview"](filled) for item in _ACTION_ITEMS),
        },
    ),
    "contexts of seven days": Figure(
        _contexts("contexts"),
        {
            "overview": on("tenant-overview", "Contexts served # contexts"),
            "agents": on("agents", "Contexts served # contexts"),
            "agents, key": on("agents", "No API key #"),
        },
    ),
    "tokens of contexts of seven days": Figure(
        _contexts("tokens_used"),
        {
            "overview": on("tenant-overview", "Tokens served # tokens"),
            "agents": on("agents", "Tokens served # tokens"),
            "agents, key": on("agents", r"No API key .*? ms [\d,.]+ (?:ms|s) \d+ #"),
        },
    ),
    "median latency of contexts of seven days": Figure(
        _latency(50), {"agents": on("agents", r"No API key [\d,]+ [\d.]+ % [\d.]+ % # ms")}
    ),
    "95th percentile of the latency of contexts of seven days": Figure(
        _latency(95), {"agents": on("agents", r"No API key [\d,]+ [\d.]+ % [\d.]+ % [\d,.]+ ms # ms")}
    ),
    "95th percentile of the latency of the newest interval": Figure(
        _latency_of_newest_interval,
        {"overview": on("tenant-overview", _NEWEST_P95), "agents": on("agents", _NEWEST_P95)},
    ),
    "budget used of seven days": Figure(_budget_used, {"agents": on("agents", r"No API key [\d,]+ # %")}),
    "excluded items of seven days": Figure(_excluded, {"agents": on("agents", r"No API key [\d,]+ [\d.]+ % # %")}),
    "contexts with errors of seven days": Figure(
        _failed_contexts,
        {
            "agents": on("agents", "Errors # contexts"),
            "agents, key": on("agents", r"No API key .*? ms [\d,.]+ ms #"),
            "context log": listed("context-log", 'data-label="Latency"', "state=failed&range=7d"),
        },
    ),
    "golden questions": Figure(
        lambda filled: GoldenQuestion.objects.for_tenant(filled.tenant.pk).not_removed().row_count(),
        {
            "golden questions": on("golden-questions", "# questions. Publishing"),
            "budget curve": on("budget-curve", "Runs all # golden questions", query=EXPECTING),
            "embedding comparison": on("embedding-comparison", "your # golden questions"),
            "budget profile": on("budgets", "# golden questions, then recent"),
            "API": answered("golden-questions?page_size=200", lambda found: len(found["results"])),
        },
    ),
    "default budget": Figure(
        lambda filled: find_budget_profile(filled.tenant.pk, "workshop").default_tokens,
        {
            "budget profiles": on("budgets", "workshop # tokens"),
            "saved budget": on("budget-keep", "Now # tokens in workshop", query="budget_profile=workshop&query=x"),
            "API": answered("budget-profiles/workshop", lambda found: found["default_tokens"]),
        },
    ),
    "tokens of the memo": Figure(
        lambda filled: TenantMemo.objects.for_tenant(filled.tenant.pk).current().get().tokens_o200k_base,
        {
            "overview": on("tenant-overview", "Tenant memo # tokens"),
            "memo": on("memo", r"Version \d+, active # tokens"),
            "partitions": on("partitions", r"Tenant memo version \d+, # tokens", query="partition=agent%3Dsupport"),
            "API": answered("memo", lambda found: found["token_counts"]["o200k_base"]),
        },
    ),
}

#: The templates that show an attribute that is a figure; a new one needs a place above.
TEMPLATES: Mapping[str, set[str]] = {
    "usefulness_score": {
        *("context/feedback/memory_votes", "memories/store/_memory_facts", "memories/hygiene/_hygiene_findings"),
        *("memories/hygiene/_hygiene_pairs", "memories/hygiene/hygiene_effect"),
    },
    "retrieval_count": {
        *("context/feedback/memory_votes", "memories/store/_memory_facts", "memories/hygiene/_hygiene_findings"),
        *("memories/hygiene/_hygiene_pairs", "memories/hygiene/hygiene_effect"),
        *("memories/store/_memory_meta", "memories/store/_memory_row"),
    },
    "tokens_used": {
        *("context/receipts/agents", "context/receipts/context_log", "memory_platform/console/tenant_overview"),
    },
    "message_count": {
        *("compaction/pipeline/prompts", "compaction/sessions/_session_facts", "compaction/sessions/_timeline"),
        "compaction/sessions/sessions",
    },
    "context_tokens": {"compaction/sessions/sessions"},
    "default_tokens": {
        *("context/profiles/_budget_profile_versions", "context/profiles/budget_keep"),
        *("context/profiles/budget_profiles", "context/workbench/_workbench_controls"),
        *("context/workbench/explanation", "context/workbench/profiles_compare"),
    },
    "live_memory_ids": {
        *("context/evaluation/golden_question", "context/evaluation/golden_questions"),
        "context/workbench/_context_result",
    },
    "p50_ms": {"context/receipts/agents"},
    "p95_ms": {"context/receipts/agents"},
    "used_percent": {"context/receipts/agents"},
    "excluded_percent": {"context/receipts/agents"},
    "latency_ms": {"context/receipts/context_log"},
}
