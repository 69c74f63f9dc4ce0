"""Fast reviews: the next item opens, decisions can be undone, edits are tried and new versions compared."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compaction.models import Compaction, Run
from compaction.pipeline.orchestrator import run_compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.times import format_time
from tests.integration.page_helpers import HTMX, client_of, page, text_of, undo_of
from tests.integration.session_scripts import as_decided, compacted, make_long_session, messages_of, under_review
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def queue(tenant: Tenant) -> list[Compaction]:
    """Three reviews, the oldest first; the second is of the session with the highest pressure."""
    under_review(tenant, summary_share=0.05, has_journal=False)
    return [compacted(make_long_session(tenant, window=window)) for window in (2_600, 2_000, 2_600)]


@pytest.fixture
def proposal(tenant: Tenant) -> Compaction:
    under_review(tenant, summary_share=0.05, has_journal=False)
    return compacted(make_long_session(tenant))


def shown(client: Client, tenant: Tenant, compaction: Compaction, query: str = "") -> Any:
    response = client.get(page("compaction", tenant, compaction.pk) + query)
    assert response.status_code == 200
    return response


def test_place_in_the_queue_leads_on_and_back(client: Client, tenant: Tenant, queue: list[Compaction]) -> None:
    first, second, third = queue
    response = shown(client, tenant, second)
    assert "Review 2 of 3" in text_of(response)
    assert str(first.pk) in response.context["previous_address"]
    assert str(third.pk) in response.context["next_address"]
    last = shown(client, tenant, third)
    assert last.context["next_address"] is None
    fullest = shown(client, tenant, second, "?order=fullest")
    assert "Review 1 of 3" in text_of(fullest)
    assert fullest.context["next_address"].endswith("?order=fullest")
    assert "Review 2 of 3" in text_of(shown(client, tenant, second, "?order=nonsense&last=x"))


def test_queue_is_shown_in_the_requested_order(client: Client, tenant: Tenant, queue: list[Compaction]) -> None:
    def listed(query: str, **headers: str) -> list[Compaction]:
        return list(client.get(page("reviews", tenant) + query, headers=headers).context["queue"].waiting)

    assert listed("") == queue
    assert listed("?order=fullest", **HTMX)[0] == queue[1]
    for decided in (queue[1], queue[0]):
        client.post(page("compaction-reject", tenant, decided.pk), {"reason": "No."})
    response = client.get(page("reviews", tenant))
    lately = [row.pk for row in response.context["queue"].recent]
    assert lately == [queue[0].pk, queue[1].pk], "by when they were decided, not by when they were asked for"
    assert format_time(as_decided(queue[0]).settled_at).iso in text_of(response)


def test_query_counts_do_not_grow_with_what_waits(
    client: Client, tenant: Tenant, proposal: Compaction, django_assert_max_num_queries: Any
) -> None:
    addresses = [page("reviews", tenant), page("compaction", tenant, proposal.pk)]
    counts = []
    for address in addresses:
        client.get(address)
        with django_assert_max_num_queries(40) as few:
            client.get(address)
        counts.append(len(few))
    for _ in range(3):
        compacted(make_long_session(tenant))
    for address, count in zip(addresses, counts, strict=True):
        with django_assert_max_num_queries(count):
            client.get(address)


@pytest.mark.parametrize(
    ("name", "fields", "decided"),
    [("compaction-approve", {}, "applied"), ("compaction-reject", {"reason": "No."}, "rejected")],
)
def test_decision_leads_to_the_next_review_and_is_undone_from_there(
    name: str, fields: dict[str, str], decided: str, client: Client, tenant: Tenant, queue: list[Compaction]
) -> None:
    first, second, _ = queue
    before = [(row.pk, row.state, row.shown_tokens) for row in messages_of(first.session)]
    response = client.post(page(name, tenant, first.pk), fields | {"edit_version": "0"}, follow=True)
    assert response.context["compaction"].pk == second.pk
    assert as_decided(first).state == decided
    assert f"Undo {'approval' if decided == 'applied' else 'rejection'}" in text_of(response)
    assert text_of(client.get(page("reviews", tenant), {"last": str(first.pk)})).count('data-key="u"') == 1
    client.post(undo_of(response))
    undone = as_decided(first)
    assert (undone.state, undone.decided_by, undone.compacted_at) == ("proposed", "", None)
    assert [(row.pk, row.state, row.shown_tokens) for row in messages_of(first.session)] == before
    text = text_of(shown(client, tenant, second, f"?last={first.pk}"))
    assert "Undo approval" not in text
    assert "Undo rejection" not in text


def test_session_with_a_proposal_leads_to_its_review(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    address = page("session", tenant, proposal.session_id)
    assert ("Review summary" in text_of(client.get(address)), "Compact now" in text_of(client.get(address))) == (
        True,
        False,
    )
    client.post(page("compaction-reject", tenant, proposal.pk), {"reason": "No."})
    assert "Compact now" in text_of(client.get(address))


def test_last_decision_leads_back_to_the_queue(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    response = client.post(page("compaction-approve", tenant, proposal.pk), follow=True)
    assert "No reviews waiting" in text_of(response)
    assert undo_of(response) == page("compaction-undo-approval", tenant, proposal.pk)


def test_rejected_one_is_not_put_back_beside_another_that_waits(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    client.post(page("compaction-reject", tenant, proposal.pk), {"reason": "No."})
    again = compacted(as_decided(proposal).session)
    response = client.post(page("compaction-reopen", tenant, proposal.pk))
    assert response.status_code == 422
    assert "waits for review" in text_of(response)
    assert (as_decided(proposal).state, as_decided(again).state) == ("rejected", "proposed")


def test_fact_is_appended_in_place_and_taken_out_again(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    fact = proposal.retention["missing"][0]["text"]
    address = page("compaction-append", tenant, proposal.pk)
    response = client.post(address, {"fact": fact, "edit_version": "0"}, headers=HTMX)
    assert response.status_code == 200
    assert "<html" not in text_of(response)
    assert "Appended:" in text_of(response)
    longer = as_decided(proposal)
    assert len(longer.statements) == len(proposal.statements) + 1
    undo = undo_of(response)
    assert "Removed" in text_of(client.post(undo, headers=HTMX))
    after = as_decided(proposal)
    assert (after.summary_text, after.statements, after.tokens_after, after.retention) == (
        proposal.summary_text,
        proposal.statements,
        proposal.tokens_after,
        proposal.retention,
    )
    assert client.post(undo).status_code == 422, "undone twice"
    assert as_decided(proposal).edit_version == 2


@pytest.mark.parametrize(
    "query", ["", "?statements=0&edit_version=0", "?statements=1&edit_version=0", "?statements=99&edit_version=0"]
)
def test_nothing_is_taken_out_that_was_not_appended(
    query: str, client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    response = client.post(page("compaction-withdraw", tenant, proposal.pk) + query)
    assert response.status_code in {302, 422}
    assert as_decided(proposal).edit_version == 0


def test_text_is_tried_while_typed_and_nothing_is_stored(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    typed = {"text": "Ida Brodersen asked about FR-2210.", "edit_version": "0"}
    trial = client.post(page("compaction-trial", tenant, proposal.pk), typed, headers=HTMX)
    assert trial.status_code == 200
    assert as_decided(proposal).summary_text == proposal.summary_text
    found = trial.context["trial"]
    client.post(page("compaction", tenant, proposal.pk), typed)
    saved = as_decided(proposal)
    assert (found.tokens, found.tokens_after) == (saved.summary_token_count, saved.tokens_after)
    assert round(found.retention.share, 4) == saved.retention["share"]
    assert {fact.text for fact in found.missing_facts} <= {fact["text"] for fact in saved.retention["missing"]}


@pytest.mark.parametrize(("text", "error"), [(" \n ", "must not be blank"), ("so much " * 9_000, "not be shorter")])
def test_text_that_cannot_be_saved_shows_an_error_while_it_is_typed(
    text: str, error: str, client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    address = page("compaction-trial", tenant, proposal.pk)
    response = client.post(address, {"text": text, "edit_version": "0"}, headers=HTMX)
    assert response.status_code == 422
    assert error in text_of(response)
    assert client.post(address).status_code == 422


def regenerate(client: Client, tenant: Tenant, proposal: Compaction) -> Compaction:
    client.post(page("compaction-regenerate", tenant, proposal.pk))
    with tenant_scope(tenant.pk):
        run = Run.objects.for_tenant(tenant.pk).open().get()
    run_compaction(tenant.pk, run.pk, now=timezone.now())
    with tenant_scope(tenant.pk):
        found: Compaction = Compaction.objects.for_tenant(tenant.pk).with_sessions().get(pk=run.compaction_id)
    return found


def test_two_proposals_are_compared_and_the_earlier_one_is_taken(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    client.post(page("compaction", tenant, proposal.pk), {"text": "Ida asked about INV-7731.", "edit_version": "0"})
    newer = regenerate(client, tenant, proposal)
    assert (as_decided(proposal).state, newer.state) == ("superseded", "proposed")
    for one in (proposal, newer):
        assert page("compaction-compare", tenant, one.pk) in text_of(shown(client, tenant, one))
        response = client.get(page("compaction-compare", tenant, one.pk))
        comparison = response.context["comparison"]
        assert (comparison.earlier.compaction.pk, comparison.later.compaction.pk) == (proposal.pk, newer.pk)
        assert "<del>" in text_of(response)
        assert "<ins>" in text_of(response)
    client.post(page("compaction-reopen", tenant, proposal.pk))
    assert (as_decided(proposal).state, as_decided(newer).state) == ("proposed", "superseded")
    client.post(page("compaction-reopen", tenant, newer.pk))
    assert (as_decided(proposal).state, as_decided(newer).state) == ("superseded", "proposed")


def test_equal_proposals_are_shown_as_equal(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    newer = regenerate(client, tenant, proposal)
    response = client.get(page("compaction-compare", tenant, newer.pk))
    assert "None: both texts are the same." in text_of(response)
    assert "word by word" not in text_of(response)


def test_nothing_to_compare_leads_to_the_review(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    response = client.get(page("compaction-compare", tenant, proposal.pk))
    assert response["Location"] == page("compaction", tenant, proposal.pk)


def test_facts_and_sources_are_marked_in_both_texts(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    response = shown(client, tenant, proposal)
    review, text = response.context["review"], text_of(response)
    kept, missing = review.kept[0], review.missing[0]
    assert f'<mark class="fact fact-missing" data-fact="{missing.number}">' in text
    assert f'<mark class="fact fact-kept" data-fact="{kept.number}">' in text
    statement = next(cited for cited in review.statements if cited.sources)
    number, source = review.statements.index(statement) + 1, statement.sources[0].sequence
    original = next(each for each in review.originals if each.member.message.sequence == source)
    assert number in original.statements
    assert f'href="#s-{number}"' in text
    assert sum(count for _, _, count in review.kinds) == len(review.facts)


def test_viewer_sees_the_queue_without_its_verbs(tenant: Tenant, queue: list[Compaction], client: Client) -> None:
    client.post(page("compaction-approve", tenant, queue[0].pk))
    viewer = client_of(new_operator("vera", "viewer", tenant))
    for address in (page("reviews", tenant), page("compaction", tenant, queue[1].pk) + f"?last={queue[0].pk}"):
        text = text_of(viewer.get(address))
        assert "Roll back" not in text
        assert "Undo" not in text
        assert "Append" not in text
    for name in ("compaction-trial", "compaction-withdraw", "compaction-reopen"):
        assert viewer.post(page(name, tenant, queue[1].pk)).status_code == 403


def test_single_keys_are_switched_off_in_this_browser(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    back = page("compaction", tenant, proposal.pk)
    assert 'aria-keyshortcuts="a"' in text_of(client.get(back))
    response = client.post(reverse("shortcuts"), {"keys": "off"}, headers={"referer": f"http://testserver{back}"})
    assert response["Location"] == back
    text = text_of(client.get(back))
    assert 'data-keys="off"' in text
    assert set(re.findall('aria-keyshortcuts="([^"]*)"', text)) == {"Control+K Meta+K"}
    assert "Enable shortcuts" in text
    client.post(reverse("shortcuts"), {"keys": "on"})
    assert 'aria-keyshortcuts="a"' in text_of(client.get(back))
    assert client.post(reverse("shortcuts"), {"keys": "sometimes"}).status_code == 400
