"""Replays of contexts: as recorded, after any later change, and with today's data."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from context.assembly.replay import replay_context
from context.assembly.sources import ContextCaller
from context.models import Receipt
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.receipts.results import AssembledContext, Focus
from context.receipts.storing import StoredContext
from memories.models import Memory, PartitionSummary, Tenant
from memories.partitions.actions import link_memories, save_summary, set_tenant_memo, withdraw_summary
from memories.services.partitions.paths import parse_partition
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.recall import fold_tenant_retrievals
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    bakery,
    block_texts,
    make_empty_tenant,
    new_row,
    store,
)

pytestmark = pytest.mark.django_db

QUESTION = "What flour does Alex like?"
LATER = CONTEXT_NOW + timedelta(days=1)
LONG = "Alex likes flour from the mill by the river, and says so at length. " * 12


def again(
    tenant: Tenant, given: AssembledContext, mode: str = "recorded", *, reach: str = "", now: Any = LATER
) -> StoredContext:
    return replay_context(given.id or uuid.uuid4(), mode, ContextCaller(tenant.pk, SYSTEM, now, reach))


def inputs_of(context: AssembledContext) -> dict[str, Any]:
    """Return the inputs of a request; its sender differs in each replay."""
    return {name: value for name, value in context.request.items() if name != "actor"}


def summarise(tenant: Tenant, content: str, now: Any) -> PartitionSummary:
    with tenant_scope(tenant.pk):
        return save_summary(
            tenant=tenant,
            partition=parse_partition("user=alex"),
            style="compact",
            content=content,
            origin="operator",
            by=SYSTEM,
            now=now,
        )


def memories_of(tenant: Tenant) -> list[Memory]:
    return list(Memory.objects.for_tenant(tenant.pk).order_by("pk"))


@pytest.fixture
def tenant() -> Tenant:
    """The bakery with a summary, a link, a pinned memory, one that expires and some long ones."""
    tenant = bakery()
    summarise(tenant, "All about Alex.", CONTEXT_NOW - timedelta(days=1))
    rows = store(
        tenant,
        [
            new_row("Alex holds a tasting.", "user=alex", pinned=True),
            new_row("The tasting is on Friday.", "user=alex", expires_at=CONTEXT_NOW + timedelta(hours=2)),
            *(new_row(f"{LONG} Note {n}.", "user=alex") for n in range(3)),
        ],
    )
    with tenant_scope(tenant.pk):
        link_memories(source=rows[0], target=rows[1], kind="about", by=SYSTEM, now=CONTEXT_NOW - timedelta(hours=1))
    return tenant


def edit(tenant: Tenant) -> None:
    for number, row in enumerate(memories_of(tenant)):
        for version in range(2):
            changes = {"content": f"Edit {version} of number {number}."}
            update_memory(memory=row, changes=changes, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=version + 1))


def archive(tenant: Tenant) -> None:
    for row in memories_of(tenant):
        archive_memory(memory=row, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=1))


def archive_and_restore(tenant: Tenant) -> None:
    archive(tenant)
    for row in memories_of(tenant):
        restore_memory(memory=row, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=2))


def import_the_past(tenant: Tenant) -> None:
    rows = [
        new_row(f"Alex liked flour number {n} best.", created_at=CONTEXT_NOW - timedelta(days=n + 2)) for n in range(30)
    ]
    store(tenant, rows)


def change_the_summary(tenant: Tenant) -> None:
    summarise(tenant, "All about Alex, written anew.", CONTEXT_NOW + timedelta(hours=1))
    row = summarise(tenant, "All about Alex, a third time.", CONTEXT_NOW + timedelta(hours=2))
    withdraw_summary(summary=row, by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=3))


def change_the_memo(tenant: Tenant) -> None:
    set_tenant_memo(tenant=tenant, content="Another memo.", by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=1))
    set_tenant_memo(tenant=tenant, content="", by=SYSTEM, now=CONTEXT_NOW + timedelta(hours=2))


def change_the_profile(tenant: Tenant) -> None:
    changes = {"packer": "elastic", "ordering": "u_curve", "default_tokens": 70, "include_tenant_memo": False}
    save_budget_profile(tenant_id=tenant.pk, changes=changes, edited_from=0, by=SYSTEM, now=CONTEXT_NOW)


CHANGES: list[Callable[[Tenant], None]] = [
    edit, archive, archive_and_restore, import_the_past, change_the_summary, change_the_memo, change_the_profile,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_recorded_replay_gives_the_text_byte_for_byte(tenant: Tenant, change: Callable[[Tenant], None]) -> None:
    with tenant_scope(tenant.pk):
        focus = Memory.objects.for_tenant(tenant.pk).get(content="Alex holds a tasting.").pk
    options = {"focus": Focus(memory_id=focus), "partition": "", "max_tokens": 180, "explain": True}
    packed = {
        packer: assemble_test_context(tenant, QUESTION, packer=packer, **options)
        for packer in ("greedy", "elastic", "optimal")
    }
    assert any(block.truncated for block in packed["elastic"].blocks)
    with tenant_scope(tenant.pk):
        change(tenant)
    for packer, given in packed.items():
        replayed = again(tenant, given)
        assert replayed.is_verified, packer
        assert replayed.context.text == given.text, packer
        assert replayed.context.blocks == given.blocks, packer
        answers = [context.as_answer(explain=True) | {"timings": 0} for context in (replayed.context, given)]
        assert answers[0] == answers[1], packer


def test_everything_at_once_and_expiry_leave_the_text_as_it_was(tenant: Tenant) -> None:
    given = assemble_test_context(
        tenant, QUESTION, partition="user=alex", packer="elastic", render="json", ordering="u_curve"
    )
    for change in (change_the_memo, change_the_summary, change_the_profile, import_the_past, edit, archive_and_restore):
        with tenant_scope(tenant.pk):
            change(tenant)
    assert again(tenant, given, now=CONTEXT_NOW + timedelta(days=400)).context.text == given.text


def test_context_from_before_pinned_memories_had_a_share_is_given_back_as_it_was(tenant: Tenant) -> None:
    rules = [f"{word} are counted every evening." for word in ("Coins", "Loaves", "Trays", "Keys", "Aprons", "Knives")]
    store(tenant, [new_row(rule, "user=alex", pinned=True) for rule in rules])
    with tenant_scope(tenant.pk):
        create_budget_profile(tenant_id=tenant.pk, name="pins", changes={"pinned_share": 1}, by=SYSTEM, now=CONTEXT_NOW)
    given = assemble_test_context(tenant, QUESTION, partition="user=alex", budget_profile="pins", max_tokens=90)
    with tenant_scope(tenant.pk):
        changes = {"pinned_share": 0.3}
        save_budget_profile(
            tenant_id=tenant.pk, name="pins", changes=changes, edited_from=1, by=SYSTEM, now=CONTEXT_NOW
        )
    replayed = again(tenant, given)
    assert replayed.is_verified
    assert replayed.context.text == given.text
    assert replayed.context.omitted == given.omitted
    assert not again(tenant, given, "today", now=CONTEXT_NOW).is_verified


def test_shortened_text_is_stored_as_the_place_of_its_cut(tenant: Tenant) -> None:
    given = assemble_test_context(tenant, QUESTION, packer="elastic", max_tokens=150)
    with tenant_scope(tenant.pk):
        row = Receipt.objects.for_tenant(tenant.pk).get(pk=given.id)
    cuts = [block.cut for block in given.blocks]
    assert any(cuts)
    assert [stored[3] if len(stored) == 4 else None for stored in row.blocks] == cuts
    assert "river" not in f"{row.blocks} {row.omitted} {row.candidates}"


def test_today_answers_the_same_inputs_from_todays_rows(tenant: Tenant) -> None:
    given = assemble_test_context(tenant, QUESTION, partition="user=alex", max_tokens=400)
    unchanged = again(tenant, given, "today", now=CONTEXT_NOW)
    assert unchanged.is_verified
    assert unchanged.context.id is None
    store(tenant, [new_row("Alex likes spelt flour best.", "user=alex", pinned=True)])
    changed = again(tenant, given, "today", now=CONTEXT_NOW)
    assert not changed.is_verified
    assert "Alex likes spelt flour best." in block_texts(changed.context)
    assert inputs_of(changed.context) | {"given": 0} == inputs_of(given) | {"given": 0}


def test_replay_of_today_takes_defaults_from_todays_profile(tenant: Tenant) -> None:
    open_, asked = (
        assemble_test_context(tenant, QUESTION),
        assemble_test_context(tenant, QUESTION, max_tokens=500, packer="greedy", ordering="top_down"),
    )
    with tenant_scope(tenant.pk):
        change_the_profile(tenant)
    today = again(tenant, open_, "today").context
    assert today.budget.max_tokens == 70
    assert today.request["packer"] == "elastic"
    assert today.budget_profile == {"name": "default", "version": 1}
    kept = again(tenant, asked, "today").context
    assert (kept.budget.max_tokens, kept.request["packer"], kept.request["ordering"]) == (500, "greedy", "top_down")


def test_replay_of_today_uses_the_profile_of_the_requesting_key_for_every_user(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        key, _ = create_api_key(tenant=tenant, name="agent", scopes=["write"], by=SYSTEM, now=CONTEXT_NOW)
        create_budget_profile(
            tenant_id=tenant.pk, name="small", changes={"default_tokens": 90}, by=SYSTEM, now=CONTEXT_NOW
        )
        assign_budget_profile(
            tenant_id=tenant.pk, profile_name="small", api_key_id=str(key.pk), by=SYSTEM, now=CONTEXT_NOW
        )
    given = assemble_test_context(tenant, QUESTION, actor=Actor.key(key))
    assert given.budget_profile["name"] == "small"
    assert again(tenant, given, "today").context.budget.max_tokens == 90
    assert assemble_test_context(tenant, QUESTION).budget_profile["name"] == "default"


INPUTS = [
    {"focus": Focus(partition="user=alex"), "include_memories_top_k": 2},
    {"partition": "user=alex", "exact": True, "include_summaries_at": [], "include_tenant_memo": False},
    {"segments": {"topic": "food"}, "render": "xml", "ordering": "u_curve"},
    {"as_of": CONTEXT_NOW - timedelta(hours=3), "packer": "elastic", "model": "gpt-4"},
    {"summary_style": "detailed", "include_linked_memories": False, "budget_profile": "default"},
]


def test_every_input_comes_back_as_it_was_given(tenant: Tenant) -> None:
    for options in INPUTS:
        query = "" if "focus" in options else QUESTION
        given = assemble_test_context(tenant, query, **options)
        today = again(tenant, given, "today", now=CONTEXT_NOW)
        assert inputs_of(today.context) == inputs_of(given)
        assert today.is_verified


def test_replays_store_and_count_nothing(tenant: Tenant) -> None:
    given = assemble_test_context(tenant, QUESTION)
    fold_tenant_retrievals(tenant.pk)
    for mode in ("recorded", "today"):
        again(tenant, given, mode)
    with tenant_scope(tenant.pk):
        assert Receipt.objects.for_tenant(tenant.pk).row_count() == 1
    assert fold_tenant_retrievals(tenant.pk) == 0


def test_replay_out_of_reach_or_in_an_unknown_mode_is_refused(tenant: Tenant) -> None:
    given = assemble_test_context(tenant, QUESTION, partition="user=sam")
    for mode in ("recorded", "today"):
        with pytest.raises(NotFound):
            again(tenant, given, mode, reach="user=alex")
        with pytest.raises(NotFound):
            again(make_empty_tenant(), given, mode)
    with pytest.raises(InvalidInput) as refused:
        again(tenant, given, "tomorrow")
    assert refused.value.field == "mode"


def test_receipts_are_listed_by_partition_key_time_and_query(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        key, _ = create_api_key(tenant=tenant, name="agent", scopes=["write"], by=SYSTEM, now=CONTEXT_NOW)
    alex = assemble_test_context(tenant, QUESTION, partition="user=alex", actor=Actor.key(key)).id
    food = assemble_test_context(
        tenant, "Which LOAF?", partition="user=alex/topic=food", now=CONTEXT_NOW + timedelta(hours=1)
    ).id
    whole = assemble_test_context(tenant, "", now=CONTEXT_NOW + timedelta(hours=2)).id

    def listed(reach: str = "", **filters: Any) -> list[Any]:
        with tenant_scope(tenant.pk):
            found = Receipt.objects.for_tenant(tenant.pk).listed(reach=reach, **filters).newest_first()
            return [row.pk for row in found]

    assert listed() == [whole, food, alex]
    assert listed("user=alex") == [food, alex]
    assert listed(partition="user=alex/topic=food") == [food]
    assert listed("user=sam", partition="user=alex") == []
    assert listed(key_prefix=key.prefix) == [alex]
    assert listed(after=CONTEXT_NOW + timedelta(hours=1)) == [whole, food]
    assert listed(before=CONTEXT_NOW + timedelta(hours=1)) == [alex]
    assert listed(asking="loaf") == [food]
