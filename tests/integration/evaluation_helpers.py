"""Helpers of the tests of evaluations: a small corpus as files, a run of it, and the rows that remain afterwards."""

import json
from collections.abc import Sequence
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from context.evaluation.actions.evaluations import request_evaluation
from context.evaluation.actions.golden_questions import collect_golden_question
from context.models import EvaluationAnswer, EvaluationRun, GoldenQuestion, Receipt
from memories.models import Memory, RecalledText, RetrievalTick, Tenant
from memories.services.partitions.paths import parse_partition
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, maintenance_scope, tenant_scope

TESTER = Actor.system("tests")

FACTS = [
    ("m1", "Alex bakes sourdough bread every Saturday morning.", "2026-01-05T08:00:00+00:00"),
    ("m2", "The oven of the bakery must be preheated to 250 degrees.", "2026-01-06T08:00:00+00:00"),
    ("m3", "Mina moved to Lisbon in the autumn.", "2026-01-07T08:00:00+00:00"),
    ("m4", "Mina moved on to Porto and sold the flat in Lisbon.", "2026-03-07T08:00:00+00:00"),
    ("m5", "The warehouse closes at six in the evening.", "2026-01-08T08:00:00+00:00"),
    ("m6", "Sam collects vintage motorcycles from Italy.", "2026-01-09T08:00:00+00:00"),
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "text": "When does Alex bake bread?", "evidence": ["m1"], "category": "habit", "answer": "Saturday"},
    {"id": "q2", "text": "How hot must the oven be?", "evidence": ["m2"], "category": "habit", "answer": "250"},
    {"id": "q3", "text": "Where does Mina live?", "evidence": ["m4"], "stale": ["m3"], "category": "place"},
    {
        "id": "q4",
        "text": "Where did Mina live?",
        "evidence": ["m3"],
        "category": "place",
        "asked_at": "2026-02-01T00:00:00Z",
    },
]


def memory_rows() -> list[dict[str, Any]]:
    return [{"id": key, "content": text, "created_at": at, "partition": "user=alex"} for key, text, at in FACTS]


def lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def corpus_folder(folder: Path, questions: Sequence[dict[str, Any]] = QUESTIONS) -> Path:
    """Write a corpus of six memories and, by default, four questions."""
    place = folder / "bakery"
    place.mkdir(exist_ok=True)
    (place / "memories.jsonl").write_text(lines(memory_rows()))
    (place / "questions.jsonl").write_text(lines(questions))
    return place


def evaluate(*arguments: object, **more: Any) -> str:
    """Return what the command prints."""
    out = StringIO()
    call_command("evaluate", *map(str, arguments), stdout=out, stderr=StringIO(), **more)
    return out.getvalue()


def evaluate_as_json(*arguments: object) -> dict[str, Any]:
    """Return the result of the command as data."""
    found: dict[str, Any] = json.loads(evaluate(*arguments, "--json"))
    return found


def requested(tenant: Tenant, **options: Any) -> EvaluationRun:
    """A run that waits for a worker."""
    values: dict[str, Any] = {"corpus_kind": "golden", "budgets": [250, 1000], "is_enqueued": False} | options
    with tenant_scope(tenant.pk):
        return request_evaluation(tenant_id=tenant.pk, **values, by=TESTER, now=timezone.now())


def stored_run(run_id: UUID | str) -> EvaluationRun:
    with admin_write_scope():
        run: EvaluationRun = EvaluationRun.objects.get(pk=run_id)
        return run


def answers_of(run_id: UUID | str) -> list[EvaluationAnswer]:
    with admin_write_scope():
        return list(EvaluationAnswer.objects.filter(run__pk=run_id).order_by("position"))


def golden(
    tenant: Tenant, text: str, *memories: Memory, partition: str = "", as_of: datetime | None = None
) -> GoldenQuestion:
    with tenant_scope(tenant.pk):
        return collect_golden_question(
            tenant_id=tenant.pk,
            text=text,
            partition=parse_partition(partition),
            memory_ids=[memory.pk for memory in memories],
            as_of=as_of,
            by=TESTER,
            now=timezone.now(),
        )


def stages() -> list[str]:
    """Return the hidden tenants of loaded corpora."""
    with maintenance_scope():
        return list(Tenant.objects.filter(name__startswith="~evaluation ").values_list("name", flat=True))


def counted_rows() -> dict[str, int]:
    """Return the rows that a counted context would have left, and the counters of all memories."""
    with admin_write_scope(), connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(sum(retrieval_count), 0) FROM memories_memory")
        return {
            "receipts": Receipt.objects.count(),
            "ticks": RetrievalTick.objects.count(),
            "recalled": RecalledText.objects.count(),
            "retrievals": int(cursor.fetchone()[0]),
        }
