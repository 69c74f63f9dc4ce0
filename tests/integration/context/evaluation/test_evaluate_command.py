"""`manage.py evaluate`: what it measures, prints, stores and refuses, and how it resumes after a kill."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from context.evaluation import corpora
from context.evaluation import runs as evaluating
from context.evaluation.corpora import UPDATED_FACTS_CORPUS, UPDATED_FACTS_NAME, read_corpus_path
from context.models import EvaluationRun
from memories.models import Tenant
from memories.tenancy.scopes import admin_write_scope
from tests.integration.evaluation_helpers import (
    QUESTIONS,
    answers_of,
    corpus_folder,
    counted_rows,
    evaluate,
    evaluate_as_json,
    golden,
    lines,
    stages,
    stored_run,
)
from tests.integration.page_helpers import make_bakery_memories

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return corpus_folder(tmp_path)


def test_corpus_is_evaluated_and_deleted_afterwards(corpus: Path, tenant: Tenant) -> None:
    before = counted_rows()
    found = evaluate_as_json(corpus, "--tenant", tenant.name, "--budgets", "60,1000")
    assert (found["corpus"]["name"], found["corpus"]["questions"]) == ("bakery", 4)
    assert (found["profile"]["name"], found["packer"]) == ("adr-0040", "greedy")
    total = found["results"]["1000"]["report"]["total"]
    assert total["questions"] == 4
    assert total["measures"]["recall"]["value"] == 1.0
    assert total["measures"]["containment"] == {"value": 1.0, "low": 1.0, "high": 1.0, "questions": 2}
    assert total["measures"]["current_first"]["questions"] == 1
    assert set(found["results"]["60"]["report"]["categories"]) == {"habit", "place"}
    assert found["results"]["60"]["items"] < found["results"]["1000"]["items"]
    run = stored_run(found["run"])
    assert (run.tenant_id, run.state, run.done, run.total) == (tenant.pk, "done", 4, 4)
    assert len(answers_of(run.pk)) == 4
    assert stages() == []
    assert counted_rows() == before


def test_question_about_the_past_is_evaluated_as_of_its_time(corpus: Path) -> None:
    run = evaluate_as_json(corpus, "--budgets", "1000")["run"]
    items = {answer.question_id: answer.measures["1000"]["items"] for answer in answers_of(run)}
    assert items == {"q1": 6, "q2": 6, "q3": 6, "q4": 5}


def test_table_and_paired_difference_are_printed(corpus: Path) -> None:
    first = evaluate_as_json(corpus, "--budgets", "60,1000")["run"]
    printed = evaluate(corpus, "--budgets", "1000", "--packer", "elastic", "--compare", first)
    assert "bakery, scored by adr-0040 version 1, packer elastic" in printed
    assert "All questions (4)" in printed
    assert "Evidence included" in printed
    assert "100.0 to 100.0" in printed
    assert "Less the other run (4 questions of both)" in printed
    assert "0.0 to 0.0 pp" in printed.split("Less the other run")[1]


def test_updated_facts_come_with_the_program(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = read_corpus_path(UPDATED_FACTS_CORPUS)
    assert sum(bool(question.stale) for question in shipped.questions) >= 60
    monkeypatch.setattr(corpora, "UPDATED_FACTS_CORPUS", corpus)
    found = evaluate_as_json("updated-facts", "--budgets", "500")
    assert (found["corpus"]["name"], found["corpus"]["questions"]) == (UPDATED_FACTS_NAME, 4)
    assert found["results"]["500"]["report"]["total"]["measures"]["current_first"]["questions"] == 1


def test_golden_questions_are_evaluated_in_their_own_tenant(tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    golden(tenant, "What does ERR_4012 mean?", memories[1])
    before = counted_rows()
    found = evaluate_as_json("golden", "--tenant", tenant.name, "--budgets", "1000")
    assert found["results"]["1000"]["report"]["total"]["measures"]["recall"]["value"] == 1.0
    assert counted_rows() == before
    assert stages() == []


def test_run_without_a_tenant_is_kept_where_only_the_command_finds_it(corpus: Path, tenant: Tenant) -> None:
    run = stored_run(evaluate_as_json(corpus, "--budgets", "500")["run"])
    assert run.tenant_id != tenant.pk
    with admin_write_scope():
        assert Tenant.objects.get(pk=run.tenant_id).name == "~evaluations"


def test_all_problems_of_a_corpus_are_reported_at_once(corpus: Path) -> None:
    wrong = [{"id": f"q{number}", "text": "Who?", "evidence": [f"absent-{number}"]} for number in range(25)]
    (corpus / "questions.jsonl").write_text(lines(wrong))
    with pytest.raises(CommandError) as refused:
        evaluate(corpus)
    messages = str(refused.value).splitlines()
    assert "line 1, evidence" in messages[0]
    assert "'absent-19'" in messages[19]
    assert messages[20:] == ["... and 5 more."]


def test_unknown_run_to_compare_with_is_refused_before_any_evaluation(corpus: Path, tenant: Tenant) -> None:
    with pytest.raises(CommandError, match="There is no evaluation"):
        evaluate(corpus, "--tenant", tenant.name, "--compare", str(uuid4()))
    with admin_write_scope():
        assert not EvaluationRun.objects.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"questions.jsonl": ""}, "no questions"),
        ({"memories.jsonl": ""}, "no memories"),
        ({"questions.jsonl": lines([{"id": "q", "text": "Who?", "evidence": ["m9"]}])}, "memory 'm9' does not exist"),
        ({"memories.jsonl": "{"}, "not JSON"),
    ],
)
def test_bad_corpus_is_refused_with_exit_code_2(corpus: Path, change: dict[str, str], words: str) -> None:
    for name, text in change.items():
        (corpus / name).write_text(text)
    with pytest.raises(CommandError, match=words) as refused:
        evaluate(corpus)
    assert refused.value.returncode == 2
    assert stages() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "nonsense"], "No published scoring profile|Choose one of"),
        (["--packer", "nonsense"], "Choose one of"),
        (["--ordering", "stable"], "Choose one of"),
        (["--budgets", "0"], "budgets"),
        (["--budgets", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25"], "budgets"),
        (["--budgets", "x"], "whole numbers"),
        (["--tenant", "nobody"], "no tenant"),
        (["--resume", str(uuid4())], "no evaluation"),
        (["--compare", str(uuid4())], "no evaluation"),
    ],
)
def test_bad_option_is_refused_in_words(corpus: Path, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        evaluate(corpus, *arguments)
    assert stages() == []


def test_golden_questions_need_a_tenant_and_one_question(tenant: Tenant) -> None:
    with pytest.raises(CommandError, match="--tenant"):
        evaluate("golden")
    with pytest.raises(CommandError, match="no golden questions with existing memories yet") as refused:
        evaluate("golden", "--tenant", tenant.name)
    assert refused.value.returncode == 2


def broken_off(corpus: Path, monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException) -> EvaluationRun:
    """A run whose process dies after this many questions."""
    asked: list[str] = []
    real = evaluating.measure_question

    def dying(question: Any, setting: Any) -> Any:
        if len(asked) == after:
            raise error
        asked.append(question.id)
        return real(question, setting)

    monkeypatch.setattr(evaluating, "_WRITE_EVERY_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(evaluating, "measure_question", dying)
        with pytest.raises(type(error)):
            evaluate(corpus, "--budgets", "500")
    runs = [run for run in all_runs() if run.corpus_name == "bakery"]
    assert len(runs) == 1
    return runs[0]


def all_runs() -> list[EvaluationRun]:
    with admin_write_scope():
        return list(EvaluationRun.objects.all())


class Killed(BaseException):
    """The process ends at once: no code of it can react."""


def test_killed_run_continues_with_the_questions_that_have_no_answer(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = broken_off(corpus, monkeypatch, 2, Killed())
    assert (run.state, run.done, len(stages())) == ("running", 2, 1)
    asked: list[str] = []
    real = evaluating.measure_question

    def noting(question: Any, setting: Any) -> Any:
        asked.append(question.id)
        return real(question, setting)

    monkeypatch.setattr(evaluating, "measure_question", noting)
    found = evaluate_as_json(corpus, "--resume", run.pk)
    assert asked == ["q3", "q4"]
    assert found["run"] == str(run.pk)
    assert found["results"]["500"]["report"]["total"]["questions"] == 4
    assert stages() == []


def test_interrupted_run_leaves_no_memories_and_continues(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = broken_off(corpus, monkeypatch, 1, KeyboardInterrupt())
    assert (run.state, run.error_code, stages()) == ("failed", "interrupted", [])
    assert evaluate_as_json(corpus, "--resume", run.pk)["results"]["500"]["report"]["total"]["questions"] == 4


def test_changed_corpus_is_evaluated_again(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = broken_off(corpus, monkeypatch, 2, Killed())
    corpus_folder(tmp_path, [*QUESTIONS[:3], {**QUESTIONS[3], "text": "Where was Mina's flat?"}])
    assert evaluate_as_json(corpus, "--resume", run.pk)["results"]["500"]["report"]["total"]["questions"] == 4
    assert stored_run(run.pk).corpus_sha256 != run.corpus_sha256


def test_help_ends_in_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("evaluate", "--help")
    assert "Example: manage.py evaluate" in capsys.readouterr().out
