"""The demo tenant in the database: complete, with a consistent history, searchable, loaded once."""

import re
from collections import defaultdict
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from compaction.models import Compaction, Message, Session
from context.models import (
    BudgetProfile,
    BudgetProfileAssignment,
    EvaluationRun,
    Feedback,
    GoldenQuestion,
    Receipt,
    ScoringProfileVersion,
)
from context.receipts.storing import stored_context
from context.services.feedback.votes import EXPLICIT_WEIGHTS, usefulness_from_votes
from memories.embeddings.providers import EmbeddingError
from memories.models import (
    AuditEntry,
    Memory,
    MemoryLink,
    MemoryVersion,
    Partition,
    PartitionSummary,
    Snapshot,
    Tenant,
    TenantMemo,
)
from memories.services.hygiene.rules import NEVER_RETRIEVED_AFTER
from memories.services.partitions.paths import parse_partition
from memories.services.store.demo import demo_questions_for_tenant, read_demo
from memories.store.actions.edit import MemoryCounters, import_counters
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.management.commands import load_demo
from memory_platform.management.commands.load_demo import DemoLoader
from tests.integration.memories.search_helpers import retrieve_for_test
from tests.users import BY, new_operator, new_shared_tenant

pytestmark = pytest.mark.long

NAME = "Fennrad"


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("load_demo", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def neighbour(module_db: None) -> Tenant:
    """A tenant that existed before the demo."""
    return new_shared_tenant("Initech")


@pytest.fixture(scope="module")
def loaded(neighbour: Tenant) -> str:
    """Return what the command prints about the demo that all these tests use."""
    return run()


@pytest.fixture
def demo(db: None, loaded: str) -> Tenant:
    with admin_write_scope():
        return Tenant.objects.get(name=NAME)


def steps(name: str, verb: str) -> list[dict[str, Any]]:
    return [step for step in read_demo(name, timezone.now()) if step["do"] == verb]


def memories_of_file() -> QuerySet[Memory]:
    """Return the memories of the file, without those that compactions of the demo's sessions store."""
    return Memory.objects.exclude(metadata__has_key="compaction_id")


def test_every_memory_is_stored_and_ready(demo: Tenant) -> None:
    with tenant_scope(demo.pk):
        states = list(memories_of_file().values_list("embedding_state", flat=True))
        with_vector = memories_of_file().filter(embeddings__isnull=False).distinct().count()
    assert states == ["ready"] * len(steps("history", "store_memory"))
    assert with_vector == len(states)


def usefulness_today() -> dict[str, float]:
    """Return the imported score of each memory, or the one computed from its votes."""
    weights: dict[str, list[float]] = defaultdict(list)
    for step in steps("steering", "give_feedback"):
        weights[step["ref"]].append(EXPLICIT_WEIGHTS[step["feedback"]])
    for step in steps("steering", "withdraw_feedback"):
        weights[step["ref"]].remove(EXPLICIT_WEIGHTS[step["feedback"]])
    voted = {
        ref: usefulness_from_votes(sum(each for each in given if each > 0), -sum(each for each in given if each < 0))
        for ref, given in weights.items()
    }
    counters_of_demo = {
        step["ref"]: step.get("counters", {}).get("usefulness_score", 0.5) for step in steps("history", "store_memory")
    }
    return counters_of_demo | voted


def test_rows_contain_the_values_of_the_file(demo: Tenant) -> None:
    stored = steps("history", "store_memory")
    expected = {
        (
            step["partition"].path,
            step["kind"],
            step.get("confidence", 0.8),
            step.get("counters", {}).get("retrieval_count", 0),
        )
        for step in stored
    }
    ages = sorted(step["at"] for step in stored)
    with tenant_scope(demo.pk):
        rows = list(memories_of_file().order_by("created_at"))
        memo = TenantMemo.objects.current().get()
        paths = set(Partition.objects.values_list("path", flat=True))
    assert {(row.partition_path, row.kind, row.confidence, row.retrieval_count) for row in rows} == expected
    assert all(abs(row.created_at - age) < timedelta(minutes=5) for row, age in zip(rows, ages, strict=True))
    assert sorted(row.usefulness_score for row in rows) == sorted(usefulness_today().values())
    assert sum(row.archived_at is not None for row in rows) == len(steps("history", "archive_memory"))
    assert "ERR_4012" in memo.content
    assert memo.version == 3
    assert {"", "agent=support", "agent=support/user=c-10482"} <= paths


def test_history_has_the_times_of_the_file(demo: Tenant) -> None:
    with tenant_scope(demo.pk):
        versions = list(MemoryVersion.objects.all())
        cause = Memory.objects.get(content__startswith="ERR_4012 (torque", partition_path="agent=field-service")
        of_cause = list(cause.versions.order_by("version"))
        links = MemoryLink.objects.count()
        newest_audit = AuditEntry.objects.exclude(verb="adopt_counters").newest_first().first()
        future = Memory.objects.filter(recorded_from__gt=timezone.now()).count()
    assert len(versions) == len(steps("history", "update_memory"))
    assert links == len(steps("history", "link_memories"))
    assert [version.version for version in of_cause] == [1, 2, 3]
    assert all(version.valid_from == version.recorded_from for version in versions)
    for version, following in zip(of_cause, [*of_cause[1:], cause], strict=True):
        assert version.valid_to == version.recorded_to == following.valid_from == following.recorded_from
    assert timedelta(days=115) < of_cause[-1].valid_to - of_cause[0].valid_from < timedelta(days=116)
    assert demo.created_at < min(version.valid_from for version in versions)
    assert future == 0
    assert newest_audit
    assert newest_audit.at < timezone.now() - timedelta(days=1)
    assert newest_audit.actor_label in {"manage.py load_demo", "compaction"}


def test_every_page_has_something_true_to_show(demo: Tenant) -> None:
    with tenant_scope(demo.pk):
        versions = list(BudgetProfile.objects.versions().values_list("name", "version"))
        assigned = list(
            BudgetProfileAssignment.objects.current().order_by("pk").values_list("partition_path", flat=True)
        )
        votes = list(Feedback.objects.newest_first())
        summaries = PartitionSummary.objects.for_tenant(demo.pk)
        current = {(row.partition.path, row.style) for row in summaries.current().select_related("partition")}
        snapshots = list(Snapshot.objects.order_by("recorded_at"))
        note = Memory.objects.get(content="Firmware 2.3.4 fixes ERR_4012.")
        at_first = summaries.recorded_at(snapshots[0].recorded_at).count()
        assert at_first < summaries.current().count() < summaries.count()
    assert versions == [("assistant", 1), ("coder", 1), ("workshop", 3), ("workshop", 2), ("workshop", 1)]
    assert assigned == ["agent=field-service", "agent=coder", "agent=assistant"]
    assert [snapshot.name for snapshot in snapshots] == ["Before the sensor refit", "Quarterly review"]
    assert all(snapshot.recorded_at == snapshot.created_at for snapshot in snapshots)
    assert {("agent=support", "compact"), ("agent=coder/repo=webshop", "detailed")} <= current
    of_note = [(vote.weight, vote.withdrawn_at is None) for vote in votes if vote.memory_id == note.pk]
    assert of_note == [(-3, True), (-1, True), (-1, True), (1, False)]
    assert note.usefulness_score == pytest.approx(1 / 7)


def test_contexts_were_given_over_a_month_and_are_read_back_byte_for_byte(demo: Tenant) -> None:
    with tenant_scope(demo.pk):
        receipts = list(Receipt.objects.for_tenant(demo.pk).newest_first())
        stored = [stored_context(receipt) for receipt in receipts]
    queries = [step["query"] for step in steps("usage", "assemble_context")]
    assert [receipt.query for receipt in receipts] == queries[::-1]
    assert timedelta(days=20) < receipts[0].created_at - receipts[-1].created_at < timedelta(days=30)
    assert all(context.is_verified for context in stored)
    assert all(receipt.tokens_used and not receipt.warnings for receipt in receipts)
    assert {receipt.budget_profile["name"] for receipt in receipts} == {"default", "workshop", "coder", "assistant"}


def test_measuring_pages_have_a_draft_questions_and_two_evaluations_to_show(demo: Tenant) -> None:
    questions = steps("steering", "collect_golden_question")
    with tenant_scope(demo.pk):
        drafts = list(ScoringProfileVersion.objects.for_tenant(demo.pk).versions())
        wanted = GoldenQuestion.objects.for_tenant(demo.pk).not_removed().with_evidence(timezone.now()).oldest_first()
        counts = [(row.text, len(row.memory_ids), len(row.live_memory_ids)) for row in wanted]
        runs = list(EvaluationRun.objects.for_tenant(demo.pk).newest_first())
    assert [(row.version, row.based_on, row.state) for row in drafts] == [
        (2, "support-recall 1", "evaluated"),
        (1, "conversation-recall 1", "draft"),
    ]
    assert counts == [(each["text"], len(each["wants"]), len(each["wants"])) for each in questions]
    assert [(run.profile_name, run.state, run.total) for run in runs] == [
        ("support-recall", "done", len(questions)),
        ("adr-0040", "done", len(questions)),
    ]
    assert runs[0].corpus_sha256 == runs[1].corpus_sha256
    assert runs[0].results["2000"]["report"]["total"]["measures"]["recall"]["value"] > 0.5


def test_memories_that_were_never_retrieved_are_in_no_context(demo: Tenant) -> None:
    now = timezone.now()
    with tenant_scope(demo.pk):
        unused = set(memories_of_file().filter(retrieval_count=0).values_list("pk", flat=True))
        ages = memories_of_file().filter(pk__in=unused).values_list("created_at", flat=True)
        assert len(unused) == 3
        assert all(now - each > NEVER_RETRIEVED_AFTER for each in ages)
        used = {pk for ids in Receipt.objects.for_tenant(demo.pk).values_list("memory_ids", flat=True) for pk in ids}
    assert used
    assert not unused & used


def test_sessions_show_a_summary_in_force_one_that_waits_and_masked_outputs(demo: Tenant) -> None:
    with tenant_scope(demo.pk):
        compactions = list(Compaction.objects.order_by("created_at"))
        sessions = list(Session.objects.order_by("created_at"))
        masked = Message.objects.filter(state="masked").count()
        audited = AuditEntry.objects.filter(verb="append_messages").count()
    assert [row.state for row in compactions] == ["applied", "proposed", "applied"]
    assert [bool(row.summary_text) for row in compactions] == [True, True, False]
    assert masked == compactions[2].masked_count > 0
    assert sessions[1].pressure > 0.85
    assert all(row.last_message_at and row.last_message_at < timezone.now() for row in sessions)
    assert audited == 3


def test_suggested_questions_find_their_answers(demo: Tenant) -> None:
    found = {}
    for query, partition in demo_questions_for_tenant(NAME):
        retrieval = retrieve_for_test(
            demo,
            query,
            partition=parse_partition(partition),
            now=timezone.now(),
            token_budget=600,
            overfetch_ratio=1.25,
            encoding="o200k_base",
        )
        found[query] = "\n".join(candidate.content for candidate in retrieval.candidates)
    wanted = ["sensor swap", "700 full charging", "6 Nm", "get_or_create", "¥11,250", "Hafenspitze"]
    for text, answer in zip(found.values(), wanted, strict=True):
        assert answer in text


def test_preview_of_the_demo_suggests_queries(demo: Tenant, other_tenant: Tenant, client: Client) -> None:
    client.force_login(new_operator("viola", "viewer", demo, other_tenant))
    page = client.get(f"/t/{demo.pk}/context").content.decode()
    assert all(escape(query) in page for query, _ in demo_questions_for_tenant(NAME))
    assert "Worth asking" not in client.get(f"/t/{other_tenant.pk}/context").content.decode()


def test_second_load_changes_nothing_and_reports_it(demo: Tenant) -> None:
    with tenant_scope(demo.pk):
        before = Memory.objects.count()
    assert run() == f"The tenant {NAME} already exists; nothing was changed.\n"
    with admin_write_scope():
        assert Tenant.objects.filter(name=NAME).count() == 1
    with tenant_scope(demo.pk):
        assert Memory.objects.count() == before


def test_tenant_has_the_demos_own_name_by_default(demo: Tenant, loaded: str) -> None:
    assert loaded == f"The tenant {demo.name} has 164 memories.\n"


def test_tenant_beside_the_demo_gets_no_memory(demo: Tenant, neighbour: Tenant) -> None:
    with tenant_scope(neighbour.pk):
        assert Memory.objects.count() == 0


def test_failure_midway_leaves_nothing(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    take_step = DemoLoader.take_step

    def fail_late(loader: DemoLoader, **row: Any) -> None:
        if len(loader.memories) == 20:
            raise CommandError("The disk is full.")
        take_step(loader, **row)

    monkeypatch.setattr(DemoLoader, "take_step", fail_late)
    with pytest.raises(CommandError, match="disk"):
        run("--tenant", "Halfway")
    with admin_write_scope():
        assert not Tenant.objects.filter(name="Halfway").exists()


def test_provider_that_is_away_leaves_the_memories_to_the_worker(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> int:
        raise EmbeddingError("The provider does not answer.", is_permanent=False)

    monkeypatch.setattr(load_demo, "index_memories", away)
    out, err = StringIO(), StringIO()
    call_command("load_demo", "--tenant", "Offline", stdout=out, stderr=err)
    assert out.getvalue() == "The tenant Offline has 164 memories.\n"
    assert "the worker continues it: The provider does not answer." in err.getvalue()
    with admin_write_scope():
        assert not Receipt.objects.filter(tenant__name="Offline").exists()


def test_counters_reach_no_memory_of_another_tenant(demo: Tenant, other_tenant: Tenant) -> None:
    with tenant_scope(demo.pk):
        memory = Memory.objects.get(content__startswith="W_118")
    counters_of_demo = {memory.pk: MemoryCounters(usefulness_score=1.0, retrieval_count=99, last_retrieved_at=None)}
    with tenant_scope(other_tenant.pk):
        imported = import_counters(tenant_id=other_tenant.pk, counters=counters_of_demo, by=BY, now=timezone.now())
    with tenant_scope(demo.pk):
        memory.refresh_from_db()
    assert imported == 0
    assert memory.retrieval_count == 6


def test_name_that_no_tenant_may_have_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="1 to 100 printable characters"):
        run("--tenant", "x" * 101)


def test_a_figure_is_the_same_on_every_page_that_shows_it(demo: Tenant, client: Client) -> None:
    client.force_login(new_operator("ada", "admin", demo))

    def page_text(name: str, *args: Any, **query: str) -> str:
        address = reverse(name, args=[demo.pk, *args])
        text = client.get(address, {**query, "whole": "1"}).content.decode()
        return unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))

    def figure(pattern: str, text: str) -> str:
        found = re.search(pattern, text)
        assert found, pattern
        return found[1]

    kinds = r"(fact \d+ episode \d+ preference \d+)"
    overview, tree, listed = page_text("tenant-overview"), page_text("partitions"), page_text("memories")
    sessions, reviews, memo = page_text("sessions"), page_text("reviews"), page_text("memo")
    pairs = [
        (figure(r"(\d+) partitions, \d+ pinned", overview), figure(r"whole tenant (\d+) partitions", tree)),
        (figure(kinds, overview), figure(kinds, listed)),
        (figure(r"(\d+) summar\w+ waits? for review", overview), figure(r"Waiting for review (\d+)", reviews)),
        (figure(r"Reviews (\d+) waiting", overview), figure(r"Waiting for review (\d+)", reviews)),
        (figure(r"Tenant memo ([\d,]+ tokens)", overview), figure(r"([\d,]+ tokens)", memo)),
    ]
    with tenant_scope(demo.pk):
        rows, questions = list(Session.objects.all()), GoldenQuestion.objects.not_removed().count()
    pairs.append((figure(r"Open sessions (\d+)", overview), str(sessions.count("last message"))))
    for row in rows:
        page = page_text("session", row.pk)
        pressure = figure(r"(\d+ % [\d,]+ of [\d,]+ tokens)", page)
        pairs.append((pressure, pressure if pressure in sessions else "not listed"))
        pairs.append((figure(r"Messages \d+ to \d+ of (\d+) messages", page), str(row.message_count)))
    pairs.append((figure(r"done .*? tokens (\d+) \d+ \w{3} \d{4}", page_text("evaluations")), str(questions)))
    assert [each for each in pairs if each[0] != each[1]] == []
