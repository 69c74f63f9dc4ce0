"""Job notifications: the marker in a page, and the responses to polling."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compaction.models import Compaction, Run
from compaction.pipeline.orchestrator import run_compaction
from compaction.rollups.actions import request_roll_up
from compaction.rollups.rollups import run_roll_up
from context.models import EvaluationRun
from memories.models import EmbeddingModel, Memory, MissingVector, Partition, Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.jobs import WATCHED_MAX
from tests.integration.evaluation_helpers import requested
from tests.integration.page_helpers import TESTER, client_of, make_bakery_memories, page, text_of
from tests.integration.session_scripts import make_long_session, under_review

ADDRESS = reverse("job-notifications")


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def marks_of(response: Any) -> list[str]:
    """Return which jobs a page asks the browser to watch."""
    return re.findall(r'data-watch="([^"]+)"', text_of(response))


def poll_notifications(client: Client, *items: str) -> str:
    answer = client.get(ADDRESS, {"item": items})
    assert answer.status_code == 200
    return text_of(answer)


def name_of(kind: str, tenant: Tenant, row_id: object) -> str:
    return f"{kind}:{tenant.pk}:{row_id}:0"


def test_compaction_is_watched_until_it_is_done(client: Client, tenant: Tenant) -> None:
    under_review(tenant, has_journal=False)
    session = make_long_session(tenant)
    shown = client.post(page("session-compact", tenant, session.pk), follow=True)
    (mark,) = marks_of(shown)
    assert marks_of(client.get(page("session", tenant, session.pk))) == []
    assert "data-" not in poll_notifications(client, mark)
    with tenant_scope(tenant.pk):
        run = Run.objects.for_tenant(tenant.pk).get()
    run_compaction(tenant.pk, run.pk, now=timezone.now())
    for _ in range(2):  # polling changes nothing: what the browser does not record is sent again
        answer = poll_notifications(client, mark)
        assert f'data-finished="{mark}"' in answer
        assert "ready for review" in answer
        assert page("compaction", tenant, run.compaction_id) in answer


def test_failed_compaction_is_an_error_that_stays(client: Client, tenant: Tenant) -> None:
    client.post(page("session-compact", tenant, make_long_session(tenant).pk), follow=True)
    with tenant_scope(tenant.pk):
        run = Run.objects.for_tenant(tenant.pk).get()
        Run.objects.for_tenant(tenant.pk).with_id(run.pk).finish(
            "failed", timezone.now(), code="provider_away", detail="No answer."
        )
        Compaction.objects.for_tenant(tenant.pk).update(state="failed")
    answer = poll_notifications(client, name_of("compaction", tenant, run.pk))
    assert "flash-error" in answer
    assert "data-lasting" in answer
    (mark,) = marks_of(client.post(page("run-retry", tenant, run.pk), follow=True))
    assert "data-" not in poll_notifications(client, mark)


def test_roll_up_leads_to_its_summary(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    with tenant_scope(tenant.pk):
        partition = Partition.objects.for_tenant(tenant.pk).get(path="agent=service")
        run = request_roll_up(partition=partition, style="compact", by=TESTER, now=timezone.now())
    run_roll_up(tenant.pk, run.pk, now=timezone.now())
    answer = poll_notifications(client, name_of("roll_up", tenant, run.pk))
    assert "The compact summary of agent=service is regenerated." in answer
    assert f"{page('partitions', tenant)}?partition=agent%3Dservice" in answer


@pytest.mark.parametrize(("state", "is_failed"), [("done", False), ("failed", True), ("cancelled", False)])
def test_evaluation_is_reported_however_it_ends(state: str, is_failed: bool, client: Client, tenant: Tenant) -> None:
    run = requested(tenant, corpus_kind="updated_facts")
    item = name_of("evaluation", tenant, run.pk)
    assert "data-" not in poll_notifications(client, item)
    with tenant_scope(tenant.pk):
        EvaluationRun.objects.for_tenant(tenant.pk).with_id(run.pk).finish(state, timezone.now())
    answer = poll_notifications(client, item)
    assert page("evaluation", tenant, run.pk) in answer
    assert ("flash-error" in answer) == is_failed


def test_vectors_are_reported_when_none_is_missing(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    everything = name_of("embeddings", tenant, tenant.pk)
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).with_ids([memory.pk])
        rows.update(embedding_state="pending")
        model = EmbeddingModel.objects.for_tenant(tenant.pk).get()
        waiting = MissingVector.objects.create(tenant=tenant, model=model, memory=memory, version=1)
    items = [everything, name_of("embedding_model", tenant, model.pk)]
    assert "data-" not in poll_notifications(client, *items)
    with tenant_scope(tenant.pk):
        rows.update(embedding_state="failed")
        waiting.is_refused = True
        waiting.save()
    assert poll_notifications(client, *items).count("flash-error") == 2
    with tenant_scope(tenant.pk):
        rows.update(embedding_state="ready")
        waiting.delete()
    answer = poll_notifications(client, *items)
    assert "flash-error" not in answer
    assert answer.count("data-finished") == 2


def test_what_is_not_there_or_not_ones_own_is_forgotten(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    foreign = requested(other_tenant, corpus_kind="updated_facts")
    items = [
        name_of("evaluation", other_tenant, foreign.pk),
        name_of("evaluation", tenant, foreign.pk),
        name_of("compaction", tenant, uuid4()),
        f"nonsense:{tenant.pk}:{uuid4()}:0",
        f"evaluation:{tenant.pk}:x:0",
        '"><b>:',
    ]
    answer = poll_notifications(client, *items)
    assert answer.count("data-gone") == len(items)
    assert "data-finished" not in answer
    assert "<b>" not in answer


def test_asking_takes_no_message_and_is_bounded(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    run = requested(tenant, corpus_kind="updated_facts")
    client.post(page("evaluation-cancel", tenant, run.pk))
    item = name_of("evaluation", tenant, run.pk)
    with django_assert_max_num_queries(20) as few:
        poll_notifications(client, item)
    with django_assert_max_num_queries(len(few)):
        poll_notifications(client, *[f"{item}{number}" for number in range(3 * WATCHED_MAX)])
    assert "Evaluation cancelled." in text_of(client.get(page("evaluations", tenant)))


def test_signed_out_is_sent_to_sign_in_and_who_has_no_role_refused(db: None) -> None:
    assert Client().get(ADDRESS).status_code == 302
    nobody = User.objects.create_user("nobody", is_staff=True)
    assert client_of(nobody).get(ADDRESS).status_code == 403
