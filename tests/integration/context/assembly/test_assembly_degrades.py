"""Assembly with each component broken: the client gets the rest and a warning, never an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connections

from context.models import Receipt
from context.receipts.results import Focus
from memories.models import EmbeddingModel, Memory, MemoryEmbedding, Tenant
from memories.partitions.actions import link_memories, save_summary
from memories.services.partitions.paths import parse_partition
from memories.tenancy.scopes import tenant_scope
from memory_platform.postgres import roles
from tests.integration.context_helpers import (
    BAKERY,
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    bakery,
    block_texts,
    new_row,
    recounted,
    store,
    warning_codes,
)
from tests.servers import APP

# Permissions change in another connection, so no transaction may be open.
pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "What flour does Alex like?"
MEMO = "You help in a bakery."
PINNED = "Allergens are printed in bold."
RYE = "Alex prefers rye flour over wheat flour."
SUMMARY, FOCUS, LINKED = "All about Alex.", "Alex opens a second shop.", "The second shop stands by the river."


@contextmanager
def without_right(right: str, table: str) -> Iterator[None]:
    """Revoke a permission of the application's role on the table, so its statements fail in the database."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(f"REVOKE {right} ON {table} FROM {APP.role}")
        try:
            with roles.logged_in_as(roles.API):
                yield
        finally:
            cursor.execute(f"GRANT {right} ON {table} TO {APP.role}")


@pytest.fixture
def pinned_bakery() -> Tenant:
    tenant = bakery()
    store(tenant, [new_row(PINNED, pinned=True)])
    return tenant


@pytest.fixture
def whole(pinned_bakery: Tenant) -> tuple[Tenant, Memory]:
    """The same with a summary, and a memory that links to another."""
    focus, linked = store(pinned_bakery, [new_row(FOCUS, "user=alex"), new_row(LINKED, "user=alex")])
    with tenant_scope(pinned_bakery.pk):
        link_memories(source=focus, target=linked, kind="about", by=SYSTEM, now=CONTEXT_NOW)
        save_summary(
            tenant=pinned_bakery,
            partition=parse_partition("user=alex"),
            style="compact",
            content=SUMMARY,
            origin="operator",
            by=SYSTEM,
            now=CONTEXT_NOW,
        )
    return pinned_bakery, focus


def point_embedder_at_a_closed_port(tenant: Tenant, settings: Any) -> None:
    """The tenant's vectors are of a model whose endpoint is unavailable."""
    with tenant_scope(tenant.pk):
        EmbeddingModel.objects.for_tenant(tenant.pk).update(name="text-embedding-test", dimension=256)
        MemoryEmbedding.objects.for_tenant(tenant.pk).update(model="text-embedding-test")
    settings.EMBEDDING_MODEL = "text-embedding-test"
    settings.EMBEDDING_DIMENSION = 256
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"
    settings.EMBEDDING_TIMEOUT_SECONDS = 0.5
    settings.EMBEDDING_PROVIDER = "openai"


def test_without_an_embedder_words_alone_are_searched(pinned_bakery: Tenant, settings: Any) -> None:
    point_embedder_at_a_closed_port(pinned_bakery, settings)
    context = assemble_test_context(pinned_bakery, QUESTION)
    assert warning_codes(context) == ["embedder_unavailable"]
    assert block_texts(context)[:2] == [MEMO, PINNED]
    assert RYE in block_texts(context)
    assert all(block.score_breakdown["relevance"] == 0 for block in context.blocks if block.score_breakdown)
    assert context.id is not None
    assert recounted(context) == context.budget.used


def test_memory_that_waits_for_its_vector_is_found_by_its_words(pinned_bakery: Tenant) -> None:
    store(pinned_bakery, [new_row("Spelt flour is what Alex likes now.")], is_embedded=False)
    assert "Spelt flour is what Alex likes now." in block_texts(assemble_test_context(pinned_bakery, QUESTION))


def test_when_the_search_fails_memo_and_pinned_memories_remain(pinned_bakery: Tenant) -> None:
    with without_right("SELECT", "memories_memoryembedding"):
        context = assemble_test_context(pinned_bakery, QUESTION)
    assert warning_codes(context) == ["search_failed"]
    assert block_texts(context) == [MEMO, PINNED]
    assert recounted(context) == context.budget.used
    with tenant_scope(pinned_bakery.pk):
        assert Receipt.objects.for_tenant(pinned_bakery.pk).get().warnings[0]["code"] == "search_failed"


def test_when_no_memory_can_be_read_the_memo_remains(pinned_bakery: Tenant) -> None:
    with without_right("SELECT", "memories_memory"):
        context = assemble_test_context(pinned_bakery, QUESTION, preview=True)
    assert warning_codes(context) == ["search_failed", "pinned_failed"]
    assert block_texts(context) == [MEMO]


def test_when_the_receipt_cannot_be_written_the_context_comes_without_an_id(pinned_bakery: Tenant) -> None:
    with without_right("INSERT", "context_receipt"):
        context = assemble_test_context(pinned_bakery, QUESTION)
    assert warning_codes(context) == ["receipt_failed"]
    assert context.id is None
    assert len(context.blocks) == 2 + len(BAKERY)


@pytest.mark.parametrize(
    ("table", "code", "lost"),
    [
        ("memories_tenantmemo", "memo_failed", MEMO),
        ("memories_partitionsummary", "summaries_failed", SUMMARY),
        # the search still finds it
        ("memories_memorylink", "linked_failed", None),
        ("context_budgetprofile", "profile_failed", None),
        ("context_budgetprofileassignment", "profile_failed", None),
        ("context_scoringprofileassignment", "scoring_profile_failed", None),
        # the model of the settings is the one that is active here
        ("memories_embeddingmodel", "embedding_model_failed", None),
    ],
)
def test_part_that_cannot_be_read_is_left_out_and_the_rest_remains(
    whole: tuple[Tenant, Memory], table: str, code: str, lost: str | None
) -> None:
    tenant, focus = whole
    options = {"focus": Focus(memory_id=focus.pk), "partition": "", "preview": True}
    everything = block_texts(assemble_test_context(tenant, QUESTION, **options))
    assert {MEMO, SUMMARY, LINKED, PINNED, RYE} <= set(everything)
    with without_right("SELECT", table):
        context = assemble_test_context(tenant, QUESTION, **options)
    assert warning_codes(context) == [code]
    assert set(everything) - set(block_texts(context)) == ({lost} if lost else set())
    assert recounted(context) == context.budget.used


def test_when_the_search_fails_memo_summaries_focus_links_and_pinned_memories_remain(
    whole: tuple[Tenant, Memory],
) -> None:
    tenant, focus = whole
    with without_right("SELECT", "memories_memoryembedding"):
        context = assemble_test_context(tenant, QUESTION, focus=Focus(memory_id=focus.pk), partition="")
    assert warning_codes(context) == ["search_failed", "duplicates_failed"]
    assert block_texts(context) == [MEMO, SUMMARY, FOCUS, LINKED, PINNED]
    assert context.id is not None


def test_nothing_is_searched_while_the_focus_that_bounds_the_search_cannot_be_read(
    whole: tuple[Tenant, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, focus = whole

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("no connection")

    monkeypatch.setattr("context.assembly.sources.read_memories", fail)
    context = assemble_test_context(tenant, QUESTION, focus=Focus(memory_id=focus.pk), preview=True)
    assert warning_codes(context) == ["focus_failed"]
    assert block_texts(context) == [MEMO]
    named = assemble_test_context(tenant, QUESTION, focus=Focus(memory_id=focus.pk), partition="", preview=True)
    assert PINNED in block_texts(named)


def test_when_no_memory_can_be_read_a_focus_is_left_out_and_memo_and_summaries_remain(
    whole: tuple[Tenant, Memory],
) -> None:
    tenant, focus = whole
    options = {"focus": Focus(memory_id=focus.pk), "partition": "user=alex", "preview": True}
    with without_right("SELECT", "memories_memory"):
        context = assemble_test_context(tenant, QUESTION, **options)
    assert warning_codes(context) == ["focus_failed", "search_failed", "pinned_failed"]
    assert block_texts(context) == [MEMO, SUMMARY]


def test_when_the_earlier_context_cannot_be_read_its_order_is_not_kept(pinned_bakery: Tenant) -> None:
    earlier = assemble_test_context(pinned_bakery, QUESTION)
    with without_right("SELECT", "context_receipt"):
        context = assemble_test_context(pinned_bakery, QUESTION, stable_with=earlier.id, preview=True)
    assert warning_codes(context) == ["stable_with_failed"]
    assert context.text == earlier.text
    assert context.stable_prefix_tokens is None


@pytest.mark.parametrize("packer", ["greedy", "elastic", "optimal"])
def test_past_moment_degrades_the_same_way(pinned_bakery: Tenant, packer: str) -> None:
    with without_right("SELECT", "memories_memoryversion"):
        context = assemble_test_context(pinned_bakery, QUESTION, as_of=CONTEXT_NOW, packer=packer, preview=True)
    assert {"search_failed", "pinned_failed"} <= set(warning_codes(context))
    assert block_texts(context) == [MEMO]


def test_failure_leaves_no_text_in_the_log(pinned_bakery: Tenant, caplog: pytest.LogCaptureFixture) -> None:
    with without_right("SELECT", "memories_memoryembedding"):
        assemble_test_context(pinned_bakery, QUESTION)
    assert "search failed" in caplog.text
    assert "42501" in caplog.text
    assert "flour" not in caplog.text
