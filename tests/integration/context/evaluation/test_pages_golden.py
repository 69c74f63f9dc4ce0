"""Golden questions on the console: collected on the preview, changed, removed, exported; the budget curve."""

import json
import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from context.models import GoldenMemory, GoldenQuestion
from context.services.evaluation.corpus import read_corpus
from memories.models import AuditEntry, Memory, Tenant
from memories.services.partitions.paths import parse_partition
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.tables import TABLE_PAGE_SIZE
from tests.integration.evaluation_helpers import TESTER, counted_rows, evaluate_as_json, golden
from tests.integration.page_helpers import client_of, make_bakery_memories, page, text_of, undo_of
from tests.users import new_operator

QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def memories(tenant: Tenant) -> list[Memory]:
    return make_bakery_memories(tenant)


def wanted(tenant: Tenant) -> dict[str, set[Any]]:
    with tenant_scope(tenant.pk):
        rows = GoldenQuestion.objects.for_tenant(tenant.pk).not_removed()
        return {row.text: set(row.evidence.values_list("memory_id", flat=True)) for row in rows}


def collect(client: Client, tenant: Tenant, memory: object, text: str = QUESTION, **more: str) -> Any:
    form = {"text": text, "partition": "", "memory": str(memory), "back": f"query={text}&whole=1", **more}
    return client.post(page("golden-collect", tenant), form, follow=True)


def test_empty_page_explains_where_to_begin(client: Client, tenant: Tenant) -> None:
    assert "No golden questions yet" in text_of(client.get(page("golden-questions", tenant)))


def test_preview_offers_to_note_what_should_be_there(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    preview = text_of(client.get(page("context-preview", tenant), {"query": QUESTION, "max_tokens": "60", "whole": 1}))
    assert preview.count("Mark as expected</button>") > len(memories) - 1
    assert "Missing memory" in preview
    text = text_of(collect(client, tenant, memories[1].pk))
    assert "In the golden question" in text
    assert "Golden question, 1 memory" in text
    assert text.count("Mark as expected</button>") == preview.count("Mark as expected</button>") - 1
    assert text.count("In the golden question</a>") == 1
    collect(client, tenant, memories[2].pk)
    assert wanted(tenant) == {QUESTION: {memories[1].pk, memories[2].pk}}


def test_collecting_can_be_undone(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    client.post(undo_of(collect(client, tenant, memories[1].pk)))
    assert wanted(tenant) == {}
    collect(client, tenant, memories[1].pk)
    client.post(undo_of(collect(client, tenant, memories[2].pk)))
    assert wanted(tenant) == {QUESTION: {memories[1].pk}}


@pytest.mark.parametrize("change", [{"memory": "nonsense"}, {"text": " "}, {"memory": str(uuid4())}])
def test_invalid_collection_is_reported_on_the_preview(change: dict[str, str], client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[1]
    response = collect(client, tenant, change.get("memory", memory.pk), change.get("text", QUESTION))
    assert response.status_code == 200
    assert "flash-error" in text_of(response)
    assert wanted(tenant) == {}


def test_memory_outside_of_the_partition_or_archived_is_not_wanted(
    client: Client, tenant: Tenant, memories: list[Memory]
) -> None:
    assert "outside the question" in text_of(collect(client, tenant, memories[0].pk, partition="agent=support"))
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[1], by=TESTER, now=timezone.now())
    assert "is archived" in text_of(collect(client, tenant, memories[1].pk))
    assert wanted(tenant) == {}


def test_question_is_changed_and_its_memories_too(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    question = golden(tenant, QUESTION, memories[1], memories[2])
    address = page("golden-question", tenant, question.pk)
    assert "ERR_4012 means" in text_of(client.get(address))
    form = {"text": "What is ERR_4012?", "answer": "a wet plug", "category": "faults", "as_of": ""}
    assert "Golden question saved" in text_of(client.post(address, form, follow=True))
    taken = client.post(page("golden-evidence-remove", tenant, question.pk, memories[2].pk), follow=True)
    assert wanted(tenant) == {"What is ERR_4012?": {memories[1].pk}}
    client.post(undo_of(taken))
    assert wanted(tenant) == {"What is ERR_4012?": {memories[1].pk, memories[2].pk}}
    client.post(page("golden-evidence-remove", tenant, question.pk, memories[2].pk))
    last = client.post(page("golden-evidence-remove", tenant, question.pk, memories[1].pk), follow=True)
    assert "at least one memory" in text_of(last)


def test_change_of_a_question_that_someone_else_changed_is_refused(
    client: Client, tenant: Tenant, memories: list[Memory]
) -> None:
    address = page("golden-question", tenant, golden(tenant, QUESTION, memories[1]).pk)
    shown = client.get(address)
    seen = shown.context["form"]["seen"].value()
    assert f'name="seen" value="{seen}"' in text_of(shown)
    assert client.post(address, {"text": QUESTION, "answer": "first", "seen": seen}).status_code == 302
    second = client.post(address, {"text": QUESTION, "answer": "second", "seen": seen})
    assert second.status_code == 422
    assert "<dd>first</dd>" in text_of(second), "the other version is not shown"
    assert 'value="second"' in text_of(second), "what was typed is lost"
    (now_seen,) = re.findall('name="seen" value="([^"]+)"', text_of(second))
    assert client.post(address, {"text": QUESTION, "answer": "second", "seen": now_seen}).status_code == 302


def test_empty_and_doubled_words_are_refused(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    golden(tenant, "Another one?", memories[1])
    address = page("golden-question", tenant, golden(tenant, QUESTION, memories[1]).pk)
    assert client.post(address, {"text": " "}).status_code == 422
    doubled = client.post(address, {"text": "Another one?"})
    assert doubled.status_code == 422
    assert "A golden question with this text" in text_of(doubled)


def test_question_is_removed_and_put_back(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    question = golden(tenant, QUESTION, memories[1])
    removed = client.post(page("golden-remove", tenant, question.pk), follow=True)
    assert wanted(tenant) == {}
    undo = undo_of(removed)
    golden(tenant, QUESTION, memories[2])
    assert "A golden question with this text" in text_of(client.post(undo, follow=True))
    with tenant_scope(tenant.pk):
        GoldenQuestion.objects.for_tenant(tenant.pk).not_removed().delete()
    client.post(undo)
    assert wanted(tenant) == {QUESTION: {memories[1].pk}}


def test_export_is_a_corpus_that_can_be_evaluated(
    client: Client, tenant: Tenant, memories: list[Memory], tmp_path: Any
) -> None:
    golden(tenant, QUESTION, memories[1])
    response = client.get(page("golden-export", tenant))
    assert response["Content-Type"] == "application/zip"
    with zipfile.ZipFile(BytesIO(response.content)) as archive:
        archive.extractall(tmp_path / "golden")
    rows = [json.loads(line) for line in (tmp_path / "golden" / "memories.jsonl").read_text().splitlines()]
    assert {row["id"] for row in rows} == {str(memory.pk) for memory in memories}
    found = evaluate_as_json(tmp_path / "golden", "--budgets", "1000")
    assert found["results"]["1000"]["report"]["total"]["measures"]["recall"]["value"] == 1.0


def test_export_leaves_out_what_can_no_longer_be_found(
    client: Client, tenant: Tenant, memories: list[Memory], tmp_path: Path
) -> None:
    golden(tenant, QUESTION, memories[1])
    golden(tenant, "What has expired?", memories[0])
    golden(tenant, "What has moved?", memories[2], partition="agent=support")
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk)
        rows.filter(pk=memories[0].pk).update(expires_at=timezone.now())
        update_memory(
            memory=rows.get(pk=memories[2].pk),
            changes={"partition": parse_partition("agent=service")},
            by=TESTER,
            now=timezone.now(),
        )
    response = client.get(page("golden-export", tenant))
    with zipfile.ZipFile(BytesIO(response.content)) as archive:
        archive.extractall(tmp_path)
    assert [question.text for question in read_corpus(tmp_path).questions] == [QUESTION]


def test_export_without_a_question_returns_to_the_page_with_a_message(client: Client, tenant: Tenant) -> None:
    assert "no golden questions with existing memories yet" in text_of(
        client.get(page("golden-export", tenant), follow=True)
    )


def test_viewer_reads_and_collects_nothing(tenant: Tenant, memories: list[Memory]) -> None:
    question = golden(tenant, QUESTION, memories[1])
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert QUESTION in text_of(viewer.get(page("golden-questions", tenant)))
    assert viewer.get(page("golden-question", tenant, question.pk)).status_code == 200
    preview = viewer.get(page("context-preview", tenant), {"query": QUESTION, "whole": 1})
    assert "Mark as expected" not in text_of(preview)
    assert collect(viewer, tenant, memories[2].pk).status_code == 403
    assert viewer.post(page("golden-question", tenant, question.pk), {"text": "x"}).status_code == 403
    for name in ("golden-remove", "golden-restore"):
        assert viewer.post(page(name, tenant, question.pk)).status_code == 403
    for name in ("golden-evidence-add", "golden-evidence-remove"):
        assert viewer.post(page(name, tenant, question.pk, memories[1].pk)).status_code == 403


def test_question_and_memories_of_another_tenant_are_absent(
    client: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    foreign = make_bakery_memories(other_tenant)[1]
    question = golden(other_tenant, QUESTION, foreign)
    assert client.get(page("golden-question", tenant, question.pk)).status_code == 404
    for name in ("golden-remove", "golden-restore"):
        assert client.post(page(name, tenant, question.pk)).status_code == 404
    collect(client, tenant, foreign.pk)
    own = golden(tenant, "Ours?", make_bakery_memories(tenant)[0])
    assert "does not exist" in text_of(
        client.post(page("golden-evidence-add", tenant, own.pk, foreign.pk), follow=True)
    )
    with tenant_scope(tenant.pk):
        assert not GoldenMemory.objects.for_tenant(tenant.pk).filter(memory_id=foreign.pk).exists()


def test_every_verb_leaves_an_audit_row_without_words(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    collect(client, tenant, memories[1].pk)
    with tenant_scope(tenant.pk):
        question = GoldenQuestion.objects.for_tenant(tenant.pk).get()
    assert client.get(page("golden-question", tenant, question.pk)).status_code == 200
    client.post(page("golden-question", tenant, question.pk), {"text": "Other words?"})
    client.post(page("golden-remove", tenant, question.pk))
    client.post(page("golden-restore", tenant, question.pk))
    with tenant_scope(tenant.pk):
        rows = list(AuditEntry.objects.filter(target_kind="golden_question"))
    verbs = {row.verb for row in rows}
    assert verbs == {"read_text", *(f"{verb}_golden_question" for verb in ("collect", "change", "remove", "restore"))}
    assert all("Other words" not in str(row.fields) + str(row.target_ids) for row in rows)


def test_question_of_the_future_is_refused(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    question = golden(tenant, QUESTION, memories[1])
    response = client.post(page("golden-question", tenant, question.pk), {"text": QUESTION, "as_of": "2999-01-01"})
    assert response.status_code == 422
    assert response.context["form"].errors["as_of"] == ["The time of a question must not be in the future."]
    with tenant_scope(tenant.pk):
        question.refresh_from_db()
    assert question.as_of is None


def test_curve_shows_what_each_budget_brings_and_counts_nothing(
    client: Client, tenant: Tenant, memories: list[Memory]
) -> None:
    golden(tenant, QUESTION, memories[1])
    before = counted_rows()
    first = text_of(client.get(page("budget-curve", tenant), {"query": QUESTION}))
    assert 'hx-trigger="load" hx-target="#result"' in first
    assert "Run as evaluation" in first
    response = client.get(page("budget-curve", tenant), {"query": QUESTION, "whole": 1})
    curve = response.context["curve"]
    assert [point.budget for point in curve.points] == sorted(point.budget for point in curve.points)
    assert curve.points[-1].evidence_share == 1.0
    assert curve.points[-1].items == len(memories)
    text = text_of(response)
    assert 'data-chart="number"' in text
    assert "Expected included" in text
    for point in curve.points[:4]:
        shown = client.get(page("context-preview", tenant), {"query": QUESTION, "max_tokens": point.budget, "whole": 1})
        assert shown.context["preview"].context.budget.used == point.used
    assert "Run as evaluation" in text
    assert counted_rows() == before


def test_curve_without_a_question_and_with_a_bad_one(client: Client, tenant: Tenant) -> None:
    assert "Enter a query" in text_of(client.get(page("budget-curve", tenant)))
    bad = client.get(page("budget-curve", tenant), {"query": "x", "partition": "nonsense"})
    assert bad.status_code == 422
    assert "No curve drawn" in text_of(bad)
    focus = client.get(page("budget-curve", tenant), {"query": "x", "focus_memory": str(uuid4()), "whole": 1})
    assert focus.status_code == 422


def test_question_is_added_by_hand_from_what_was_found(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    url = page("golden-new", tenant)
    assert "Find memories" in text_of(client.get(url))
    asked = {"text": QUESTION, "partition": "", "category": "service"}
    looked = client.post(url, {**asked, "find": "1", "memory": str(memories[4].pk)})
    assert looked.status_code == 200
    assert "ERR_4012 means that the plug" in text_of(looked)
    assert f'value="{memories[4].pk}" checked' in text_of(looked)
    assert wanted(tenant) == {}
    added = client.post(
        url, {**asked, "memory": [str(memories[1].pk), "nonsense"], "ids": str(memories[2].pk)}, follow=True
    )
    assert "Golden question added." in text_of(added)
    assert wanted(tenant) == {QUESTION: {memories[1].pk, memories[2].pk}}
    client.post(undo_of(added))
    assert wanted(tenant) == {}


REFUSED_QUESTIONS = [
    ({"text": ""}, "This field is required"),
    ({"ids": "nonsense"}, "Enter memory IDs, separated by spaces."),
    ({"ids": str(uuid4())}, "does not exist"),
    ({"ids": ""}, "needs at least one memory"),
    ({"partition": "nonsense"}, "nonsense"),
    ({"as_of": "2999-01-01T00:00"}, "in the future"),
]


def test_refused_question_by_hand_is_reported_at_its_field(
    client: Client, tenant: Tenant, memories: list[Memory]
) -> None:
    for change, words in REFUSED_QUESTIONS:
        fields = {"text": QUESTION, "partition": "", "ids": str(memories[1].pk), **change}
        refused = client.post(page("golden-new", tenant), fields)
        assert refused.status_code == 422
        assert words in text_of(refused)
    assert wanted(tenant) == {}


def test_question_by_hand_is_for_operators_of_the_tenant(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.get(page("golden-new", tenant)).status_code == 403
    assert viewer.post(page("golden-new", tenant), {}).status_code == 403
    assert client.get(page("golden-new", other_tenant)).status_code == 404


def test_memories_too_large_for_any_context_are_flagged(client: Client, tenant: Tenant, memories: list[Memory]) -> None:
    golden(tenant, QUESTION, *memories[1:4])
    now = timezone.now()
    with tenant_scope(tenant.pk):
        archive_memory(memory=memories[1], by=TESTER, now=now)
        Memory.objects.for_tenant(tenant.pk).with_ids([memories[2].pk]).update(expires_at=now)
    shown = " ".join(text_of(client.get(page("golden-questions", tenant))).split())
    for words in ("1 of 3", "1 archived", "1 expired"):
        assert words in shown, words


def test_many_questions_are_paged_and_the_next_page_continues(client: Client, tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        GoldenQuestion.objects.bulk_create(
            GoldenQuestion(tenant=tenant, text=f"Question {number:02}?", created_at=timezone.now())
            for number in range(TABLE_PAGE_SIZE + 5)
        )
    first = client.get(page("golden-questions", tenant))
    following = first.context["table"].next_query
    rows = client.get(f"{page('golden-questions', tenant)}?{following}", headers={"HX-Request": "true"})
    shown = [re.findall(r"Question \d\d\?", text_of(answer)) for answer in (first, rows)]
    assert [len(texts) for texts in shown] == [TABLE_PAGE_SIZE, 5]
    assert sorted(shown[0] + shown[1]) == [f"Question {number:02}?" for number in range(TABLE_PAGE_SIZE + 5)]
    assert "<h1" not in text_of(rows)
