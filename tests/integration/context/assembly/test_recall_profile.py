"""The profile `recall` on real rows: current before superseded, old facts untouched, votes that count, links first."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from context.assembly.search import SearchRequest, search_scored_memories
from context.assembly.sources import ContextCaller
from context.feedback.actions import record_feedback
from context.receipts.results import MEMORY, AssembledContext
from context.receipts.storing import read_receipt
from context.services.profiles.scoring_profiles import RECALL
from memories.models import Memory, MemoryLink, Tenant
from memories.services.partitions.paths import parse_partition
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.integration.context_helpers import (
    CONTEXT_NOW,
    SYSTEM,
    assemble_test_context,
    make_empty_tenant,
    new_row,
    store,
)

pytestmark = pytest.mark.django_db

QUESTION = "What is the guest wifi password?"
#: Text and age in days.
NOTES = (
    ("Guest wifi password: copper-heron-52.", 300),
    ("New guest wifi password after the router swap, it is now granite-otter-81.", 200),
    ("The serial plate of the press by the east wall reads BL-60-44713.", 290),
    ("The press by the east wall was oiled.", 3),
    ("Deliveries arrive at the back gate before nine.", 30),
    ("The boiler in the cellar was serviced.", 20),
)
OLD, NEW = NOTES[0][0], NOTES[1][0]
AGENT = Actor("key", "abc", "support agent (abc)")


def aged(text: str, days: int) -> Any:
    return new_row(text, created_at=CONTEXT_NOW - timedelta(days=days))


@pytest.fixture
def tenant() -> Tenant:
    tenant = make_empty_tenant()
    shelves = [aged(f"Shelf {place} of the store room contains tins of paint.", 100 + place) for place in range(40)]
    store(tenant, [*(aged(*note) for note in NOTES), *shelves])
    return tenant


def ask(tenant: Tenant, query: str = QUESTION, **options: Any) -> AssembledContext:
    return assemble_test_context(tenant, query, profile="recall", explain=True, **options)


def texts(context: AssembledContext) -> list[str]:
    """Return the memories of a context, best score first."""
    found = [block for block in context.blocks if block.kind == MEMORY]
    return [block.text for block in sorted(found, key=lambda block: -(block.score or 0.0))]


def breakdowns(context: AssembledContext) -> dict[str, Any]:
    return {block.text: block.score_breakdown for block in context.blocks if block.kind == MEMORY}


def test_the_current_version_comes_first_and_the_receipt_shows_what_is_superseded(tenant: Tenant) -> None:
    context = ask(tenant, max_tokens=300)
    assert texts(context)[:2] == [NEW, OLD]
    parts = breakdowns(context)
    assert parts[OLD]["superseded"] >= RECALL.superseded_min > parts[NEW]["superseded"] == 0.0
    ids = {block.text: block.anchor.id for block in context.blocks}
    successors = {one.anchor.id: one.superseded_by for one in context.candidates}
    assert (successors[ids[OLD]], successors[ids[NEW]]) == (ids[NEW], None)
    assert context.id is not None
    with tenant_scope(tenant.pk):
        stored = read_receipt(tenant_id=tenant.pk, receipt_id=context.id, reach="")
    assert stored.is_verified
    assert list(stored.context.candidates) == list(context.candidates)


def test_a_query_about_then_turns_the_order_round(tenant: Tenant) -> None:
    then = (CONTEXT_NOW - timedelta(days=250)).strftime("%B %Y")
    assert texts(ask(tenant, f"What was the guest wifi password in {then}?", max_tokens=300))[0] == OLD
    assert texts(ask(tenant, "What was the guest wifi password originally?", max_tokens=300))[0] == OLD


def test_an_old_fact_without_a_rival_precedes_newer_notes_about_the_same_thing(tenant: Tenant) -> None:
    context = ask(tenant, "What does the serial plate of the press by the east wall read?", max_tokens=300)
    assert texts(context)[0] == NOTES[2][0]
    assert breakdowns(context)[NOTES[2][0]]["superseded"] == 0.0


def score_of(tenant: Tenant, text: str, now: datetime) -> float:
    context = ask(tenant, max_tokens=1_000, now=now, preview=True)
    return next(block.score or 0.0 for block in context.blocks if block.text == text)


def test_votes_move_a_memory_up_and_down(tenant: Tenant) -> None:
    fact = NOTES[4][0]
    now = CONTEXT_NOW
    scores = [score_of(tenant, fact, now)]
    with tenant_scope(tenant.pk):
        memory = Memory.objects.for_tenant(tenant.pk).get(content=fact)
    for vote in ("POSITIVE", "NEGATIVE", "VERY_NEGATIVE"):
        with tenant_scope(tenant.pk):
            record_feedback(tenant_id=tenant.pk, feedback=vote, memory_id=memory.pk, by=AGENT, now=now)
        scores.append(score_of(tenant, fact, now))
    before, up, down, far_down = scores
    assert far_down < down < before < up
    assert up - far_down <= RECALL.weights["usefulness"]


def test_a_link_marks_a_memory_as_superseded_although_the_texts_do_not(tenant: Tenant) -> None:
    older, newer = NOTES[4][0], NOTES[5][0]
    question = "When do deliveries arrive at the back gate?"
    assert breakdowns(ask(tenant, question, max_tokens=2_000))[older]["superseded"] == 0.0
    with tenant_scope(tenant.pk):
        rows = {row.content: row.pk for row in Memory.objects.for_tenant(tenant.pk)}
        link = {"source_id": rows[newer], "target_id": rows[older], "kind": "supersedes"}
        MemoryLink.objects.create(tenant_id=tenant.pk, recorded_from=CONTEXT_NOW, **link)
    context = ask(tenant, question, max_tokens=2_000)
    assert breakdowns(context)[older]["superseded"] == 1.0
    assert texts(context)[:2] == [newer, older]
    past = ask(tenant, question, max_tokens=2_000, as_of=CONTEXT_NOW - timedelta(days=1))
    assert breakdowns(past)[older]["superseded"] == 0.0
    request = SearchRequest(question, parse_partition(""), profile="recall", top_k=2)
    found = search_scored_memories(request, ContextCaller(tenant.pk, SYSTEM, CONTEXT_NOW))
    assert [hit.memory.content for hit in found.hits] == [newer, older]
