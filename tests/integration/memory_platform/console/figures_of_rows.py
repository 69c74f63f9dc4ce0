"""Figures of one row each: a memory, a context, a session, a compaction. See `figure_inventory`."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from compaction.models import Compaction, Erasure, Session
from context.evaluation.corpora import evaluation_corpus_from_golden_questions
from context.models import EvaluationRun, GoldenQuestion, Receipt
from memories.models import Memory, PartitionSummary
from memories.tenancy.scopes import tenant_scope
from tests.integration.memory_platform.console.figure_reading import (
    EXPECTING,
    Figure,
    FilledTenant,
    answered,
    cell,
    column,
    in_admin,
    on,
    percent,
    share_of,
    shown_milliseconds,
)
from tests.integration.page_helpers import page

#: A partition with one context in the last seven days.
_PARTITION = "agent=support/user=c-10482"


def _receipts_of_partition(filled: FilledTenant) -> Any:
    since = timezone.now() - timedelta(days=7)
    return Receipt.objects.for_tenant(filled.tenant.pk).filter(partition_path=_PARTITION, created_at__gte=since)


def _shares_in_log(filled: FilledTenant) -> float:
    used, allowed = (
        on("context-log", pattern, query=f"range=7d&partition={_PARTITION}")(filled)
        for pattern in ("# of [\\d,]+ tokens", "[\\d,]+ of # tokens")
    )
    return round(100 * used / allowed, 1)


def _excluded_on_receipt(filled: FilledTenant) -> float:
    with tenant_scope(filled.tenant.pk):
        row = _receipts_of_partition(filled).get()
    text = filled.html(page("receipt", filled.tenant, row.pk) + "?whole=1")
    found = re.search(r"(\d+)</span> of (\d+) items excluded|(\d+) of (\d+) items excluded", text)
    assert found
    excluded, considered = map(int, filter(None, found.groups()))
    return round(100 * excluded / considered, 1)


def _first_report(filled: FilledTenant) -> Any:
    return next(iter(filled.row(EvaluationRun).results.values()))["report"]["total"]


def _recall(measured: Mapping[str, Any]) -> float:
    return round(100 * measured["measures"]["recall"]["value"], 1)


def _evaluated_evidence(filled: FilledTenant) -> int:
    with tenant_scope(filled.tenant.pk):
        corpus = evaluation_corpus_from_golden_questions(filled.tenant.pk, now=timezone.now())
    (question,) = (each for each in corpus.golden if each.id == str(filled.ids["GoldenQuestion"]))
    return len(question.evidence)


OF_ROWS: Mapping[str, Figure] = {
    "usefulness": Figure(
        share_of(Memory, "usefulness_score"),
        {
            "memory": on("memory", "Usefulness # %", Memory),
            "Django admin": lambda filled: percent(in_admin("Usefulness score")(filled)),
            "votes": on("memory-votes", "usefulness # %", Memory),
            "API": answered("memories/{Memory}", lambda found: percent(found["usefulness_score"])),
        },
    ),
    "retrievals": Figure(
        column(Memory, "retrieval_count"),
        {
            "memory": on("memory", "Retrieved # times", Memory),
            "Django admin": in_admin("Retrieval count"),
            "votes": on("memory-votes", "Retrieved # times in all", Memory),
            "memories": cell("memories", "Retrieved", Memory, query="q=Firmware+2.3.4&by=words"),
            "API": answered("memories/{Memory}", lambda found: found["retrieval_count"]),
        },
    ),
    "tokens of a memory": Figure(
        column(Memory, "tokens_o200k_base"),
        {
            "memory": on("memory", "Tokens # o200k_base", Memory),
            "Django admin": in_admin("Tokens o200k base"),
            "memories": cell("memories", "Tokens", Memory, query="q=Firmware+2.3.4&by=words"),
            "API": answered("memories/{Memory}", lambda found: found["token_counts"]["o200k_base"]),
        },
    ),
    "confidence": Figure(
        share_of(Memory, "confidence"),
        {
            "memory": on("memory", "Confidence # %", Memory),
            "memories": cell("memories", "Confidence", Memory, query="q=Firmware+2.3.4&by=words"),
            "API": answered("memories/{Memory}", lambda found: percent(found["confidence"])),
        },
    ),
    "tokens of a context": Figure(
        column(Receipt, "tokens_used"),
        {
            "context log": cell("context-log", "Budget used", Receipt),
            "receipt": on("receipt", r"# of [\d,]+ tokens used", Receipt),
            "overview": on("tenant-overview", r"Latest contexts .*? # of [\d,]+ tokens"),
            "API": answered("context/{Receipt}", lambda found: found["budget"]["used"]),
        },
    ),
    "budget of a context": Figure(
        lambda filled: filled.row(Receipt).budget["max_tokens"],
        {
            "context log": cell("context-log", "Budget used", Receipt, "of #"),
            "receipt": on("receipt", r"[\d,]+ of # tokens used", Receipt),
            "overview": on("tenant-overview", r"Latest contexts .*? [\d,]+ of # tokens"),
            "API": answered("context/{Receipt}", lambda found: found["budget"]["max_tokens"]),
        },
    ),
    "blocks of a context": Figure(
        lambda filled: len(filled.row(Receipt).blocks),
        {
            "context log": cell("context-log", "Blocks", Receipt),
            "receipt": on("receipt", "tokens used # blocks", Receipt),
            "API": answered("context/{Receipt}", lambda found: len(found["blocks"])),
            "API, list": answered("contexts", lambda found: found["results"][0]["block_count"]),
        },
    ),
    "excluded items of a context": Figure(
        lambda filled: len(filled.row(Receipt).omitted),
        {
            "receipt": on("receipt", r"# of [\d,]+ items excluded", Receipt),
            "receipt, table": on("receipt", r"Excluded # of [\d,]+ items", Receipt),
            "API": answered("context/{Receipt}", lambda found: len(found["omitted"])),
        },
    ),
    "pressure": Figure(
        share_of(Session, "pressure"),
        {
            "sessions": cell("sessions", "", Session, r"# % [\d,]+ of [\d,]+ tokens"),
            "session": on("session", r"# % [\d,]+ of", Session),
            "reviews": cell("reviews", "Pressure", Compaction),
            "API": answered("sessions/{Session}", lambda found: percent(found["pressure"])),
        },
    ),
    "tokens that a session needs": Figure(
        column(Session, "needed_tokens"),
        {
            "sessions": cell("sessions", "", Session, r"\d % # of [\d,]+ tokens"),
            "session": on("session", r"% # of [\d,]+ tokens", Session),
            "API": answered("sessions/{Session}", lambda found: sum(found["pressure_parts"].values())),
        },
    ),
    "messages of a session": Figure(
        column(Session, "message_count"),
        {
            "sessions": cell("sessions", "Messages", Session),
            "session": on("session", "Messages # Opened", Session),
            "session, list": on("session", "of # messages, oldest first", Session),
            "API": answered("sessions/{Session}", lambda found: found["message_count"]),
        },
    ),
    "text tokens of a session": Figure(
        column(Session, "context_tokens"),
        {
            "sessions": cell("sessions", "Text tokens", Session),
            "API": answered("sessions/{Session}", lambda found: found["context_tokens"]),
        },
    ),
    "tokens after a compaction": Figure(
        column(Compaction, "tokens_after"),
        {
            "reviews": cell("reviews", "Tokens", Compaction, "→ #"),
            "compaction": on("compaction", r"[\d,]+ → # tokens", Compaction),
            "session": on("session", r"Compactions .*?[\d,]+ → # tokens", Session),
            "API": answered("compactions/{Compaction}", lambda found: found["tokens_after"]),
        },
    ),
    "retention": Figure(
        lambda filled: percent(filled.row(Compaction).retention["share"]),
        {
            "reviews": cell("reviews", "Facts retained", Compaction, "# %"),
            "compaction": on("compaction", "retained, # % by weight", Compaction),
            "API": answered("compactions/{Compaction}", lambda found: percent(found["retention"]["share"])),
        },
    ),
    "missing facts": Figure(
        lambda filled: len(filled.row(Compaction).retention["missing"]),
        {
            "reviews": cell("reviews", "Facts retained", Compaction, "# missing"),
            "compaction": on("compaction", "Missing # Messages", Compaction),
            "API": answered("compactions/{Compaction}", lambda found: found["retention"]["missing"]),
        },
    ),
    "questions of an evaluation": Figure(
        column(EvaluationRun, "total"),
        {
            "evaluations": cell("evaluations", "Questions", EvaluationRun),
            "evaluation": on("evaluation", "of # questions", EvaluationRun),
            "API": answered("evaluations/{EvaluationRun}", lambda found: found["total"]),
        },
    ),
    "recall of an evaluation": Figure(
        lambda filled: _recall(_first_report(filled)),
        {
            "evaluations": cell("evaluations", "Evidence included", EvaluationRun, "# %"),
            "evaluation": on("evaluation", "Time p95 .*? tokens # %", EvaluationRun),
            "API": answered("evaluations/{EvaluationRun}", lambda found: _recall(found["results"][0])),
        },
    ),
    "latency of a context": Figure(
        lambda filled: shown_milliseconds(filled.row(Receipt).latency_ms),
        {
            "context log": cell("context-log", "Latency", Receipt, "# ms"),
            "receipt": on("receipt", "items excluded · # ms", Receipt),
            "API, list": answered("contexts", lambda found: shown_milliseconds(found["results"][0]["latency_ms"])),
        },
    ),
    "latency of the only context of a partition": Figure(
        lambda filled: shown_milliseconds(_receipts_of_partition(filled).get().latency_ms),
        {
            "agents, p50": on("agents", f"{_PARTITION} 1 .*? % .*? % # ms", query="by=partition"),
            "agents, p95": on("agents", f"{_PARTITION} 1 .*? % .*? % .*? ms # ms", query="by=partition"),
            "context log": on("context-log", r"of [\d,]+ tokens \d+ # ms", query=f"range=7d&partition={_PARTITION}"),
        },
    ),
    "budget used by the only context of a partition": Figure(
        lambda filled: round(100 * (row := _receipts_of_partition(filled).get()).tokens_used / row.max_tokens, 1),
        {
            "agents": on("agents", f"{_PARTITION} 1 # %", query="by=partition"),
            "context log": _shares_in_log,
        },
    ),
    "items excluded from the only context of a partition": Figure(
        lambda filled: round(
            100 * len((row := _receipts_of_partition(filled).get()).omitted) / (len(row.omitted) + len(row.blocks)),
            1,
        ),
        {
            "agents": on("agents", f"{_PARTITION} 1 .*? % # %", query="by=partition"),
            "receipt": _excluded_on_receipt,
        },
    ),
    "95th percentile of the time of an evaluation": Figure(
        lambda filled: round(_first_report(filled)["milliseconds_p95"], 1),
        {"evaluation": on("evaluation", r"Time p95 [\d,]+ tokens .*? ms # ms", EvaluationRun)},
    ),
    "expected memories of a golden question": Figure(
        lambda filled: filled.row(GoldenQuestion).evidence.count(),
        {
            "golden questions": cell("golden-questions", "Memories", GoldenQuestion, "of #"),
            "golden question": on("golden-question", "Expected memories # memories,", GoldenQuestion),
            "budget curve": on("budget-curve", "expects # memories,", query=EXPECTING),
            "saved question": on("budgets", "expects # memories,"),
            "workbench": on("context-preview", "golden question, # memories,", query=EXPECTING),
            "API": answered("golden-questions/{GoldenQuestion}", lambda found: len(found["memory_ids"])),
        },
    ),
    "live expected memories of a golden question": Figure(
        lambda filled: filled.row(GoldenQuestion).memories.live(timezone.now()).count(),
        {
            "golden questions": cell("golden-questions", "Memories", GoldenQuestion),
            "golden question": on("golden-question", r"Expected memories \d+ memories, # live", GoldenQuestion),
            "budget curve": on("budget-curve", r"expects \d+ memories, # live", query=EXPECTING),
            "saved question": on("budgets", r"expects \d+ memories, # live"),
            "workbench": on("context-preview", r"golden question, \d+ memories, # live", query=EXPECTING),
            "evaluation": _evaluated_evidence,
            "API": answered("golden-questions/{GoldenQuestion}", lambda found: len(found["live_memory_ids"])),
        },
    ),
    "tokens of a partition summary": Figure(
        column(PartitionSummary, "tokens_o200k_base"),
        {
            "partitions": on("partitions", "agent=field-service .*?compact(?:, outdated)? #,"),
            "partition": on(
                "partitions", r"Compact summary version \d+, # tokens", query="partition=agent%3Dfield-service"
            ),
        },
    ),
    "rows of an erasure": Figure(
        column(Erasure, "total"),
        {
            "erasures": cell("erasures", "Rows", Erasure),
            "erasure": on("erasure", "done # rows", Erasure),
            "API": answered("erasures/{Erasure}", lambda found: sum(found["expected"].values())),
        },
    ),
}
