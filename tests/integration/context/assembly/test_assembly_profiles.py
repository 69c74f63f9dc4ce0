"""Contexts and searches ranked by another scoring profile than the default, including receipts and pages."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils.html import strip_tags
from rest_framework.test import APIClient

from context.assembly.replay import ReplayMode, replay_context
from context.assembly.sources import ContextCaller
from context.models import ScoringProfileAssignment
from context.receipts.results import MEMORY, AssembledContext
from context.receipts.storing import read_receipt
from context.services.profiles.scoring_profiles import CONVERSATION_RECALL, ScoringProfile
from memories.models import Memory, Tenant
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
    warning_codes,
)
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import new_operator

pytestmark = pytest.mark.django_db

BASE = ["relevance", "recency", "usefulness", "confidence", "frequency"]
QUESTION = "Which flour does Robin buy?"
TALK = (
    "Robin: The mill sent me a catalogue.",
    "Dana: Which flour do you buy?",
    "Robin: Always the dark one from the second page.",
    "Dana: Sounds good.",
)
CALIBRATED = ScoringProfile(
    name="trial", version=3, weights={"relevance": 1.0}, coefficients={"relevance": 4.0}, intercept=-2.0, pool_size=50
)


@pytest.fixture
def tenant() -> Tenant:
    """A conversation of four turns among sixty notes of other partitions."""
    tenant = make_empty_tenant()
    turns = [
        new_row(text, "conversation=1", session="1", position=place, created_at=CONTEXT_NOW - timedelta(days=300))
        for place, text in enumerate(TALK)
    ]
    notes = [new_row(f"The shelf {place} of the store room holds tins of paint.", "notes=1") for place in range(60)]
    store(tenant, [*turns, *notes])
    return tenant


def by_recall(tenant: Tenant, **options: object) -> AssembledContext:
    return assemble_test_context(tenant, QUESTION, profile="conversation-recall", **options)


def test_named_profile_ranks_the_context_and_is_reported(tenant: Tenant) -> None:
    context = by_recall(tenant, max_tokens=120, explain=True)
    assert context.profile == {"name": "conversation-recall", "version": CONVERSATION_RECALL.version}
    assert recounted(context) == context.budget.used <= 120
    block = next(block for block in context.blocks if block.kind == MEMORY)
    parts = list(block.score_breakdown or {})
    assert parts[:5] == BASE
    assert set(parts) >= {name for name, weight in CONVERSATION_RECALL.weights.items() if weight}
    assert assemble_test_context(tenant, QUESTION, max_tokens=120).profile == {"name": "adr-0040", "version": 1}


def test_neighbours_of_found_memories_become_candidates(tenant: Tenant) -> None:
    reached = replace(CALIBRATED, pool_size=10, adjacent_turn_reach=2)
    context = assemble_test_context(tenant, "mill catalogue paint", scoring=reached, preview=True, max_tokens=4000)
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).with_ids([one.anchor.id for one in context.candidates])
        turns = {row.content for row in rows if row.session == "1"}
    assert turns == set(TALK[:3])
    assert context.plan["in_play_rows"] == context.plan["gated_rows"] + context.plan["beside"]["rows"]


def test_pool_is_gated_by_score_before_it_is_packed(tenant: Tenant) -> None:
    small, large = (by_recall(tenant, max_tokens=tokens, preview=True, explain=True) for tokens in (60, 2_000))
    assert small.plan["gated_rows"] == large.plan["gated_rows"] > small.plan["in_play_rows"]
    assert len(small.candidates) == small.plan["in_play_rows"] < len(large.candidates)
    scores = [candidate.score for candidate in large.candidates]
    assert scores[: len(small.candidates)] == [candidate.score for candidate in small.candidates]


def test_receipt_gives_the_context_back_with_all_of_its_parts(tenant: Tenant) -> None:
    context = by_recall(tenant, max_tokens=200, explain=True)
    assert context.id is not None
    with tenant_scope(tenant.pk):
        stored = read_receipt(tenant_id=tenant.pk, receipt_id=context.id, reach="")
    assert stored.is_verified
    assert [block.score_breakdown for block in stored.context.blocks] == [
        block.score_breakdown for block in context.blocks
    ]
    assert list(stored.context.candidates) == list(context.candidates)
    for mode in ReplayMode:
        later = ContextCaller(tenant.pk, SYSTEM, CONTEXT_NOW + timedelta(hours=1))
        again = replay_context(context.id, mode, later)
        assert again.context.profile == context.profile
        assert block_texts(again.context) == block_texts(context)


def test_calibrated_profile_may_be_packed_optimally_and_any_other_warns(tenant: Tenant) -> None:
    options = {"packer": "optimal", "preview": True, "max_tokens": 300}
    calibrated = assemble_test_context(tenant, QUESTION, scoring=CALIBRATED, **options)
    assert warning_codes(calibrated) == []
    assert all(0 < candidate.score < 1 for candidate in calibrated.candidates)
    warned = by_recall(tenant, **options)
    assert warning_codes(warned) == ["uncalibrated_profile"]
    assert "conversation-recall" in warned.warnings[0].detail


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"profile": "nobody"}, "invalid_choice", "profile"),
        ({"profile": "adr-0040@1"}, "invalid_choice", "profile"),
        ({"scoring": CALIBRATED}, "draft_needs_preview", "preview"),
    ],
)
def test_profile_that_is_not_published_is_refused(
    tenant: Tenant, options: dict[str, object], code: str, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        assemble_test_context(tenant, QUESTION, **options)
    assert (refused.value.code, refused.value.field) == (code, field)


def test_assigned_profile_counts_where_none_is_named(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        ScoringProfileAssignment.objects.create(
            tenant=tenant,
            profile_name="conversation-recall",
            partition_path="conversation=1",
            recorded_from=CONTEXT_NOW,
        )
    assert assemble_test_context(tenant, QUESTION, partition="conversation=1").profile["name"] == "conversation-recall"
    assert assemble_test_context(tenant, QUESTION, partition="notes=1").profile["name"] == "adr-0040"


def test_search_and_contexts_over_http_take_the_name_and_refuse_strange_ones(api: APIClient) -> None:
    body = {"query": QUESTION, "profile": "conversation-recall"}
    context, search = (api.post(f"/api/v1/{path}", body) for path in ("context", "memories/search"))
    assert context.json()["profile"]["name"] == "conversation-recall"
    weighty = {name for name, weight in CONVERSATION_RECALL.weights.items() if weight}
    for row in (search.json()["results"][0], context.json()["blocks"][0]):
        assert set(row["score_breakdown"]) == {*BASE, *weighty}
    for path in ("context", "memories/search"):
        for profile, code in (("nobody", "invalid_choice"), (7, "not_text"), ("x" * 65, "too_long")):
            refused = api.post(f"/api/v1/{path}", {**body, "profile": profile})
            assert refused.status_code == 400
            assert [(error["field"], error["code"]) for error in refused.json()["errors"]] == [("profile", code)]
        assert api.post(f"/api/v1/{path}", {**body, "profile": None}).status_code == 200


def test_page_of_a_receipt_draws_the_parts_of_its_profile(tenant: Tenant) -> None:
    context = by_recall(tenant, max_tokens=200)
    client = client_of(new_operator("viewer", "viewer", tenant))
    text = strip_tags(text_of(client.get(page("receipt", tenant, context.id))))
    assert f"conversation-recall version {CONVERSATION_RECALL.version}" in text
