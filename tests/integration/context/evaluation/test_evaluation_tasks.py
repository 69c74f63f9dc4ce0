"""Background evaluations: slices, workers that die, sweeps that resume or end runs, degraded searches, drafts."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from context import tasks
from context.evaluation import runs
from context.evaluation.actions.evaluations import delete_evaluation
from context.evaluation.corpora import corpus_upload_text, read_corpus_path
from context.evaluation.runs import run_evaluation
from context.evaluation.staging import load_staged_corpus
from context.models import EvaluationAnswer, EvaluationRun
from context.profiles.actions.scoring_profiles import create_scoring_profile
from memories.embeddings.providers import EmbeddingError
from memories.models import Tenant
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from tests.database_locks import writes_blocked
from tests.integration.compaction.pipeline.test_compaction_faults import Runtime, wait_for
from tests.integration.evaluation_helpers import (
    QUESTIONS,
    TESTER,
    answers_of,
    corpus_folder,
    golden,
    lines,
    memory_rows,
    requested,
    stages,
    stored_run,
)
from tests.integration.page_helpers import make_bakery_memories
from tests.users import new_shared_tenant

UPLOAD = {
    "corpus_kind": "upload",
    "corpus_name": "bakery",
    "corpus_text": corpus_upload_text(lines(memory_rows()), lines(QUESTIONS)),
}


def update_run(run: EvaluationRun, **values: Any) -> None:
    with tenant_scope(run.tenant_id):
        EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk).update(**values)


def expire_claim(run: EvaluationRun) -> None:
    """A worker claimed the run long ago and has since stopped."""
    long_ago = timezone.now() - timedelta(hours=1)
    update_run(run, state="running", claimed_until=long_ago, created_at=long_ago)


@pytest.mark.django_db
def test_slice_that_ended_is_continued_by_the_next(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_WRITE_EVERY_SECONDS", 0.0)
    run = requested(tenant, **UPLOAD)
    counts = []
    while (state := run_evaluation(tenant.pk, run.pk, now=timezone.now(), time_limit=timedelta(0)).state) == "queued":
        counts.append(stored_run(run.pk).done)
        assert len(stages()) == 1
    assert state == "done"
    assert counts == [1, 2, 3, 4]
    assert [answer.question_id for answer in answers_of(run.pk)] == ["q1", "q2", "q3", "q4"]
    assert stored_run(run.pk).attempts == 1
    assert stages() == []


@pytest.mark.django_db
def test_run_that_another_worker_has_is_skipped(tenant: Tenant) -> None:
    run = requested(tenant, **UPLOAD)
    update_run(run, state="running", claimed_until=timezone.now() + timedelta(minutes=1))
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == ""
    assert answers_of(run.pk) == []


@pytest.mark.django_db
def test_run_deleted_in_the_middle_leaves_nothing(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    run = requested(tenant, **UPLOAD)
    real = runs.measure_question

    def deleting(question: Any, setting: Any) -> Any:
        with tenant_scope(tenant.pk):
            delete_evaluation(run=run, by=TESTER, now=timezone.now())
        return real(question, setting)

    monkeypatch.setattr(runs, "measure_question", deleting)
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == ""
    assert stages() == []
    assert answers_of(run.pk) == []


@pytest.mark.django_db
def test_run_fails_after_too_many_workers_died(tenant: Tenant) -> None:
    run = requested(tenant, **UPLOAD)
    update_run(run, attempts=runs.EVALUATION_ATTEMPTS_MAX)
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == "failed"
    assert stored_run(run.pk).error_code == "too_many_attempts"


@pytest.mark.django_db
def test_degraded_search_measures_nothing(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    golden(tenant, "What does ERR_4012 mean?", make_bakery_memories(tenant)[1])
    run = requested(tenant)

    def away(*_: object) -> Any:
        raise EmbeddingError("The provider is away.", is_permanent=False)

    monkeypatch.setattr("context.assembly.candidates.embedder_of_model", away)
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == "failed"
    stored = stored_run(run.pk)
    assert stored.error_code == "degraded_search"
    assert (stored.results, answers_of(run.pk)) == ({}, [])


@pytest.mark.django_db
def test_unexpected_error_fails_the_run_without_text_of_the_question(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = requested(tenant, **UPLOAD)

    def broken(question: Any, setting: Any) -> Any:
        raise ZeroDivisionError(f"{question.text} {setting}")

    monkeypatch.setattr(runs, "measure_question", broken)
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == "failed"
    assert stored_run(run.pk).error_code == "internal_error"
    assert QUESTIONS[0]["text"] not in caplog.text
    assert stages() == []


@pytest.mark.django_db
def test_sweep_fails_runs_that_only_a_command_can_resume_and_drops_their_memories(
    tenant: Tenant, tmp_path: Path
) -> None:
    run = requested(tenant, corpus_kind="file", corpus_name="bakery")
    load_staged_corpus(run.pk, read_corpus_path(corpus_folder(tmp_path)), now=timezone.now(), loaded=list[int]().append)
    expire_claim(run)
    assert tasks.sweep_evaluations() == 0
    stored = stored_run(run.pk)
    assert (stored.state, stored.error_code) == ("failed", "abandoned")
    assert f"--resume {run.pk}" in stored.error_detail
    assert stages() == []


@pytest.mark.django_db
def test_sweep_keeps_the_memories_of_open_runs_alone(tenant: Tenant, tmp_path: Path) -> None:
    corpus = read_corpus_path(corpus_folder(tmp_path))
    run = requested(tenant, **UPLOAD)
    for run_id in (run.pk, uuid4()):
        load_staged_corpus(run_id, corpus, now=timezone.now(), loaded=list[int]().append)
    tasks.sweep_evaluations()
    assert stages() == [f"~evaluation {run.pk}"]


@pytest.mark.django_db
def test_half_loaded_corpus_is_loaded_again(tenant: Tenant, tmp_path: Path) -> None:
    folder = corpus_folder(tmp_path)
    whole = read_corpus_path(folder)
    run = requested(tenant, **UPLOAD)
    half = type(whole)(whole.name, whole.memories[:3], whole.questions)
    first, _ = load_staged_corpus(run.pk, half, now=timezone.now(), loaded=list[int]().append)
    second, ids = load_staged_corpus(run.pk, whole, now=timezone.now(), loaded=list[int]().append)
    assert first != second
    assert set(ids) == {memory.id for memory in whole.memories}
    third, _ = load_staged_corpus(run.pk, whole, now=timezone.now(), loaded=list[int]().append)
    assert third == second


@pytest.mark.django_db
def test_draft_is_evaluated_with_its_own_numbers_and_marked_as_evaluated(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        draft = create_scoring_profile(
            tenant_id=tenant.pk,
            name="words-only",
            based_on="adr-0040",
            changes={"weights": {"relevance": 1.0}},
            by=TESTER,
            now=timezone.now(),
        )
    run = requested(tenant, **UPLOAD, profile="words-only")
    assert run.profile_numbers == draft.numbers
    assert run_evaluation(tenant.pk, run.pk, now=timezone.now()).state == "done"
    with tenant_scope(tenant.pk):
        draft.refresh_from_db()
    assert (draft.state, draft.evaluation_run_id) == ("evaluated", run.pk)
    with tenant_scope(tenant.pk), pytest.raises(Conflict, match="a scoring profile depends on it"):
        delete_evaluation(run=stored_run(run.pk), by=TESTER, now=timezone.now())


# --- A worker of its own, with a Redis of its own ------------------------------------------------------------------


@pytest.fixture
def runtime(tmp_path: Path, transactional_db: None) -> Iterator[Runtime]:
    runtime = Runtime(tmp_path)
    try:
        yield runtime
    finally:
        runtime.end()


SEND = """
from context.tasks import enqueue_evaluation
enqueue_evaluation(uuid.UUID(sys.argv[1]), uuid.UUID(sys.argv[2]))
"""
SWEEP = "from context import tasks\nassert tasks.sweep_evaluations() == 1"


@pytest.mark.long
def test_run_of_a_killed_worker_is_continued_and_no_question_is_measured_twice(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker continues a run with one answer, and is killed while it stores the next ones."""
    tenant = new_shared_tenant("Acme")
    many = [{**QUESTIONS[0], "id": f"q{number}"} for number in range(40)]
    text = corpus_upload_text(lines(memory_rows()), lines(many))
    run = requested(tenant, **UPLOAD | {"corpus_text": text}, budgets=[100, 200, 300, 400])
    monkeypatch.setattr(runs, "_WRITE_EVERY_SECONDS", 0.0)
    run_evaluation(tenant.pk, run.pk, now=timezone.now(), time_limit=timedelta(0))
    with writes_blocked(EvaluationAnswer._meta.db_table) as is_write_waiting:
        runtime.call(SEND, tenant.pk, run.pk)
        wait_for(is_write_waiting, runtime)
        runtime.worker.kill()
        runtime.worker.wait()
        killed = stored_run(run.pk)
        assert (killed.state, killed.done, len(answers_of(run.pk))) == ("running", 1, 1)
    expire_claim(run)
    second = tmp_path / "second"
    second.mkdir()
    other = Runtime(second)
    try:
        other.call(SWEEP)
        wait_for(lambda: stored_run(run.pk).state == "done" and not stages(), other)
    finally:
        other.end()
    answers = answers_of(run.pk)
    assert len({answer.question_id for answer in answers}) == len(answers) == killed.total
    assert stored_run(run.pk).attempts == 2
