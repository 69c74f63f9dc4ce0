"""The evidence of golden questions: all of it, and the part that is live at the time of the question."""

from datetime import timedelta

from django.utils import timezone

from context.models import GoldenQuestion
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.evaluation_helpers import golden
from tests.integration.page_helpers import make_bakery_memories

QUESTION = "What does ERR_4012 mean?"


def test_evidence_is_live_if_it_was_neither_archived_nor_expired_at_the_time_of_the_question(tenant: Tenant) -> None:
    kept, archived, expired, both = make_bakery_memories(tenant)[:4]
    golden(tenant, QUESTION, kept, archived, expired, both)
    now = timezone.now()
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk)
        rows.with_ids([archived.pk, both.pk]).update(archived_at=now)
        rows.with_ids([expired.pk, both.pk]).update(expires_at=now)
        questions = GoldenQuestion.objects.for_tenant(tenant.pk)
        present = questions.with_evidence(now).get()
        questions.update(as_of=now - timedelta(minutes=1))
        earlier = questions.with_evidence(now).get()
    every_id = {kept.pk, archived.pk, expired.pk, both.pk}
    assert set(present.memory_ids) == set(earlier.memory_ids) == every_id
    assert present.live_memory_ids == [kept.pk]
    assert (present.archived_count, present.expired_count) == (2, 1)
    assert set(earlier.live_memory_ids) == every_id
    assert (earlier.archived_count, earlier.expired_count) == (0, 0)


def test_question_without_memories_has_no_evidence(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        GoldenQuestion.objects.create(tenant=tenant, text=QUESTION, created_at=timezone.now())
        row = GoldenQuestion.objects.for_tenant(tenant.pk).with_evidence(timezone.now()).get()
    assert (row.memory_ids, row.live_memory_ids) == ([], [])
