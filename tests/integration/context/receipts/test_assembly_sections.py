"""The blocks of a context and their order: memo, summaries, the focus, its linked memories, memories."""

from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.models import BudgetProfile
from context.receipts.results import Anchor, AssembledContext, Focus
from context.receipts.storing import read_receipt
from context.services.rendering import RENDER_STYLES
from memories.models import Memory, PartitionSummary, Tenant
from memories.partitions.actions import link_memories, save_summary, withdraw_summary
from memories.services.partitions.paths import parse_partition
from memories.store.actions.edit import archive_memory
from memories.tenancy.exceptions import Forbidden, InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from tests.integration.context.assembly.test_assembly import MEMO, QUESTION, RYE, SCOPE_STATEMENT
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    bakery,
    block_texts,
    make_empty_tenant,
    new_row,
    recounted,
    store,
    warning_codes,
)
from tests.parsed_contexts import parse_context

pytestmark = pytest.mark.django_db

ALEX, FOOD, DEEP = "All about Alex.", "What Alex eats.", "Bread above all."
PLACES = {"user=alex": ALEX, "user=alex/topic=food": FOOD, "user=alex/topic=food/kind=bread": DEEP}


def summarise(tenant: Tenant, path: str, content: str, *, style: str = "compact", days_ago: float = 1) -> UUID:
    """Store a summary of the partition; return its id."""
    with tenant_scope(tenant.pk):
        row = save_summary(
            tenant=tenant,
            partition=parse_partition(path),
            style=style,
            content=content,
            origin="operator",
            by=SYSTEM,
            now=CONTEXT_NOW - timedelta(days=days_ago),
        )
    return row.summary_id


def link(tenant: Tenant, source: Memory, *targets: Memory, days_ago: float = 1) -> None:
    with tenant_scope(tenant.pk):
        for target in targets:
            link_memories(
                source=source, target=target, kind="about", by=SYSTEM, now=CONTEXT_NOW - timedelta(days=days_ago)
            )


def kinds(context: AssembledContext) -> list[str]:
    return [block.kind for block in context.blocks]


def reasons(context: AssembledContext) -> dict[str, str]:
    return {omission.anchor.id: omission.reason for omission in context.omitted}


def near_duplicates(context: AssembledContext) -> dict[str, Anchor]:
    """Return the block that each near-duplicate repeats, by its id."""
    return {omission.anchor.id: omission.twin for omission in context.omitted if omission.twin}


@pytest.fixture
def tenant() -> Tenant:
    """The bakery with a summary of a partition, of the one below and of the one below that."""
    tenant = bakery()
    for path, content in PLACES.items():
        summarise(tenant, path, content)
    return tenant


@pytest.fixture
def linked(tenant: Tenant) -> tuple[Tenant, Memory, list[Memory]]:
    """The same with a memory that links to three others, one of them pinned, one of another user."""
    focus = store(tenant, [new_row("Alex opens a second shop.", "user=alex")])[0]
    rows = [
        new_row("The second shop stands by the river.", "user=alex/topic=shop"),
        new_row("The river floods in March.", "user=alex/topic=shop", pinned=True),
        new_row("Sam lends the money for it.", "user=sam"),
    ]
    targets = store(tenant, rows)
    link(tenant, focus, *targets)
    return tenant, focus, targets


# --- Summaries ------------------------------------------------------------------------------------------------------


def test_summaries_lead_from_the_root_down_to_the_partition_at_the_profiles_levels(tenant: Tenant) -> None:
    context = assemble_test_context(tenant, QUESTION, partition="user=alex/topic=food/kind=bread")
    assert block_texts(context)[:3] == [MEMO, ALEX, FOOD]
    assert kinds(context)[:3] == ["tenant_memo", "partition_summary", "partition_summary"]
    assert context.blocks[1].anchor.type == "partition_summary"
    assert context.blocks[1].score is None


@pytest.mark.parametrize(
    ("levels", "expected"), [([], []), ([0], [ALEX]), ([2], [DEEP]), ([0, 2], [ALEX, DEEP]), ([5], [])]
)
def test_levels_can_be_requested(tenant: Tenant, levels: list[int], expected: list[str]) -> None:
    context = assemble_test_context(
        tenant, QUESTION, partition="user=alex/topic=food/kind=bread", include_summaries_at=levels
    )
    assert [block.text for block in context.blocks if block.kind == "partition_summary"] == expected


def test_summaries_below_or_beside_the_partition_stay_out(tenant: Tenant) -> None:
    summarise(tenant, "user=sam", "All about Sam.")
    context = assemble_test_context(tenant, QUESTION, partition="user=alex")
    assert [block.text for block in context.blocks if block.kind == "partition_summary"] == [ALEX]
    assert "partition_summary" not in kinds(assemble_test_context(tenant, QUESTION))


def test_style_is_that_of_the_profile_unless_requested(tenant: Tenant) -> None:
    summarise(tenant, "user=alex", "All about Alex, at length.", style="detailed")
    assert ALEX in block_texts(assemble_test_context(tenant, QUESTION, partition="user=alex"))
    assert "All about Alex, at length." in block_texts(
        assemble_test_context(tenant, QUESTION, partition="user=alex", summary_style="detailed")
    )
    draft = BudgetProfile(tenant_id=tenant.pk, version=0, summary_style="detailed")
    assert block_texts(assemble_test_context(tenant, QUESTION, partition="user=alex", draft=draft, preview=True))[
        1
    ].endswith("at length.")


def test_key_does_not_read_summaries_above_its_reach(tenant: Tenant) -> None:
    context = assemble_test_context(tenant, QUESTION, partition="user=alex/topic=food", reach="user=alex/topic=food")
    assert [block.text for block in context.blocks if block.kind == "partition_summary"] == [FOOD]


def test_withdrawn_summary_stays_out(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        row = PartitionSummary.objects.for_tenant(tenant.pk).of_partition("user=alex").current().get()
        withdraw_summary(summary=row, by=SYSTEM, now=CONTEXT_NOW - timedelta(hours=1))
    assert ALEX not in block_texts(assemble_test_context(tenant, QUESTION, partition="user=alex"))


def test_summary_that_does_not_fit_gives_way_to_what_follows(tenant: Tenant) -> None:
    summarise(tenant, "user=alex", "Everything there is to know of Alex, told again and again. " * 30)
    context = assemble_test_context(tenant, QUESTION, partition="user=alex/topic=food", max_tokens=120)
    assert block_texts(context)[:2] == [MEMO, FOOD]
    assert RYE in block_texts(context)
    assert context.omitted[0].anchor.type == "partition_summary"


# --- Focus and links ------------------------------------------------------------------------------------------------


def test_focus_on_a_memory_brings_the_summaries_of_its_place_itself_and_what_it_links_to(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, _ = linked
    context = assemble_test_context(tenant, focus=Focus(memory_id=focus.pk))
    assert kinds(context) == ["tenant_memo", "partition_summary", "memory"] + ["linked_memory"] * 3
    assert block_texts(context)[1:4] == [ALEX, focus.content, "The river floods in March."]
    assert context.blocks[3].anchor.type == "memory"
    assert context.blocks[3].score is not None


def test_links_are_followed_one_hop_outwards_and_within_the_keys_reach(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, targets = linked
    further, backwards = store(tenant, [new_row("Two hops away.", "user=alex"), new_row("Links here.", "user=alex")])
    link(tenant, targets[0], further)
    link(tenant, backwards, focus)
    context = assemble_test_context(tenant, focus=Focus(memory_id=focus.pk), reach="user=alex")
    linked_texts = [block.text for block in context.blocks if block.kind == "linked_memory"]
    assert linked_texts == ["The river floods in March.", "The second shop stands by the river."]


def test_links_can_be_left_out(linked: tuple[Tenant, Memory, list[Memory]]) -> None:
    tenant, focus, _ = linked
    assert "linked_memory" not in kinds(
        assemble_test_context(tenant, focus=Focus(memory_id=focus.pk), include_linked_memories=False)
    )
    draft = BudgetProfile(tenant_id=tenant.pk, version=0, include_linked_memories=False)
    assert "linked_memory" not in kinds(
        assemble_test_context(tenant, focus=Focus(memory_id=focus.pk), draft=draft, preview=True)
    )


def test_archived_memory_is_linked_to_no_more(linked: tuple[Tenant, Memory, list[Memory]]) -> None:
    tenant, focus, targets = linked
    with tenant_scope(tenant.pk):
        archive_memory(memory=targets[0], by=SYSTEM, now=CONTEXT_NOW - timedelta(hours=1))
    assert targets[0].content not in block_texts(assemble_test_context(tenant, focus=Focus(memory_id=focus.pk)))


def test_with_a_query_the_best_memories_follow_and_each_memory_appears_once(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, targets = linked
    context = assemble_test_context(
        tenant, "Where is the second shop of Alex?", focus=Focus(memory_id=focus.pk), partition="", explain=True
    )
    anchors = [block.anchor for block in context.blocks]
    assert len(set(anchors)) == len(anchors)
    assert kinds(context)[-1] == "memory"
    included = {str(row.pk) for row in (focus, *targets)}
    assert {key for key, reason in reasons(context).items() if reason == "already_included"} == included
    assert len(context.omitted) == len({omission.anchor for omission in context.omitted})


def test_focus_on_a_memory_without_query_includes_other_memories_only_on_request(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, _ = linked
    focus_only = assemble_test_context(tenant, focus=Focus(memory_id=focus.pk))
    assert kinds(focus_only).count("memory") == 1
    asked = assemble_test_context(
        tenant, focus=Focus(memory_id=focus.pk), partition="user=sam", include_memories_top_k=3
    )
    assert block_texts(asked)[-1] == "Sam collects vintage motorcycles."


def test_focus_on_a_summary_shows_it_once_below_those_above(tenant: Tenant) -> None:
    focus = summarise(tenant, "user=alex/topic=food", "What Alex eats, in detail.", style="detailed")
    context = assemble_test_context(tenant, focus=Focus(summary_id=focus), summary_style="detailed")
    assert block_texts(context) == [MEMO, "What Alex eats, in detail."]
    compact = assemble_test_context(tenant, focus=Focus(summary_id=focus))
    assert block_texts(compact) == [MEMO, ALEX, FOOD, "What Alex eats, in detail."]


def test_focus_on_a_partition_is_the_partition(tenant: Tenant) -> None:
    by_focus = assemble_test_context(tenant, focus=Focus(partition="user=alex"), preview=True)
    plain = assemble_test_context(tenant, partition="user=alex", preview=True)
    assert by_focus.text == plain.text
    assert len([kind for kind in kinds(by_focus) if kind == "memory"]) == 4


BAD_FOCUSES = [
    ({"focus": Focus()}, InvalidInput, "focus"),
    ({"focus": Focus(memory_id=uuid4(), partition="user=alex")}, InvalidInput, "focus"),
    ({"focus": Focus(partition="user=alex"), "partition": "user=alex"}, InvalidInput, "focus.partition"),
    ({"focus": Focus(partition="no path")}, InvalidInput, "focus.partition"),
    ({"focus": Focus(partition="user=sam")}, Forbidden, "focus.partition"),
    ({"focus": Focus(memory_id=uuid4())}, NotFound, "focus.memory_id"),
    ({"focus": Focus(summary_id=uuid4())}, NotFound, "focus.summary_id"),
    ({"summary_style": "long"}, InvalidInput, "summary_style"),
    ({"include_summaries_at": [8]}, InvalidInput, "include_summaries_at"),
    ({"include_summaries_at": [-1]}, InvalidInput, "include_summaries_at"),
    ({"include_summaries_at": [0] * 10}, InvalidInput, "include_summaries_at"),
]


def test_focus_that_cannot_be_granted_is_refused_by_field(tenant: Tenant) -> None:
    for options, error, field in BAD_FOCUSES:
        with pytest.raises(error) as refused:
            assemble_test_context(tenant, QUESTION, reach="user=alex", **options)
        assert refused.value.field == field  # type: ignore[attr-defined]


def test_focus_out_of_reach_or_of_another_tenant_is_not_found(tenant: Tenant) -> None:
    sams = store(tenant, [new_row("Sam sings.", "user=sam")])[0]
    summary = summarise(tenant, "user=sam", "All about Sam.")
    for focus in (Focus(memory_id=sams.pk), Focus(summary_id=summary)):
        with pytest.raises(NotFound):
            assemble_test_context(tenant, focus=focus, reach="user=alex")
        with pytest.raises(NotFound):
            assemble_test_context(make_empty_tenant(), focus=focus)


# --- Room -----------------------------------------------------------------------------------------------------------


def profile(tenant: Tenant, **fields: Any) -> BudgetProfile:
    return BudgetProfile(tenant_id=tenant.pk, version=0, **fields)


def loaves(tenant: Tenant, **sections: dict[str, float]) -> BudgetProfile:
    """Forty memories that say nearly the same, and a profile that allows them, with these budgets of sections."""
    store(tenant, [new_row(f"Loaf {n} takes flour, says Alex who likes it.", "user=alex") for n in range(40)])
    return profile(tenant, sections=sections, near_duplicate_threshold=1.0)


def test_section_has_the_budget_of_the_profile_and_no_more(tenant: Tenant) -> None:
    draft = loaves(tenant, memories={"tokens": 60})
    context = assemble_test_context(tenant, QUESTION, partition="user=alex", draft=draft, preview=True, max_tokens=1000)
    taken = sum(block.tokens + 1 for block in context.blocks if block.kind == "memory")
    assert 40 < taken <= 60


def test_unused_tokens_of_a_section_go_to_the_next(tenant: Tenant) -> None:
    draft = loaves(tenant, tenant_memo={"share": 0.25}, partition_summaries={"share": 0.25}, memories={"share": 0.5})
    context = assemble_test_context(tenant, QUESTION, partition="user=alex", draft=draft, preview=True, max_tokens=400)
    taken = sum(block.tokens + 1 for block in context.blocks if block.kind == "memory")
    assert taken > 0.7 * 376
    assert recounted(context) <= 400


def test_memo_too_long_for_its_share_is_excluded_although_the_budget_would_fit_it(tenant: Tenant) -> None:
    draft = profile(tenant, sections={"tenant_memo": {"tokens": 3}})
    context = assemble_test_context(tenant, QUESTION, partition="user=alex", draft=draft, preview=True)
    assert MEMO not in block_texts(context)
    assert context.omitted[0].anchor.type == "tenant_memo"


def test_memory_that_did_not_fit_into_one_section_may_be_in_another(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, _ = linked
    draft = profile(tenant, sections={"focus": {"tokens": 2}})
    context = assemble_test_context(tenant, "second shop", focus=Focus(memory_id=focus.pk), draft=draft, preview=True)
    assert focus.content in block_texts(context)
    assert str(focus.pk) not in reasons(context)


# --- Pinned memories -------------------------------------------------------------------------------------------------

RULES = [
    "Wash your hands before work.",
    "The till is counted every evening.",
    "Keys hang behind the office door.",
    "Deliveries come through the yard.",
    "Radio stays off before seven.",
    "Aprons are washed on Mondays.",
    "Tips go into the blue jar.",
    "Nobody parks beside the ramp.",
]


def store_rules(tenant: Tenant) -> set[str]:
    """Pinned rules that no query is about, more of them than fit in their share."""
    store(tenant, [new_row(rule, "user=alex", pinned=True) for rule in RULES])
    return set(RULES)


def memory_texts(context: AssembledContext) -> list[str]:
    return [block.text for block in context.blocks if block.kind == "memory"]


def test_pinned_memories_come_first_in_their_share_and_displace_no_answer(tenant: Tenant) -> None:
    rules = store_rules(tenant)
    for packer in ["greedy", "elastic", "optimal"]:
        for max_tokens in [62, 70, 78]:
            options: dict[str, Any] = {"partition": "user=alex", "packer": packer, "max_tokens": max_tokens}
            options |= {
                "preview": True,
                "include_summaries_at": [],
                "include_tenant_memo": False,
                "ordering": "top_down",
            }
            shared, whole, none = (
                memory_texts(
                    assemble_test_context(tenant, QUESTION, draft=profile(tenant, pinned_share=share), **options)
                )
                for share in (0.5, 1.0, 0.0)
            )
            assert RYE in shared
            assert shared[0] in rules
            assert set(whole) <= rules
            assert RYE in none
            assert none[0] not in rules
            again = memory_texts(assemble_test_context(tenant, "", draft=profile(tenant), **options))
            assert again
            assert set(again) <= rules


def test_many_pinned_memories_leave_the_question_its_candidates(tenant: Tenant) -> None:
    rows = [new_row(f"{rule} So says rule {n}.", "user=alex", pinned=True) for n in range(8) for rule in RULES]
    store(tenant, rows)
    context = assemble_test_context(tenant, QUESTION, partition="user=alex", max_tokens=150, preview=True)
    assert RYE in block_texts(context)
    assert context.plan["pinned"]["rows"] == len(rows)
    assert len(context.candidates) < len(rows)


# --- Near duplicates ------------------------------------------------------------------------------------------------


def test_near_duplicate_of_a_kept_memory_is_left_out_with_that_reason(tenant: Tenant) -> None:
    again = store(tenant, [new_row(f"{RYE}.", "user=alex"), new_row(f"{RYE}!", "user=alex")])
    context = assemble_test_context(tenant, QUESTION, partition="user=alex")
    ids = {str(row.pk) for row in again}
    equal_blocks = [block for block in context.blocks if block.text.startswith("Alex prefers rye")]
    assert len(equal_blocks) == 1
    with tenant_scope(tenant.pk):
        first = Memory.objects.for_tenant(tenant.pk).get(content=RYE)
    alike = {key for key, reason in reasons(context).items() if reason == "near_duplicate"}
    assert alike == (ids | {str(first.pk)}) - {equal_blocks[0].anchor.id}
    assert near_duplicates(context) == dict.fromkeys(alike, equal_blocks[0].anchor)
    assert context.id is not None
    with tenant_scope(tenant.pk):
        stored = read_receipt(tenant_id=tenant.pk, receipt_id=context.id, reach="")
    assert stored.is_verified
    assert stored.context.omitted == context.omitted


def test_near_duplicate_of_a_memory_that_was_removed_last_did_not_fit_either(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tenant, [new_row(f"{RYE}.", "user=alex"), new_row(f"{RYE}!", "user=alex")])
    # as if there were no markup: the packed blocks are too long, and the last ones are dropped
    monkeypatch.setattr("context.assembly.orchestrator.EXPECTED_OVERHEAD_TOKENS", {"markdown": (0, 0)})
    for max_tokens in range(8, 60):
        context = assemble_test_context(
            tenant, QUESTION, partition="user=alex", max_tokens=max_tokens, preview=True, explain=True
        )
        outcomes = {row.anchor.id: row.outcome for row in context.candidates if row.outcome != "kept"}
        assert {row.anchor.id: row.reason for row in context.omitted if row.anchor.type == "memory"} == outcomes
        assert {row.twin for row in context.omitted} - {None} <= {block.anchor for block in context.blocks}
        assert all((row.twin is not None) == (row.reason == "near_duplicate") for row in context.omitted)


def test_threshold_of_the_profile_decides_what_is_near_among_texts_that_state_the_same(tenant: Tenant) -> None:
    store(tenant, [new_row(f"{RYE}.", "user=alex"), new_row(f"By the way: {RYE}", "user=alex")])
    everything = assemble_test_context(
        tenant, QUESTION, draft=profile(tenant, near_duplicate_threshold=1.0), preview=True
    )
    assert "near_duplicate" not in reasons(everything).values()
    little = assemble_test_context(tenant, QUESTION, draft=profile(tenant, near_duplicate_threshold=0.0), preview=True)
    assert list(reasons(little).values()) == ["near_duplicate"] * 2


def test_near_duplicate_of_the_focus_or_of_a_linked_memory_is_left_out(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, targets = linked
    again = store(tenant, [new_row(f"{row.content}.", "user=alex") for row in (focus, targets[0])])
    context = assemble_test_context(tenant, "Where is the second shop of Alex?", focus=Focus(memory_id=focus.pk))
    assert [reasons(context)[str(row.pk)] for row in again] == ["near_duplicate"] * 2
    assert [near_duplicates(context)[str(row.pk)].id for row in again] == [str(focus.pk), str(targets[0].pk)]


def test_shorter_near_duplicate_is_included_if_the_better_one_does_not_fit() -> None:
    tenant = make_empty_tenant()
    long = "Please note: " * 40 + "the oven is hot and the oven is hot."
    store(tenant, [new_row(long), new_row("The oven is hot and the oven is hot.")])
    draft = profile(tenant, near_duplicate_threshold=0.1)
    assert (
        len(block_texts(assemble_test_context(tenant, "Is the oven hot?", draft=draft, preview=True, max_tokens=4000)))
        == 1
    )
    assert block_texts(assemble_test_context(tenant, "Is the oven hot?", draft=draft, preview=True, max_tokens=60)) == [
        "The oven is hot and the oven is hot."
    ]


# --- All together ---------------------------------------------------------------------------------------------------


def test_all_sections_together_stay_within_the_budget_and_can_be_parsed(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, _ = linked
    for render, max_tokens, packer in product(RENDER_STYLES, (10, 60, 90, 130, 400), ("greedy", "elastic", "optimal")):
        context = assemble_test_context(
            tenant,
            "Where is the second shop?",
            focus=Focus(memory_id=focus.pk),
            packer=packer,
            render=render,
            max_tokens=max_tokens,
            preview=True,
        )
        where = f"{render}, {max_tokens} tokens, {packer}"
        assert recounted(context) == context.budget.used <= max_tokens, where
        pairs = [(block.kind, block.text) for block in context.blocks]
        assert parse_context(context.text, render) == pairs, where


# Both profiles, focus, summaries, memo, embedding model; size, lexemes, three rankings, rows; links and their rows;
# vectors.
QUERIES_OF_A_FULL_PREVIEW = 15


def test_number_of_queries_does_not_grow_with_summaries_links_and_memories(
    linked: tuple[Tenant, Memory, list[Memory]],
) -> None:
    tenant, focus, _ = linked
    counts = []
    for extra in (0, 30):
        more = store(tenant, [new_row(f"Brick {n} of {extra} lies by the river.", "user=alex") for n in range(extra)])
        link(tenant, focus, *more)
        with CaptureQueriesContext(connection) as captured:
            context = assemble_test_context(tenant, "Where is the shop?", focus=Focus(memory_id=focus.pk), preview=True)
        assert warning_codes(context) == []
        counts.append(len([query for query in captured if not SCOPE_STATEMENT.match(query["sql"])]))
    assert counts == [QUERIES_OF_A_FULL_PREVIEW] * 2
