"""Contexts as of another time: what was true then, with ages at that time and no counted retrieval."""

from datetime import UTC, datetime, timedelta

import pytest

from context.models import Receipt
from context.receipts.results import Focus
from memories.models import Memory, RetrievalTick, Tenant
from memories.partitions.actions import link_memories, save_summary, set_tenant_memo, unlink_memories
from memories.services.partitions.paths import parse_partition
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    block_texts,
    make_empty_tenant,
    new_row,
    recounted,
    store,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
QUESTION = "Where does Alex live?"


def named(tenant: Tenant, content: str) -> Memory:
    with tenant_scope(tenant.pk):
        row: Memory = Memory.objects.for_tenant(tenant.pk).get(content=content)
        return row


@pytest.fixture
def tenant() -> Tenant:
    """Alex moves from Lisbon to Porto ten hours ago and to Faro five hours ago; the dog leaves two hours ago."""
    tenant = make_empty_tenant()
    store(tenant, [new_row("Alex lives in Lisbon.", "user=alex"), new_row("Alex has a dog.", "user=alex")])
    for hours, place in ((10, "Porto"), (5, "Faro")):
        with tenant_scope(tenant.pk):
            row = Memory.objects.for_tenant(tenant.pk).get(content__startswith="Alex lives")
            changes = {"content": f"Alex lives in {place}."}
            update_memory(memory=row, changes=changes, by=SYSTEM, now=CONTEXT_NOW - hours * HOUR)
    with tenant_scope(tenant.pk):
        row = Memory.objects.for_tenant(tenant.pk).get(content="Alex has a dog.")
        archive_memory(memory=row, by=SYSTEM, now=CONTEXT_NOW - 2 * HOUR)
    return tenant


MEMORIES_BY_AGE = [
    (0, {"Alex lives in Faro."}),
    (2, {"Alex lives in Faro."}),
    (3, {"Alex lives in Faro.", "Alex has a dog."}),
    (5, {"Alex lives in Faro.", "Alex has a dog."}),
    (6, {"Alex lives in Porto.", "Alex has a dog."}),
    (11, {"Alex lives in Lisbon.", "Alex has a dog."}),
    (24 * 29, {"Alex lives in Lisbon.", "Alex has a dog."}),
    (24 * 31, set()),
]


def test_as_of_reads_what_was_true_then(tenant: Tenant) -> None:
    for hours, expected in MEMORIES_BY_AGE:
        for query in [QUESTION, ""]:
            context = assemble_test_context(tenant, query, as_of=CONTEXT_NOW - hours * HOUR)
            assert set(block_texts(context)) == expected
            assert recounted(context) == context.budget.used


def test_ages_are_reckoned_from_the_time_that_is_read(tenant: Tenant) -> None:
    now, then = (
        assemble_test_context(tenant, QUESTION, preview=True),
        assemble_test_context(tenant, QUESTION, as_of=CONTEXT_NOW - 24 * 20 * HOUR, preview=True),
    )
    fresh, old = (context.blocks[0].score_breakdown for context in (then, now))
    assert fresh is not None
    assert old is not None
    assert fresh["recency"] == pytest.approx(0.606531)  # ten days
    assert old["recency"] == pytest.approx(0.22313)  # thirty


def test_past_context_has_a_receipt_with_its_time_and_counts_nothing(tenant: Tenant) -> None:
    context = assemble_test_context(tenant, QUESTION, as_of=CONTEXT_NOW - 6 * HOUR)
    with tenant_scope(tenant.pk):
        receipt = Receipt.objects.for_tenant(tenant.pk).get(pk=context.id)
        assert not RetrievalTick.objects.for_tenant(tenant.pk).exists()
    assert receipt.as_of == CONTEXT_NOW - 6 * HOUR
    assert receipt.request["as_of"] == (CONTEXT_NOW - 6 * HOUR).isoformat()
    assert {block.anchor.version for block in context.blocks} == {2, 1}


def test_memo_summaries_and_links_are_those_of_the_time() -> None:
    tenant = make_empty_tenant()
    focus, target = store(tenant, [new_row("A focus.", "user=alex"), new_row("A target.", "user=alex")])
    with tenant_scope(tenant.pk):
        set_tenant_memo(tenant=tenant, content="Old memo.", by=SYSTEM, now=CONTEXT_NOW - 9 * HOUR)
        set_tenant_memo(tenant=tenant, content="New memo.", by=SYSTEM, now=CONTEXT_NOW - 3 * HOUR)
        drawn = link_memories(source=focus, target=target, kind="about", by=SYSTEM, now=CONTEXT_NOW - 9 * HOUR)
        unlink_memories(link=drawn, by=SYSTEM, now=CONTEXT_NOW - 3 * HOUR)
        for content, hours in (("Old summary.", 9), ("New summary.", 3)):
            save_summary(
                tenant=tenant,
                partition=parse_partition("user=alex"),
                style="compact",
                content=content,
                origin="operator",
                by=SYSTEM,
                now=CONTEXT_NOW - hours * HOUR,
            )
    about = Focus(memory_id=focus.pk)
    assert block_texts(assemble_test_context(tenant, focus=about)) == ["New memo.", "New summary.", "A focus."]
    assert block_texts(assemble_test_context(tenant, focus=about, as_of=CONTEXT_NOW - 4 * HOUR)) == [
        "Old memo.", "Old summary.", "A focus.", "A target.",
    ]  # fmt: skip
    assert block_texts(assemble_test_context(tenant, focus=about, as_of=CONTEXT_NOW - 10 * HOUR)) == ["A focus."]


def test_recorded_moment_does_not_know_what_was_imported_later() -> None:
    tenant = make_empty_tenant()
    store(tenant, [new_row("Known since yesterday.", created_at=CONTEXT_NOW - timedelta(days=60))])
    earlier = CONTEXT_NOW - timedelta(days=2)
    assert block_texts(assemble_test_context(tenant, "", as_of=earlier)) == ["Known since yesterday."]
    assert block_texts(assemble_test_context(tenant, "", moment=PointInTime.recorded(earlier), preview=True)) == []
    assert block_texts(assemble_test_context(tenant, "", moment=PointInTime.recorded(CONTEXT_NOW), preview=True)) == [
        "Known since yesterday."
    ]


@pytest.mark.parametrize(
    ("as_of", "code"),
    [(CONTEXT_NOW + timedelta(microseconds=1), "in_the_future"), (datetime(2026, 1, 1), "no_offset")],  # noqa: DTZ001
)
def test_time_that_cannot_be_read_is_refused(tenant: Tenant, as_of: datetime, code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        assemble_test_context(tenant, QUESTION, as_of=as_of)
    assert (refused.value.code, refused.value.field) == (code, "as_of")


def test_any_offset_means_the_same_time_and_the_present_is_allowed(tenant: Tenant) -> None:
    from datetime import timezone

    east = (CONTEXT_NOW - 6 * HOUR).astimezone(timezone(timedelta(hours=9)))
    assert block_texts(assemble_test_context(tenant, QUESTION, as_of=east, preview=True)) == block_texts(
        assemble_test_context(tenant, QUESTION, as_of=(CONTEXT_NOW - 6 * HOUR).astimezone(UTC), preview=True)
    )
    assert block_texts(assemble_test_context(tenant, QUESTION, as_of=CONTEXT_NOW, preview=True)) == block_texts(
        assemble_test_context(tenant, QUESTION, preview=True)
    )
