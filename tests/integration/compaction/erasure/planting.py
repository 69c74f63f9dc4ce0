"""Store a text in every place of a tenant that it can reach, and search for it in every table."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from compaction.models import CompactionMember, CompactionPrompt, RetentionPolicy, Run, Session
from context.models import (
    BudgetProfileAssignment,
    EvaluationRun,
    Feedback,
    GoldenMemory,
    GoldenQuestion,
    LongQuery,
    Receipt,
    ScoringProfileVersion,
)
from memories.models import (
    IdempotencyRecord,
    Memory,
    MemoryFinding,
    MemoryLink,
    MemoryPair,
    PartitionSummary,
    RecalledText,
    RetrievalTick,
    SavedView,
    Snapshot,
    StoredAct,
    Tenant,
    TenantMemo,
)
from memories.services.partitions.paths import parse_partition
from memories.store.actions.edit import update_memory
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import record_audit
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests.factories import TESTER, make_key, make_memory, reread_memory
from tests.sessions import new_compaction, new_message

#: One lower-case word: the same in texts, lexemes and paths.
CANARY = "zanzibarcanary"
PERSON = f"user={CANARY}"
FACT = f"The {CANARY} sings three songs before the sun comes up."
QUOTING = f"Others sleep late. {FACT} Nobody else does."
KEPT = "Others sleep late. [erased] Nobody else does."


def plant(tenant: Tenant) -> Memory:
    """Store the fact for a person, and everywhere that the platform may have copied it to."""
    memory = make_memory(tenant, FACT, partition=PERSON, is_embedded=True, metadata={"note": CANARY})
    other = make_memory(tenant, "Another memory of the same person.", partition=PERSON)
    make_memory(tenant, "Somebody else likes tea.", partition="user=sam", is_embedded=True)
    with tenant_scope(tenant.pk):
        now = timezone.now()
        memory = update_memory(
            memory=memory, changes={"content": f"{FACT} It is loud, says {CANARY}."}, by=TESTER, now=now
        )
        _plant_beside(tenant, memory, other)
        _plant_records(tenant, memory)
        _plant_texts(tenant)
        _plant_session(tenant, PERSON, 1)
        _plant_session(tenant, "", 2)
    return reread_memory(memory)


def _plant_beside(tenant: Tenant, memory: Memory, other: Memory) -> None:
    now, own = timezone.now(), {"tenant": tenant, "memory": memory}
    MemoryLink.objects.create(tenant=tenant, source=other, target=memory, kind="about", recorded_from=now)
    pair = {"kind": "near_duplicate", "older": memory, "newer": other, "texts_hash": "a", "found_at": now}
    MemoryPair.objects.create(tenant=tenant, **pair)
    MemoryFinding.objects.create(**own, kind="never_retrieved", weight=1, at=now, found_at=now)
    RecalledText.objects.create(**own, recalled_hash="b", recalled_at=now, context_partition=PERSON)
    RetrievalTick.objects.create(tenant=tenant, memory_ids=[memory.pk], recalled_hashes=["b"], at=now)
    StoredAct.objects.create(tenant=tenant, act="archive", at=now, archived_ids=[memory.pk])
    edit = {"id": str(uuid4()), "field": "text", "before": QUOTING, "after": "Who sleeps late?"}
    StoredAct.objects.create(tenant=tenant, act="change", at=now, changed=[edit])
    vote = {"kind": "explicit", "weight": 1.0, "at": now, "on_day": now.date(), "actor_kind": "system"}
    Feedback.objects.create(**own, reason=FACT, **vote)
    Feedback.objects.create(tenant=tenant, memory=make_memory(tenant, "Tea is hot."), reason=QUOTING, **vote)


def _plant_records(tenant: Tenant, memory: Memory) -> None:
    now = timezone.now()
    json: dict[str, Any] = {key: {} for key in ("profile", "budget_profile", "budget", "plan")}
    json |= {key: [] for key in ("blocks", "omitted", "candidates")}
    receipt = {"created_at": now, "tokens_used": 1, "text_sha256": "", **json}
    Receipt.objects.create(tenant=tenant, request={}, memory_ids=[memory.pk], **receipt)
    Receipt.objects.create(tenant=tenant, request={"query": QUOTING}, query=QUOTING, **receipt)
    Receipt.objects.create(tenant=tenant, request={"partition": PERSON}, partition_path=PERSON, **receipt)
    Receipt.objects.create(tenant=tenant, request={"query": "tea"}, query="tea", **receipt)
    question = GoldenQuestion.objects.create(tenant=tenant, text=f"Who is the {CANARY}?", created_at=now)
    GoldenMemory.objects.create(tenant=tenant, question=question, memory=memory)
    GoldenQuestion.objects.create(tenant=tenant, text="Who sings?", answer=FACT, created_at=now)
    LongQuery.objects.create(id=uuid4(), tenant=tenant, text=QUOTING, created_at=now)
    GoldenQuestion.objects.create(tenant=tenant, text="When?", partition_path=PERSON, created_at=now)
    key, _ = make_key(tenant)
    IdempotencyRecord.objects.create(
        tenant=tenant,
        api_key=key,
        idempotency_key="k",
        request_hash="h",
        status=201,
        answer={"body": {"id": str(memory.pk), "content": FACT}, "headers": {}},
        created_at=now,
    )
    record_audit("publish", "scoring_profile", ["x"], tenant_id=tenant.pk, reason=QUOTING, by=TESTER, now=now)
    record_audit("request_roll_up", "partition", [PERSON], tenant_id=tenant.pk, by=TESTER, now=now)


def _plant_texts(tenant: Tenant) -> None:
    now = timezone.now()
    text = {"content": QUOTING, "tokens_o200k_base": 99, "tokens_cl100k_base": 99, "recorded_from": now}
    places = ensure_partitions(tenant.pk, [parse_partition(PERSON), parse_partition("")])
    rows = PartitionSummary.objects
    rows.create(tenant=tenant, partition=places[PERSON], version=1, origin="operator", **text)
    rows.create(tenant=tenant, partition=places[""], version=1, origin="operator", **text)
    by_model = {"origin": "rollup", "summariser": "openai", "style": "detailed"}
    rows.create(tenant=tenant, partition=places[""], version=1, **by_model, **text | {"content": f"A bird: {CANARY}."})
    TenantMemo.objects.create(tenant=tenant, version=1, **text)
    view = {"tenant": tenant, "user": User.objects.create_user(f"owner of {uuid4()}"), "list": "memories"}
    for name, filters in (("words", {"q": QUOTING}), ("place", {"partition": PERSON}), (FACT[:60], {})):
        SavedView.objects.create(**view, name=name, filters=filters, created_at=now, deleted_at=now)
    Snapshot.objects.create(tenant=tenant, name=FACT, recorded_at=now, created_at=now)
    CompactionPrompt.objects.create(tenant=tenant, version=2, text=QUOTING, recorded_from=now)
    run = {"profile_name": "p", "profile_version": 1, "profile_numbers": {}, "packer": "greedy", "budgets": [100]}
    run |= {"corpus_kind": "upload", "corpus_name": "c", "corpus_sha256": "", "ordering": "top_down"}
    EvaluationRun.objects.create(tenant=tenant, corpus_text=QUOTING, created_at=now, **run)
    version = {"name": "own", "version": 1, "numbers": {}, "recorded_from": now}
    ScoringProfileVersion.objects.create(tenant=tenant, argument={"context": QUOTING}, **version)
    BudgetProfileAssignment.objects.create(tenant=tenant, profile_name="p", partition_path=PERSON, recorded_from=now)
    RetentionPolicy.objects.create(tenant=tenant, partition_path=PERSON, days=9, age_from="created", created_at=now)


def _plant_session(tenant: Tenant, path: str, number: int) -> Session:
    partition = ensure_partitions(tenant.pk, [parse_partition(path)])[path]
    columns: dict[str, Any] = {"directive": QUOTING, "metadata": {"title": FACT}}
    columns |= {"model": "gpt-4o", "max_context_tokens": 8000, "created_at": timezone.now()}
    session: Session = Session.objects.create(tenant=tenant, partition=partition, partition_path=path, **columns)
    message = new_message(session, content=QUOTING, source_id=f"m{number}", state="compacted", shown_tokens=0)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": FACT}}
    new_message(session, content="", role="assistant", sequence=1, tool_calls=[call])
    statement = {"text": FACT, "message_ids": [str(message.pk)]}
    texts = {"statements": [statement], "candidates": [statement], "journal": [{**statement, "memory_id": None}]}
    times = {"state": "applied", "compacted_at": timezone.now()}
    compaction = new_compaction(session, summary_text=QUOTING, retention={"kept": [statement]}, **texts, **times)
    summary = {"role": "system", "content": f"[CONTEXT SUMMARY]\n{QUOTING}", "compaction": compaction}
    new_message(session, sequence=None, **summary)
    CompactionMember.objects.create(
        tenant=tenant, compaction=compaction, message=message, act="compacted", previous_state="live"
    )
    run = {"kind": "compaction", "state": "done", "created_at": timezone.now()}
    Run.objects.create(tenant=tenant, session=session, compaction=compaction, **run)
    Session.objects.filter(pk=session.pk).update(current=compaction)
    synthesis = {"type": "context_synthesis", "session_id": str(session.pk)}
    make_memory(
        tenant, f"In short: {FACT}", partition=path, session=str(session.pk), metadata=synthesis, source_id=str(uuid4())
    )
    return session


def places_with(text: str) -> set[str]:
    """Return the tables with a row that contains the text in any column, as an admin sees them."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
    found = set()
    with admin_write_scope(), connections["default"].cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table} AS each WHERE each::text ILIKE %s)", [f"%{text}%"])
            if cursor.fetchone() == (True,):
                found.add(table)
    return found
