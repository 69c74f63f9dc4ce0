"""Roll-ups: their input, when they run, and what they do not change."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from compaction.models import Run
from compaction.rollups import rollups
from compaction.rollups.rollups import open_roll_up, roll_up_changed_partitions, roll_up_partition, run_roll_up
from context.profiles.actions.budget_profiles import save_budget_profile
from memories.models import Partition, PartitionSummary, Tenant
from memories.partitions.actions import save_summary
from memories.services.partitions.paths import parse_partition
from memories.services.tokens import count_tokens
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.fakes.chat_server import (
    FAKE_CHAT_API_KEY,
    ChatServer,
    failing_chat,
    lines_of,
    running_chat_server,
    saying,
)
from tests.users import api_client, new_key

LATER = FACTORY_NOW + timedelta(hours=1)
FACTS = (
    "Alex moved to Lisbon in March 2026.",
    "Alex prefers meetings before noon.",
    "Alex works for Norrland Rail on the signalling team.",
    "Alex is allergic to peanuts.",
    "Alex plans to visit Porto on 3 July 2026.",
    "Alex keeps a greyhound named Pixel.",
)


def facts(tenant: Tenant, partition: str = "user=alex/topic=life") -> list[Any]:
    return [make_memory(tenant, text, partition=partition) for text in FACTS]


def place(tenant: Tenant, path: str) -> Partition:
    with tenant_scope(tenant.pk):
        row: Partition = Partition.objects.for_tenant(tenant.pk).get(path=path)
        return row


def summaries(tenant: Tenant, path: str) -> list[PartitionSummary]:
    with tenant_scope(tenant.pk):
        return list(PartitionSummary.objects.for_tenant(tenant.pk).of_partition(path).order_by("style", "version"))


def test_roll_up_keeps_statements_of_memories_within_its_budget(tenant: Tenant) -> None:
    facts(tenant)
    for style, tokens in (("compact", 120), ("detailed", 600)):
        done = roll_up_partition(tenant.pk, place(tenant, "user=alex/topic=life").pk, style, now=LATER)
        assert done.is_new
        assert done.summary is not None
        assert done.summary.origin == "rollup"
        assert done.summary.tokens_o200k_base == count_tokens(done.summary.content) <= tokens
    for word in ("Lisbon", "noon", "Norrland", "peanuts", "Porto", "Pixel"):
        assert word in done.summary.content


def test_small_budget_of_the_profile_is_kept(tenant: Tenant) -> None:
    facts(tenant)
    with tenant_scope(tenant.pk):
        save_budget_profile(
            tenant_id=tenant.pk,
            changes={"compaction": {"roll_up_compact_tokens": 32}},
            edited_from=0,
            by=TESTER,
            now=FACTORY_NOW,
        )
    done = roll_up_partition(tenant.pk, place(tenant, "user=alex/topic=life").pk, "compact", now=LATER)
    assert done.summary is not None
    assert done.summary.tokens_o200k_base <= 32


def test_same_memories_make_no_second_version(tenant: Tenant) -> None:
    facts(tenant)
    partition = place(tenant, "user=alex/topic=life")
    assert roll_up_partition(tenant.pk, partition.pk, "compact", now=LATER).is_new
    assert not roll_up_partition(tenant.pk, partition.pk, "compact", now=LATER + timedelta(hours=1)).is_new


def test_schedule_reaches_the_partitions_above_and_then_rests(tenant: Tenant) -> None:
    facts(tenant)
    assert roll_up_changed_partitions(now=LATER) == 4
    for path in ("user=alex/topic=life", "user=alex"):
        assert [row.style for row in summaries(tenant, path)] == ["compact", "detailed"]
        assert "Lisbon" in summaries(tenant, path)[1].content
    assert summaries(tenant, "") == []
    assert roll_up_changed_partitions(now=LATER + timedelta(hours=1)) == 0


def test_schedule_rests_after_a_change_that_leaves_the_text_as_it_is(tenant: Tenant) -> None:
    rows = facts(tenant)
    roll_up_changed_partitions(now=LATER)
    with tenant_scope(tenant.pk):
        update_memory(memory=rows[0], changes={"metadata": {"a": 1}}, by=TESTER, now=LATER + timedelta(minutes=5))
    assert [roll_up_changed_partitions(now=LATER + timedelta(hours=hours)) for hours in (1, 2)] == [0, 0]
    with tenant_scope(tenant.pk):
        runs = Run.objects.for_tenant(tenant.pk).filter(created_at__gt=LATER)
        # one of each style
        assert [run.created_at for run in runs] == [LATER + timedelta(hours=1)] * 2


def test_schedule_follows_a_changed_and_an_archived_memory(tenant: Tenant) -> None:
    rows = facts(tenant)
    roll_up_changed_partitions(now=LATER)
    with tenant_scope(tenant.pk):
        archive_memory(memory=rows[3], by=TESTER, now=LATER + timedelta(minutes=5))
    assert roll_up_changed_partitions(now=LATER + timedelta(hours=1)) == 4
    assert "peanuts" not in summaries(tenant, "user=alex")[-1].content


def test_schedule_starts_with_the_first_memory_and_leaves_written_summaries_alone(tenant: Tenant) -> None:
    make_memory(tenant, FACTS[0], partition="user=mina")
    facts(tenant, "user=kim")
    with tenant_scope(tenant.pk):
        for style in ("compact", "detailed"):
            save_summary(
                tenant=tenant, partition=parse_partition("user=kim"), style=style, content="Written by hand.",
                origin="operator", by=TESTER, now=FACTORY_NOW,
            )  # fmt: skip
    assert roll_up_changed_partitions(now=LATER) == 2
    assert [row.content for row in summaries(tenant, "user=mina")] == [f"1 June 2026: {FACTS[0]}"] * 2
    assert [row.content for row in summaries(tenant, "user=kim")] == ["Written by hand."] * 2


@pytest.mark.parametrize(("requested_by", "kept"), [("", "Written by hand."), ("olga", "")])
def test_text_written_while_a_run_waits_stays_unless_an_operator_requested_the_run(
    tenant: Tenant, requested_by: str, kept: str
) -> None:
    facts(tenant)
    partition = place(tenant, "user=alex/topic=life")
    with tenant_scope(tenant.pk):
        run = open_roll_up(partition, "compact", requested_by, FACTORY_NOW)
        save_summary(
            tenant=tenant, partition=parse_partition(partition.path), style="compact", content="Written by hand.",
            origin="operator", by=TESTER, now=FACTORY_NOW,
        )  # fmt: skip
    run_roll_up(tenant.pk, run.pk, now=LATER)
    current = summaries(tenant, partition.path)[-1]
    assert (current.content if kept else current.origin) == (kept or "rollup")


def test_profile_switches_the_schedule_off(tenant: Tenant) -> None:
    facts(tenant)
    with tenant_scope(tenant.pk):
        save_budget_profile(
            tenant_id=tenant.pk,
            changes={"compaction": {"has_roll_ups": False}},
            edited_from=0,
            by=TESTER,
            now=FACTORY_NOW,
        )
    assert roll_up_changed_partitions(now=LATER) == 0


def test_roll_up_of_nothing_is_withdrawn(tenant: Tenant) -> None:
    rows = facts(tenant)
    partition = place(tenant, "user=alex/topic=life")
    roll_up_partition(tenant.pk, partition.pk, "compact", now=LATER)
    with tenant_scope(tenant.pk):
        for row in rows:
            archive_memory(memory=row, by=TESTER, now=LATER)
    assert roll_up_partition(tenant.pk, partition.pk, "compact", now=LATER + timedelta(hours=1)).summary is None
    assert [row.recorded_to is None for row in summaries(tenant, partition.path)] == [False]


def test_two_runs_of_one_summary_cannot_be_open_and_one_is_done_once(tenant: Tenant) -> None:
    facts(tenant)
    partition = place(tenant, "user=alex/topic=life")
    with tenant_scope(tenant.pk):
        run = open_roll_up(partition, "compact", "olga", FACTORY_NOW)
        with pytest.raises(Conflict):
            open_roll_up(partition, "compact", "olga", FACTORY_NOW)
    assert run_roll_up(tenant.pk, run.pk, now=LATER) is not None
    assert run_roll_up(tenant.pk, run.pk, now=LATER) is None
    with tenant_scope(tenant.pk):
        assert Run.objects.for_tenant(tenant.pk).get(pk=run.pk).state == "done"


def test_roll_up_that_takes_too_long_fails_and_is_not_tried_again(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollups, "WORK_TIME_LIMIT", timedelta(seconds=-1))
    facts(tenant)
    partition = place(tenant, "user=alex/topic=life")
    with tenant_scope(tenant.pk):
        run = open_roll_up(partition, "compact", "olga", FACTORY_NOW)
    assert run_roll_up(tenant.pk, run.pk, now=LATER) is None
    with tenant_scope(tenant.pk):
        run.refresh_from_db()
    assert (run.state, run.error_code) == ("failed", "time_limit")


def roll_up(tenant: Tenant, path: str, style: str = "detailed") -> PartitionSummary:
    summary = roll_up_partition(tenant.pk, place(tenant, path).pk, style, now=LATER).summary
    assert summary is not None
    return summary


def test_memories_are_quoted_word_for_word_with_their_own_day(tenant: Tenant) -> None:
    quote = 'Bea wrote: "The bridge to the island closes in June for a whole year of repairs."'
    for number, text in enumerate((FACTS[0], quote)):
        make_memory(tenant, text, partition="user=alex", created_at=FACTORY_NOW - timedelta(days=2 - number))
    assert roll_up(tenant, "user=alex").content == f"30 May 2026: {FACTS[0]}\n31 May 2026: {quote}"


def test_summary_of_a_session_is_no_memory_to_roll_up(tenant: Tenant) -> None:
    make_memory(tenant, FACTS[0], partition="user=alex")
    make_memory(tenant, "Alex: told a long story.", partition="user=alex", metadata={"type": "context_synthesis"})
    make_memory(tenant, "Alex: told it again.", partition="user=kim", metadata={"type": "context_synthesis"})
    assert roll_up_changed_partitions(now=LATER) == 2
    assert "story" not in roll_up(tenant, "user=alex").content
    assert summaries(tenant, "user=kim") == []


def test_partitions_below_are_included_with_and_without_a_summary(tenant: Tenant) -> None:
    make_memory(tenant, FACTS[0], partition="user=alex")
    make_memory(tenant, FACTS[1], partition="user=alex/topic=work")
    make_memory(tenant, FACTS[3], partition="user=alex/topic=life/part=food")
    make_memory(tenant, "Alex sold the tent.", partition="user=alex/topic=trips")
    with tenant_scope(tenant.pk):
        save_summary(
            tenant=tenant, partition=parse_partition("user=alex/topic=trips"), style="detailed",
            content="Written by hand.", origin="operator", by=TESTER, now=FACTORY_NOW,
        )  # fmt: skip
    content = roll_up(tenant, "user=alex").content
    for text in (FACTS[0], FACTS[1], FACTS[3], "Written by hand."):
        assert text in content


def test_busy_partition_below_does_not_fill_the_roll_up(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollups, "BELOW_READ_MAX", 2)
    make_memory(tenant, FACTS[1], partition="user=alex/topic=work", created_at=FACTORY_NOW - timedelta(days=9))
    for number in range(6):
        make_memory(tenant, f"The order MV-2000{number} is here.", partition="user=alex/topic=orders")
    content = roll_up(tenant, "user=alex").content
    assert FACTS[1] in content
    assert content.count("MV-2000") == 2


@pytest.fixture
def server(settings: Any) -> Iterator[ChatServer]:
    with running_chat_server() as server:
        settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_MODEL = server.base_url, FAKE_CHAT_API_KEY, ""
        yield server
        settings.LLM_BASE_URL = settings.LLM_API_KEY = ""


def model_says(*statements: tuple[str, int]) -> Any:
    items = [{"text": text, "messages": [number]} for text, number in statements]
    return saying(json.dumps({"statements": items}))


def test_configured_model_writes_the_roll_up_and_rules_fill_in_for_what_it_invents(
    tenant: Tenant, server: ChatServer
) -> None:
    for number, text in enumerate(FACTS[:3]):
        make_memory(tenant, text, partition="user=alex", created_at=FACTORY_NOW + timedelta(minutes=number))
    server.mode = model_says(("Alex moved to Lisbon in March 2026.", 1), ("Alex prefers meetings in Berlin.", 2))
    summary = roll_up(tenant, "user=alex")
    assert (summary.summariser, summary.is_fallback) == ("openai", False)
    assert summary.content.startswith("Alex moved to Lisbon in March 2026.\n")
    assert "Berlin" not in summary.content
    assert FACTS[1] in summary.content
    assert [line["text"] for line in lines_of(server.requests[0])] == list(FACTS[:3])


def test_rules_write_the_roll_up_where_the_model_fails_and_it_is_marked(
    tenant: Tenant, server: ChatServer, api: Any
) -> None:
    make_memory(tenant, FACTS[0], partition="user=alex")
    server.mode = failing_chat(500)
    summary = roll_up(tenant, "user=alex")
    assert (summary.summariser, summary.is_fallback) == ("extractive", True)
    (shown,) = api.get("/api/v1/partitions/user%3Dalex/summaries?style=detailed").json()["results"]
    assert (shown["summariser"], shown["is_fallback"]) == ("extractive", True)


def test_roll_up_is_requested_over_rest(tenant: Tenant, api: Any, other_tenant: Tenant) -> None:
    facts(tenant)
    address = "/api/v1/partitions/user%3Dalex%2Ftopic%3Dlife/roll-up"
    answer = api.post(address, {"style": "compact"}, format="json")
    assert answer.status_code == 202
    assert answer.json()["event_id"]
    assert api.post(address, {"style": "compact"}, format="json").status_code == 409
    assert api.post(address, {"style": "loud"}, format="json").status_code == 400
    assert api.post("/api/v1/partitions/user%3Dnobody/roll-up", {"style": "compact"}, format="json").status_code == 404
    confined = api_client(new_key(tenant, "read", "write", partition="user=mina"))
    assert confined.post(address, {"style": "compact"}, format="json").status_code in {403, 404}
    stranger = api_client(new_key(other_tenant, "read", "write"))
    assert stranger.post(address, {"style": "compact"}, format="json").status_code == 404
    reader = api_client(new_key(tenant, "read"))
    assert reader.post(address, {"style": "compact"}, format="json").status_code == 403
