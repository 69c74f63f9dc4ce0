"""A tenant with rows for every page: the demo, and rows that the demo lacks."""

from io import StringIO
from itertools import count
from typing import Any

from django.core.management import call_command
from django.utils import timezone

from compaction.alerts.actions import RuleSetting, add_alert_destination, request_test_delivery, set_alert_rules
from compaction.alerts.orchestrator import evaluate_alerts
from compaction.erasure.actions import request_erasure, set_retention_policy
from compaction.erasure.orchestrator import run_erasure
from compaction.models import AlertDestination, Compaction, Erasure, Session
from compaction.pipeline.actions import save_prompt
from compaction.pipeline.orchestrator import run_compaction
from compaction.review.actions import regenerate_compaction
from compaction.services.pipeline.prompts import PROMPT
from context.evaluation.actions.evaluations import request_evaluation
from context.evaluation.actions.golden_questions import collect_golden_question
from context.evaluation.runs import run_evaluation
from context.models import EvaluationRun, GoldenQuestion, Receipt, ScoringProfileVersion
from context.workbench.actions import store_long_query
from memories.embeddings import reembedding
from memories.embeddings.actions import start_reembedding
from memories.hygiene.maintenance import detect_pairs_in_batch, find_unused_and_expiring_memories
from memories.models import ApiKey, EmbeddingModel, Memory, MemoryPair, Snapshot, Tenant
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests.integration.scoring_helpers import prove

BY = Actor.system("tests")
TENANT = "Demo workshop"
SECOND_MODEL = "hashed-ngram-512"
#: The step exceeds the number of changes that a test makes to settings.
_REVISIONS = count(1_000, 1_000)


def load_demo_tenant(name: str = TENANT) -> Tenant:
    """Load the demo and the rows that it lacks."""
    call_command("load_demo", "--tenant", name, stdout=StringIO())
    tenant = find_demo_tenant(name)
    now = timezone.now()
    with tenant_scope(tenant.pk):
        wanted = Memory.objects.for_tenant(tenant.pk).filter(content__contains="ERR_4012", archived_at=None)
        wanted = wanted.order_by("content")[:2]  # the same ones each time
        collect_golden_question(
            tenant_id=tenant.pk,
            text="What does ERR_4012 mean?",
            memory_ids=[memory.pk for memory in wanted],
            by=BY,
            now=now,
        )
        store_long_query(tenant_id=tenant.pk, text="What does ERR_4012 mean? " * 200, by=BY, now=now)
        create_api_key(tenant=tenant, name="the shop", scopes=("read",), partition=None, by=BY, now=now)
        save_prompt(tenant_id=tenant.pk, text=PROMPT + "\nKeep it short.", by=BY, now=now)
        model = start_reembedding(tenant=tenant, model=SECOND_MODEL, switches_when_filled=False, by=BY, now=now)
        runs = [
            request_evaluation(
                tenant_id=tenant.pk, corpus_kind="golden", budgets=[250, 1000], is_enqueued=False, by=BY, now=now
            )
            for _ in range(2)
        ]
        draft = ScoringProfileVersion.objects.for_tenant(tenant.pk).named("support-recall").numbered(2).get()
        proposed = Compaction.objects.for_tenant(tenant.pk).filter(state=Compaction.State.PROPOSED).latest("created_at")
        set_retention_policy(tenant=tenant, partition="agent=shop", days=365, age_from="archived", by=BY, now=now)
        counted = request_erasure(
            tenant=tenant, partition="agent=support", is_dry_run=True, is_enqueued=False, by=BY, now=now
        )
        settings = {kind: RuleSetting(True, 1) for kind in ("contradictions", "full_sessions", "embedding_backlog")}
        set_alert_rules(tenant=tenant, settings=settings, by=BY, now=now)
        destination = add_alert_destination(
            tenant=tenant, kind="email", address="ops@example.com", sends_closing=True, by=BY, now=now
        )
        request_test_delivery(destination=destination, by=BY, now=now)
        regenerated = regenerate_compaction(compaction=proposed, is_enqueued=False, by=BY, now=now)
    prove(tenant, draft.numbers, at=now)
    run_compaction(tenant.pk, regenerated.pk, now=now)
    run_erasure(tenant.pk, counted.pk, now=now)
    run_evaluation(tenant.pk, runs[0].pk, now=now)
    reembedding.advance_embedding_model(tenant.pk, model.pk, can_continue=lambda: True, clock=timezone.now)
    while detect_pairs_in_batch(tenant.pk, now=now):
        pass
    find_unused_and_expiring_memories(now=now)
    evaluate_alerts(now=now)
    return tenant


def find_demo_tenant(name: str = TENANT) -> Tenant:
    with admin_write_scope():
        tenant: Tenant = Tenant.objects.get(name=name)
    return tenant


def copied_demo_tenant() -> Tenant:
    """Return the tenant of the demo with a revision that no other copy in this process has had.

    The process caches rows by tenant and revision, and all copies have the same tenant.
    """
    tenant = find_demo_tenant()
    with admin_write_scope():
        tenant.settings_revision += next(_REVISIONS)
        tenant.save(update_fields=["settings_revision"])
    return tenant


def console_page_ids(tenant: Tenant, username: str) -> dict[str, Any]:
    """Return the ids that `console_pages` needs: of each kind, the row with the most data."""
    with tenant_scope(tenant.pk):
        memory = Memory.objects.for_tenant(tenant.pk).get(content="Firmware 2.3.4 fixes ERR_4012.")
        compactions = Compaction.objects.for_tenant(tenant.pk)
        proposed = compactions.filter(state=Compaction.State.PROPOSED).latest("created_at")
        return {
            "tenant_id": tenant.pk,
            "memory_id": memory.pk,
            "finding_id": MemoryPair.objects.for_tenant(tenant.pk).filter(kind="near_duplicate").earliest("id").pk,
            "receipt_id": Receipt.objects.for_tenant(tenant.pk).latest("created_at").pk,
            "snapshot_id": Snapshot.objects.for_tenant(tenant.pk).earliest("recorded_at").pk,
            "model_id": EmbeddingModel.objects.for_tenant(tenant.pk).named(SECOND_MODEL).get().pk,
            "question_id": GoldenQuestion.objects.for_tenant(tenant.pk).latest("created_at").pk,
            "run_id": EvaluationRun.objects.for_tenant(tenant.pk).earliest("created_at").pk,
            "session_id": Session.objects.for_tenant(tenant.pk).latest("message_count").pk,
            "compaction_id": proposed.pk,
            "destination_id": AlertDestination.objects.for_tenant(tenant.pk).earliest("created_at").pk,
            "erasure_id": Erasure.objects.for_tenant(tenant.pk).latest("created_at").pk,
            "compaction-rollback.compaction_id": compactions.filter(state=Compaction.State.APPLIED)
            .latest("created_at")
            .pk,
            "prefix": ApiKey.objects.for_tenant(tenant.pk).latest("created").prefix,
            "username": username,
            "name": "near_duplicate",
            "budget.name": "workshop",
            "budget-rollback.name": "workshop",
            "budget-rename.name": "workshop",
            "scoring-profile.name": "conversation-recall",
            **{f"scoring-{act}.name": "support-recall" for act in ("publish", "rollback", "retire")},
            "version": 1,
            "scoring-publish.version": 2,  # which is evaluated together with the profile in use
            "message_id": proposed.session.messages.earliest("sequence").pk,
        }
