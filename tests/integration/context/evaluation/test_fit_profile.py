"""`manage.py fit_profile`: a calibrated draft from a corpus or golden questions, and what it refuses."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.evaluation import calibration
from context.models import ScoringProfileVersion
from context.receipts.results import ContextRequest
from context.services.evaluation.corpus import Corpus, CorpusMemory, CorpusQuestion, write_corpus
from context.services.profiles.scoring_profiles import CONVERSATION_RECALL
from memories.models import Memory, Tenant
from memories.tenancy.actions.tenants import create_hidden_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, maintenance_scope, tenant_scope

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
ROOMS = [f"{colour} {thing}" for colour in ("red", "green", "blue", "grey", "white", "black", "brown", "pink")
         for thing in ("kiln", "lathe", "press", "crane", "forge", "pump", "drill", "saw", "oven", "mill")]  # fmt: skip


def corpus(count: int) -> Corpus:
    """Machines with one fact each, and a question for each fact."""
    memories = [
        CorpusMemory(
            id=f"m{number}",
            content=f"The {name} is serviced every {number + 3} weeks by team {number % 7}.",
            created_at=START + timedelta(hours=number),
        )
        for number, name in enumerate(ROOMS[:count])
    ]
    questions = [
        CorpusQuestion(
            id=f"q{number}",
            text=f"How often is the {name} serviced?",
            evidence=frozenset({f"m{number}"}),
            asked_at=START + timedelta(days=30),
        )
        for number, name in enumerate(ROOMS[:count])
    ]
    return Corpus("machines", memories, questions)


def fit(tmp_path: Path, count: int, **options: str) -> str:
    write_corpus(corpus(count), tmp_path)
    out = StringIO()
    call_command("fit_profile", str(tmp_path), tenant="Acme", stdout=out, **{"name": "learnt", **options})
    return out.getvalue()


def drafts(tenant: Tenant) -> list[ScoringProfileVersion]:
    with tenant_scope(tenant.pk):
        return list(ScoringProfileVersion.objects.for_tenant(tenant.pk).versions())


def test_corpus_becomes_a_calibrated_draft_with_its_report(tenant: Tenant, tmp_path: Path) -> None:
    output = fit(tmp_path, 50)
    (row,) = drafts(tenant)
    assert (row.name, row.version, row.state, row.based_on) == ("learnt", 1, "draft", "conversation-recall 1")
    assert row.profile.is_calibrated
    assert row.numbers["weights"] == dict(CONVERSATION_RECALL.weights)
    assert row.report["positives"] <= 50 < row.report["rows"]
    for words in ("log-odds", "log loss", "Brier", "AUC", "held out", "calibrated, optimal", "is a draft"):
        assert words in output, words
    with tenant_scope(tenant.pk):
        assert not Memory.objects.for_tenant(tenant.pk).exists()
    with maintenance_scope():
        assert not Tenant.objects.hidden().exists()
    optimal_packing_warns_without_calibration_alone(tenant, row)
    fit(tmp_path, 55)
    assert [each.version for each in drafts(tenant)] == [2, 1]


def optimal_packing_warns_without_calibration_alone(tenant: Tenant, row: ScoringProfileVersion) -> None:
    def codes(**scoring: object) -> list[str]:
        request = ContextRequest(query="kiln", packer="optimal", preview=True, **scoring)  # type: ignore[arg-type]
        caller = ContextCaller(tenant.pk, Actor.system("tests"), START + timedelta(days=40))
        context = assemble_context(request, caller)
        return [notice.code for notice in context.warnings]

    assert "uncalibrated_profile" not in codes(scoring=row.profile)
    assert "uncalibrated_profile" in codes()


def test_too_little_data_is_refused_and_nothing_is_left(tenant: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"needs 200 candidates|coefficients need") as refused:
        fit(tmp_path, 22)
    assert refused.value.returncode == 2
    assert drafts(tenant) == []
    with maintenance_scope():
        assert not Tenant.objects.hidden().exists()


@pytest.mark.parametrize(
    ("count", "words"), [(4, "at least 5 questions"), (12, "at least 20 memories named as evidence")]
)
def test_too_few_questions_are_refused_before_anything_is_loaded(
    tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, words: str
) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(calibration, "stage_questions", lambda *given, **_: loaded.append(given))
    with pytest.raises(CommandError, match=words) as refused:
        fit(tmp_path, count)
    assert refused.value.returncode == 2
    assert loaded == []


def test_remains_of_a_killed_command_are_deleted_at_the_next_start(tenant: Tenant, tmp_path: Path) -> None:
    now = timezone.now()
    with admin_write_scope():
        for words, ago in (("calibration", 7), ("evaluation", 7), ("calibration", 1)):
            create_hidden_tenant(words=f"{words} {uuid4()}", by=Actor.system("tests"), now=now - timedelta(hours=ago))
    assert calibration.drop_killed_calibrations(now=now) == 1
    with maintenance_scope():
        left = sorted(name.split()[0] for name in Tenant.objects.hidden().values_list("name", flat=True))
    assert left == ["~calibration", "~evaluation"]


@pytest.mark.parametrize("command", [["fit_profile", "--name", "learnt"], ["evaluate", "golden"]])
def test_absent_tenant_is_input_that_cannot_be_used(tenant: Tenant, command: list[str]) -> None:
    with pytest.raises(CommandError, match="no tenant named") as refused:
        call_command(*command, "--tenant", "Nobody")
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base": "nobody"}, "No published scoring profile"),
        ({"name": "adr-0040"}, "name of its own"),
        ({"name": "Two Words"}, "name of its own"),
    ],
)
def test_wrong_name_is_refused(tenant: Tenant, tmp_path: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        fit(tmp_path, 80, **options)
    assert drafts(tenant) == []


def test_tenant_without_golden_questions_and_an_absent_tenant_are_refused(tenant: Tenant) -> None:
    with pytest.raises(CommandError, match="no golden questions with existing memories yet"):
        call_command("fit_profile", tenant="Acme", name="learnt")
    with pytest.raises(CommandError, match="no tenant named"):
        call_command("fit_profile", tenant="Nobody", name="learnt")
