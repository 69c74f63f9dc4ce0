"""Single sentences on the review page: why each was chosen, how it is removed, and how candidates are swapped in."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from compaction.models import Compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, client_of, page, text_of
from tests.integration.session_scripts import (
    applied_at_once,
    as_decided,
    compacted,
    make_long_session,
    reread,
    under_review,
)
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def proposal(tenant: Tenant) -> Compaction:
    under_review(tenant, summary_share=0.05)
    compaction = compacted(make_long_session(tenant))
    assert compaction.candidates
    assert 0 < compaction.summary_token_count <= compaction.summary_budget_tokens
    return compaction


def update_compaction(compaction: Compaction, **fields: Any) -> Compaction:
    with tenant_scope(compaction.tenant_id):
        Compaction.objects.for_tenant(compaction.tenant_id).filter(pk=compaction.pk).update(**fields)
    return as_decided(compaction)


def swap(client: Client, compaction: Compaction, **numbers: int) -> Any:
    body = {"edit_version": as_decided(compaction).edit_version, **numbers}
    return client.post(page("compaction-swap", Tenant(pk=compaction.tenant_id), compaction.pk), body, headers=HTMX)


def texts(records: list[dict[str, Any]]) -> list[str]:
    return [record["text"] for record in records]


def test_summary_of_a_session_that_crosses_midnight_has_candidates(tenant: Tenant) -> None:
    under_review(tenant, summary_share=0.05)
    before_midnight = timezone.now().replace(hour=23, minute=45) - timedelta(days=2)
    compaction = compacted(make_long_session(tenant, at=before_midnight))
    assert len(re.findall("^[0-9]+ [A-Z][a-z]+ [0-9]{4}: ", compaction.summary_text, re.MULTILINE)) == 2
    assert compaction.candidates


def test_each_sentence_shows_its_kind_and_what_it_replaces(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    first = {**proposal.statements[0], "kind": "decision", "replaces": ["Mina: Ten seconds are enough."]}
    update_compaction(proposal, statements=[first, *proposal.statements[1:]])
    text = text_of(client.get(page("compaction", tenant, proposal.pk)))
    sentence = text[text.index('id="s-1"') : text.index('id="s-2"')]
    assert ">Decision<" in sentence
    assert "was: “Mina: Ten seconds are enough.”" in sentence


def test_records_from_before_show_as_facts(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    old = [{name: one[name] for name in one if name != "replaces"} | {"kind": "opinion"} for one in proposal.statements]
    update_compaction(proposal, statements=old, candidates=[], summary_budget_tokens=0)
    text = text_of(client.get(page("compaction", tenant, proposal.pk)))
    assert ">Fact<" in text
    assert 'id="candidates"' not in text
    assert swap(client, proposal, remove=1).status_code == 200
    assert len(as_decided(proposal).statements) == len(old) - 1


def test_removed_sentence_becomes_the_first_candidate_and_returns_by_undo(client: Client, proposal: Compaction) -> None:
    response = swap(client, proposal, remove=2)
    after = as_decided(proposal)
    gone = proposal.statements[1]
    assert texts(after.statements) == texts([one for one in proposal.statements if one is not gone])
    assert after.candidates[0]["text"] == gone["text"]
    assert (after.is_edited, after.edit_version) == (True, 1)
    assert after.summary_token_count < proposal.summary_token_count
    assert after.tokens_after < proposal.tokens_after
    assert "Removed: " in text_of(response)
    undo = re.search(r'action="([^"]*/swap[?][^"]*)"', text_of(response))
    assert undo is not None
    assert client.post(undo[1].replace("&amp;", "&")).status_code == 302
    again = as_decided(proposal)
    assert again.statements == proposal.statements
    assert again.summary_text == proposal.summary_text
    assert texts(again.candidates) == texts(proposal.candidates)


def test_candidate_is_added_when_it_fits_and_lacks_tokens_when_not(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    full = update_compaction(proposal, summary_budget_tokens=proposal.summary_token_count)
    review = client.get(page("compaction", tenant, full.pk)).context["review"]
    candidate = review.candidates[0]
    assert candidate.lacking == candidate.tokens
    response = swap(client, full, add=1)
    assert response.status_code == 422
    refused = text_of(response)
    assert re.search(rf"tokens are over the summary(?:'|&#x27;)s budget of {full.summary_budget_tokens:,}", refused)
    assert as_decided(full).edit_version == 0
    update_compaction(full, summary_budget_tokens=full.summary_token_count + 100)
    assert swap(client, full, add=1).status_code == 200
    after = as_decided(full)
    assert set(texts(after.statements)) == {*texts(full.statements), full.candidates[0]["text"]}
    assert texts(after.candidates) == texts(full.candidates[1:])
    assert after.summary_token_count <= full.summary_token_count + 100


def test_candidate_is_swapped_for_the_sentence_that_the_page_names(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    full = update_compaction(proposal, summary_budget_tokens=proposal.summary_token_count + 5)
    review = client.get(page("compaction", tenant, full.pk)).context["review"]
    candidate = next(one for one in review.candidates if one.lacking)
    assert candidate.swap_for is not None
    assert f"Swap for {candidate.swap_for}" in text_of(client.get(page("compaction", tenant, full.pk)))
    response = swap(client, full, add=candidate.number, remove=candidate.swap_for)
    assert "Swapped: " in text_of(response)
    after = as_decided(full)
    assert candidate.cited.record["text"] in texts(after.statements)
    assert after.candidates[0]["text"] == full.statements[candidate.swap_for - 1]["text"]
    assert len(after.statements) == len(full.statements)


def test_applied_summary_changes_in_the_context_too(client: Client, tenant: Tenant) -> None:
    applied = applied_at_once(make_long_session(tenant))
    assert swap(client, applied, remove=1).status_code == 200
    after = as_decided(applied)
    with tenant_scope(tenant.pk):
        message = after.summaries.get()
    assert message.content.endswith(after.summary_text)
    assert applied.statements[0]["text"] not in message.content
    assert reread(applied.session).context_tokens == after.tokens_after


IMPOSSIBLE_SWAPS = [
    ({"remove": 99}, "no entry with the number 99"),
    ({"add": 99}, "no entry with the number 99"),
    ({"remove": 1, "edit_version": 7}, "Someone edited this in the meantime"),
    ({"remove": 0}, "The page is out of date"),
    ({}, "The page is out of date"),
]


def test_impossible_swap_changes_nothing(client: Client, proposal: Compaction) -> None:
    for numbers, words in IMPOSSIBLE_SWAPS:
        response = swap(client, proposal, **numbers)
        assert response.status_code == 422
        assert words in text_of(response)
    assert as_decided(proposal).summary_text == proposal.summary_text


def test_last_sentence_stays(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    only = update_compaction(proposal, statements=proposal.statements[:1], summary_text=proposal.statements[0]["text"])
    assert 'aria-label="Remove sentence 1"' not in text_of(client.get(page("compaction", tenant, only.pk)))
    assert "must not be blank" in text_of(swap(client, only, remove=1))
    assert as_decided(only).summary_text == only.summary_text


def test_viewer_reads_candidates_and_changes_none(tenant: Tenant, proposal: Compaction) -> None:
    viewer = client_of(new_operator("vera", "viewer", tenant))
    text = text_of(viewer.get(page("compaction", tenant, proposal.pk)))
    assert "Next best" in text
    assert "Remove sentence" not in text
    assert swap(viewer, proposal, remove=1).status_code == 403
    assert as_decided(proposal).edit_version == 0
