"""Evaluations on the console: started, monitored, read, compared, cancelled, resumed and deleted."""

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from context.evaluation.actions.evaluations import cancel_evaluation
from context.evaluation.corpora import read_corpus_path
from context.evaluation.runs import run_evaluation
from context.evaluation.staging import drop_staged_corpus, load_staged_corpus
from context.models import EvaluationRun
from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.evaluation_helpers import (
    QUESTIONS,
    TESTER,
    corpus_folder,
    counted_rows,
    golden,
    lines,
    memory_rows,
    requested,
    stages,
    stored_run,
)
from tests.integration.page_helpers import HTMX, client_of, make_bakery_memories, page, text_of
from tests.users import new_operator

FORM = {"corpus": "golden", "packer": "greedy", "profile": "adr-0040", "budgets": "250, 1000"}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def tenant_with_questions(tenant: Tenant) -> Tenant:
    """A tenant with one golden question."""
    golden(tenant, "What does ERR_4012 mean?", make_bakery_memories(tenant)[1])
    return tenant


def done(tenant: Tenant, **options: Any) -> EvaluationRun:
    run = requested(tenant, **options)
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == "done"
    return stored_run(run.pk)


def files(memories: str, questions: str) -> dict[str, Any]:
    return {
        "memories": SimpleUploadedFile("memories.jsonl", memories.encode()),
        "questions": SimpleUploadedFile("questions.jsonl", questions.encode()),
    }


def test_empty_page_explains_what_to_do(client: Client, tenant: Tenant) -> None:
    shown = client.get(page("evaluations", tenant))
    assert "No evaluations yet" in text_of(shown)
    assert shown.context["form"]["corpus"].value() == "updated_facts", "there are no golden questions to run"


def test_golden_questions_are_the_first_corpus_where_there_are_some(
    client: Client, tenant_with_questions: Tenant
) -> None:
    assert client.get(page("evaluations", tenant_with_questions)).context["form"]["corpus"].value() == "golden"


def test_run_is_started_watched_and_read(client: Client, tenant_with_questions: Tenant) -> None:
    response = client.post(page("evaluations", tenant_with_questions), FORM, follow=True)
    text = text_of(response)
    assert "started" in text
    assert "Waiting for a worker" in text
    assert "every 1s" in text
    run = response.context["run"]
    run_evaluation(tenant_with_questions.pk, run.pk, now=timezone.now())
    for headers in ({}, HTMX):
        text = text_of(client.get(page("evaluation", tenant_with_questions, run.pk), headers=headers))
        assert "every 1s" not in text
        assert "All questions" in text
        assert "100.0 to 100.0" in text
        assert "<polyline" in text
        assert ("<html" in text) == (not headers)
    assert "golden questions" in text_of(client.get(page("evaluations", tenant_with_questions)))


def test_list_polls_only_while_a_run_is_unfinished(client: Client, tenant_with_questions: Tenant) -> None:
    done(tenant_with_questions)
    assert "every 2s" not in text_of(client.get(page("evaluations", tenant_with_questions)))
    requested(tenant_with_questions)
    part = text_of(client.get(page("evaluations", tenant_with_questions), headers=HTMX))
    assert "every 2s" in part
    assert "<html" not in part


def test_uploaded_corpus_is_measured_and_its_memories_are_deleted(client: Client, tenant: Tenant) -> None:
    before = counted_rows()
    form = FORM | {"corpus": "upload", "corpus_name": "bakery", **files(lines(memory_rows()), lines(QUESTIONS))}
    run = client.post(page("evaluations", tenant), form, follow=True).context["run"]
    run_evaluation(tenant.pk, run.pk, now=timezone.now())
    text = text_of(client.get(page("evaluation", tenant, run.pk)))
    assert "Right time first" in text
    assert "habit" in text
    assert stages() == []
    assert counted_rows() == before


BAD_OPTIONS = [
    ({"budgets": "x"}, "Enter whole numbers"),
    ({"budgets": "0"}, "Give 1 to 24 budgets"),
    ({"profile": "nonsense"}, "No published scoring profile"),
    ({"packer": "nonsense"}, "Select a valid choice"),
    ({"corpus": "file"}, "Select a valid choice"),
    ({"corpus": "upload", "corpus_name": "x"}, "Select a file"),
    ({"corpus": "upload", **files(lines(memory_rows()), lines(QUESTIONS))}, "A corpus name must have"),
    ({"corpus": "upload", "corpus_name": "x", **files(lines(memory_rows()), "")}, "The submitted file is empty"),
    ({"corpus": "upload", "corpus_name": "x", **files(lines(memory_rows()), "\n")}, "no questions"),
    (
        {
            "corpus": "upload",
            "corpus_name": "x",
            **files(lines(memory_rows()), lines([{"id": "q", "text": "Who?", "evidence": ["m9"]}])),
        },
        "memory &#x27;m9&#x27; does not exist",
    ),
    ({"corpus": "upload", "corpus_name": "x", **files("\xff", "{}")}, "not JSON"),
]


def test_bad_option_is_reported_at_its_field(client: Client, tenant_with_questions: Tenant) -> None:
    for change, words in BAD_OPTIONS:
        response = client.post(page("evaluations", tenant_with_questions), FORM | change)
        assert response.status_code == 422
        assert words in text_of(response)
    with tenant_scope(tenant_with_questions.pk):
        assert not EvaluationRun.objects.for_tenant(tenant_with_questions.pk).exists()


def test_missing_golden_questions_are_reported(client: Client, tenant: Tenant) -> None:
    response = client.post(page("evaluations", tenant), FORM)
    assert response.status_code == 422
    assert "no golden questions with existing memories yet" in text_of(response)


def test_too_large_file_is_refused(client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context.evaluation.forms.UPLOAD_BYTES_MAX", 10)
    form = FORM | {"corpus": "upload", "corpus_name": "x", **files(lines(memory_rows()), lines(QUESTIONS))}
    assert client.post(page("evaluations", tenant), form).status_code == 422


def test_two_runs_of_one_corpus_are_compared_question_by_question(
    client: Client, tenant_with_questions: Tenant
) -> None:
    first, second = done(tenant_with_questions), done(tenant_with_questions, packer="elastic")
    text = text_of(client.get(page("evaluation", tenant_with_questions, second.pk) + f"?with={first.pk}"))
    assert "Per question over 1 question" in text
    assert "Evidence included, side by side" in text
    assert 'data-chart="number"' in text
    assert "0.0 pp" in text
    assert not re.search(r"[-+]0(\.0+)?(?![\d.])", re.sub(r"<[^>]+>", " ", text[text.index("side by side") :]))
    assert client.get(page("evaluation", tenant_with_questions, second.pk) + f"?with={uuid4()}").status_code == 404


def test_run_is_cancelled_and_resumed(client: Client, tenant_with_questions: Tenant) -> None:
    run = requested(tenant_with_questions)
    assert "Evaluation cancelled" in text_of(
        client.post(page("evaluation-cancel", tenant_with_questions, run.pk), follow=True)
    )
    assert "has already ended" in text_of(
        client.post(page("evaluation-cancel", tenant_with_questions, run.pk), follow=True)
    )
    assert run_evaluation(tenant_with_questions.pk, run.pk, now=timezone.now()).state == ""
    assert "Job resumed" in text_of(client.post(page("evaluation-retry", tenant_with_questions, run.pk), follow=True))
    assert run_evaluation(tenant_with_questions.pk, run.pk, now=timezone.now()).state == "done"
    again = client.post(page("evaluation-retry", tenant_with_questions, run.pk), follow=True)
    assert "Only a failed or cancelled evaluation" in text_of(again)


def test_failed_run_shows_the_reason(client: Client, tenant_with_questions: Tenant) -> None:
    run = requested(tenant_with_questions)
    with tenant_scope(tenant_with_questions.pk):
        EvaluationRun.objects.for_tenant(tenant_with_questions.pk).with_id(run.pk).finish(
            "failed", timezone.now(), code="degraded_search", detail="The embedder is away."
        )
    text = text_of(client.get(page("evaluation", tenant_with_questions, run.pk)))
    assert "degraded search" in text
    assert "The embedder is away." in text
    assert "Resume" in text


def test_deletion_needs_confirmation(client: Client, tenant_with_questions: Tenant) -> None:
    run = done(tenant_with_questions)
    address = page("evaluation-delete", tenant_with_questions, run.pk)
    assert "Delete this evaluation?" in text_of(client.get(address))
    assert "Evaluation deleted" in text_of(client.post(address, follow=True))
    assert client.get(page("evaluation", tenant_with_questions, run.pk)).status_code == 404


def test_every_verb_leaves_an_audit_row(client: Client, tenant_with_questions: Tenant) -> None:
    run = requested(tenant_with_questions)
    with tenant_scope(tenant_with_questions.pk):
        cancel_evaluation(run=run, by=TESTER, now=timezone.now())
    client.post(page("evaluation-delete", tenant_with_questions, run.pk))
    with tenant_scope(tenant_with_questions.pk):
        verbs = set(AuditEntry.objects.filter(target_kind="evaluation").values_list("verb", flat=True))
    assert verbs == {"request_evaluation", "cancel_evaluation", "delete_evaluation"}


def test_viewer_reads_and_starts_nothing(tenant_with_questions: Tenant) -> None:
    run = done(tenant_with_questions)
    viewer = client_of(new_operator("vera", "viewer", tenant_with_questions))
    assert 'id="start"' not in text_of(viewer.get(page("evaluations", tenant_with_questions)))
    assert "All questions" in text_of(viewer.get(page("evaluation", tenant_with_questions, run.pk)))
    assert viewer.post(page("evaluations", tenant_with_questions), FORM).status_code == 403
    for name in ("evaluation-cancel", "evaluation-retry", "evaluation-delete"):
        assert viewer.post(page(name, tenant_with_questions, run.pk)).status_code == 403


def test_run_of_another_tenant_is_absent(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    golden(other_tenant, "What does ERR_4012 mean?", make_bakery_memories(other_tenant)[1])
    run = done(other_tenant)
    assert client.get(page("evaluation", tenant, run.pk)).status_code == 404
    for name in ("evaluation-cancel", "evaluation-retry", "evaluation-delete"):
        assert client.post(page(name, tenant, run.pk)).status_code == 404
    assert "golden questions</a>" not in text_of(client.get(page("evaluations", tenant)))


def test_list_of_runs_does_not_cost_more_queries_for_more_rows(
    client: Client, tenant_with_questions: Tenant, django_assert_max_num_queries: Any
) -> None:
    requested(tenant_with_questions)
    with django_assert_max_num_queries(60) as few:
        client.get(page("evaluations", tenant_with_questions))
    for _ in range(3):
        requested(tenant_with_questions)
    with django_assert_max_num_queries(len(few)):
        client.get(page("evaluations", tenant_with_questions))


def test_hidden_tenants_are_nobodys_to_see(tenant: Tenant, tmp_path: Path) -> None:
    run_id, loaded = uuid4(), list[int]()
    hidden, _ = load_staged_corpus(
        run_id, read_corpus_path(corpus_folder(tmp_path)), now=timezone.now(), loaded=loaded.append
    )
    root = new_operator("root", "admin", tenant)
    root.is_superuser = True
    root.save()
    client = client_of(root)
    assert "~evaluation" not in text_of(client.get("/"))
    assert client.get(f"/t/{hidden}/memories").status_code == 404
    assert "~evaluation" not in text_of(client.get("/admin/memories/tenant/"))
    assert drop_staged_corpus(run_id)


def test_models_are_compared_on_the_golden_questions_before_a_switch(
    client: Client, tenant_with_questions: Tenant
) -> None:
    assert "Compare with wordllama" in text_of(client.get(page("embedding-comparison", tenant_with_questions)))
    form = {"model": "hashed-ngram-512", "profile": "adr-0040"}
    before = counted_rows()
    run = client.post(page("embedding-comparison", tenant_with_questions), form, follow=True).context["run"]
    with tenant_scope(tenant_with_questions.pk):
        other = EvaluationRun.objects.for_tenant(tenant_with_questions.pk).exclude(pk=run.pk).get()
    assert run_evaluation(tenant_with_questions.pk, run.pk, now=timezone.now()).state == "done"
    waiting = text_of(client.get(page("evaluation", tenant_with_questions, run.pk)))
    assert "The evaluation with wordllama-l2-supercat-256</a> is queued." in waiting
    assert 'hx-trigger="every 1s"' in waiting
    assert run_evaluation(tenant_with_questions.pk, other.pk, now=timezone.now()).state == "done"
    response = client.get(page("evaluation", tenant_with_questions, run.pk))
    assert response.context["other"] == other
    assert [stored_run(each.pk).embedder_model for each in (run, other)] == [
        "hashed-ngram-512",
        "wordllama-l2-supercat-256",
    ]
    text = text_of(response)
    assert "Evidence included, side by side" in text
    assert "adr-0040 version 1, greedy, hashed-ngram-512" in text
    assert stages() == []
    assert counted_rows() == before


def test_comparison_refuses_the_active_and_unknown_models(client: Client, tenant_with_questions: Tenant) -> None:
    for model in ("wordllama-l2-supercat-256", "nothing"):
        response = client.post(page("embedding-comparison", tenant_with_questions), {"model": model})
        assert response.context["form"].errors["model"]
    with tenant_scope(tenant_with_questions.pk):
        assert not EvaluationRun.objects.for_tenant(tenant_with_questions.pk).exists()
