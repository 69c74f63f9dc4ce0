"""Reviews on the console: the queue, the summary next to its original messages, and every decision about it."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from compaction.models import Compaction, Run
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, client_of, page, text_of
from tests.integration.session_scripts import (
    applied_at_once,
    as_decided,
    compacted,
    make_long_session,
    messages_of,
    reread,
    under_review,
)
from tests.users import new_operator

DECISIONS = (
    *("compaction-append", "compaction-approve", "compaction-reject", "compaction-regenerate"),
    "compaction-mark-reviewed",
)


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def proposal(tenant: Tenant) -> Compaction:
    under_review(tenant)
    compaction = compacted(make_long_session(tenant))
    assert compaction.state == "proposed"
    return compaction


def test_empty_queue_explains_what_awaits_review(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("reviews", tenant)))
    assert "No reviews waiting" in text
    assert "No session has been compacted yet" in text


def test_queue_contains_proposals_and_applied_compactions(client: Client, tenant: Tenant) -> None:
    applied = applied_at_once(make_long_session(tenant))
    under_review(tenant)
    waiting = compacted(make_long_session(tenant))
    for headers in ({}, HTMX):
        response = client.get(page("reviews", tenant), headers=headers)
        assert [row.pk for row in response.context["queue"].waiting] == [waiting.pk]
        assert [row.pk for row in response.context["queue"].recent] == [applied.pk]
        assert ("<html" in text_of(response)) == (not headers)


def test_query_count_of_the_queue_does_not_grow(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    compacted(make_long_session(tenant))
    with django_assert_max_num_queries(40) as few:
        client.get(page("reviews", tenant))
    for _ in range(3):
        compacted(make_long_session(tenant))
    with django_assert_max_num_queries(len(few)):
        client.get(page("reviews", tenant))


def test_review_shows_sources_and_what_is_kept_and_missing(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    for headers in ({}, HTMX):
        response = client.get(page("compaction", tenant, proposal.pk), headers=headers)
        review, text = response.context["review"], text_of(response)
        assert f"{len(review.kept)} of {len(review.facts)} facts retained" in text
        assert review.statements
        assert all(cited.sources for cited in review.statements)
        first = review.statements[0].sources[0].sequence
        assert f'href="#m-{first}"' in text
        assert f'id="m-{first}"' in text
        assert ("<html" in text) == (not headers)


def test_query_count_of_a_review_does_not_grow(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    under_review(tenant, summary_share=0.05)  # some statements of both do not fit
    short, long = (
        compacted(make_long_session(tenant, turns=25)),
        compacted(make_long_session(tenant, turns=60, window=6_000)),
    )
    with django_assert_max_num_queries(40) as few:
        client.get(page("compaction", tenant, short.pk))
    with django_assert_max_num_queries(len(few)):
        client.get(page("compaction", tenant, long.pk))


def test_original_messages_have_pages(
    client: Client, tenant: Tenant, proposal: Compaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compaction.review.review_page.ORIGINALS_PAGE", 10)
    address = page("compaction", tenant, proposal.pk)
    first = client.get(address).context["review"]
    assert len(first.originals) == 10
    rest = client.get(f"{address}?from={first.next_offset}").context["review"]
    assert rest.originals[0].member.message.sequence > first.originals[-1].member.message.sequence
    assert rest.previous_offset == 0
    assert client.get(f"{address}?from=x").status_code == 200


def test_missing_fact_is_appended_with_one_click_and_then_all(client: Client, tenant: Tenant) -> None:
    under_review(tenant, summary_share=0.05, has_journal=False)
    proposal = compacted(make_long_session(tenant, turns=40, window=4_000))
    missing = [fact["text"] for fact in proposal.retention["missing"]]
    assert len(missing) > 1
    address = page("compaction-append", tenant, proposal.pk)
    assert "Appended:" in text_of(client.post(address, {"fact": missing[0]}, follow=True))
    after = as_decided(proposal)
    assert missing[0] not in [fact["text"] for fact in after.retention["missing"]]
    assert after.is_edited
    unknown = client.post(address, {"fact": "no such"})
    assert unknown.status_code == 422
    assert "Only facts that are missing" in text_of(unknown)


def test_text_is_edited_counted_and_checked_again(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    address = page("compaction", tenant, proposal.pk)
    response = client.post(address, {"text": "Ida asked much.\r\nJonas works.", "edit_version": "0"}, follow=True)
    assert "facts retained" in text_of(response)
    after = as_decided(proposal)
    assert after.summary_text == "Ida asked much.\nJonas works."
    assert after.summary_token_count < proposal.summary_token_count
    assert after.retention["share"] <= proposal.retention["share"]
    stale = client.post(address, {"text": "Something else.", "edit_version": "0"})
    assert stale.status_code == 422
    assert "Someone edited this in the meantime" in text_of(stale)
    assert "Something else." in text_of(stale)


@pytest.mark.parametrize(
    "typed", [{"text": "", "edit_version": "0"}, {"text": "x"}, {"text": "x", "edit_version": "y"}]
)
def test_text_that_is_none_is_answered_422(
    typed: dict[str, str], client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    assert client.post(page("compaction", tenant, proposal.pk), typed).status_code == 422
    assert as_decided(proposal).edit_version == 0


def test_proposal_is_approved_once_and_rolled_back_exactly(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    before = [(row.pk, row.state, row.shown_tokens) for row in messages_of(proposal.session)]
    approve = page("compaction-approve", tenant, proposal.pk)
    assert "Approved" in text_of(client.post(approve, follow=True))
    decided = as_decided(proposal)
    assert (decided.state, decided.decided_by) == ("applied", "olga")
    again = client.post(approve)
    assert again.status_code == 422
    assert "A compaction that is applied allows" in text_of(again)
    assert "You, in another window,</strong> approved it" in text_of(again)
    address = page("compaction-rollback", tenant, proposal.pk)
    assert "Roll back this compaction?" in text_of(client.get(address))
    assert as_decided(proposal).state == "applied"
    assert "Rolled back" in text_of(client.post(address, {"reason": "too short"}, follow=True))
    assert as_decided(proposal).decision_reason == "too short"
    assert [(row.pk, row.state, row.shown_tokens) for row in messages_of(proposal.session)] == before
    assert "cannot be rolled back" in text_of(client.get(address))
    assert "rolled back allows reopen" in text_of(client.post(address))


def test_applied_summary_is_marked_as_reviewed_with_one_click(client: Client, tenant: Tenant) -> None:
    applied = applied_at_once(make_long_session(tenant))
    address, mark = page("compaction", tenant, applied.pk), page("compaction-mark-reviewed", tenant, applied.pk)
    text = text_of(client.get(address))
    assert mark in text
    assert "Mark as reviewed" in text
    text = text_of(client.post(mark, {"edit_version": "0"}, follow=True))
    assert "Marked as reviewed." in text
    assert "Reviewed by olga" in text
    assert mark not in text
    decided = as_decided(applied)
    assert (decided.state, decided.decided_by) == ("applied", "olga")
    assert "reviewed by olga" in text_of(client.get(page("reviews", tenant)))
    again = client.post(mark)
    assert again.status_code == 422
    assert "olga has already reviewed this summary." in text_of(again)
    assert client.get(mark).status_code == 405
    assert client.post(mark, {"edit_version": "x"}).status_code == 422


def test_viewer_sees_no_button_to_mark_a_summary(tenant: Tenant) -> None:
    applied = applied_at_once(make_long_session(tenant))
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert "Mark as reviewed" not in text_of(viewer.get(page("compaction", tenant, applied.pk)))
    assert viewer.post(page("compaction-mark-reviewed", tenant, applied.pk)).status_code == 403
    assert as_decided(applied).decided_at is None


def test_proposal_is_rejected_with_a_reason(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    address = page("compaction-reject", tenant, proposal.pk)
    assert client.post(address, {"reason": ""}).status_code == 422
    assert as_decided(proposal).state == "proposed"
    assert "Rejected" in text_of(client.post(address, {"reason": "It says nothing."}, follow=True))
    assert as_decided(proposal).decision_reason == "It says nothing."
    assert reread(proposal.session).current is None


def test_proposal_is_regenerated(client: Client, tenant: Tenant, proposal: Compaction) -> None:
    address = page("compaction-regenerate", tenant, proposal.pk)
    assert client.post(address, {"prompt_version": "x"}).status_code == 422
    text = text_of(client.post(address, follow=True))
    assert "Regenerating" in text
    assert "This proposal stays until then" in text
    with tenant_scope(tenant.pk):
        run = Run.objects.for_tenant(tenant.pk).open().get()
    assert run.compaction_id != proposal.pk
    pending = text_of(client.get(page("compaction", tenant, run.compaction_id)))
    assert "In progress" in pending


def test_viewer_reads_a_review_and_decides_nothing(tenant: Tenant, proposal: Compaction) -> None:
    viewer = client_of(new_operator("vera", "viewer", tenant))
    text = text_of(viewer.get(page("compaction", tenant, proposal.pk)))
    assert "Approve" not in text
    assert "Edit text" not in text
    for name in DECISIONS:
        assert viewer.post(page(name, tenant, proposal.pk)).status_code == 403
    assert viewer.post(page("compaction", tenant, proposal.pk), {"text": "x"}).status_code == 403
    assert viewer.get(page("compaction-rollback", tenant, proposal.pk)).status_code == 403
    assert as_decided(proposal).state == "proposed"


def test_compaction_of_another_tenant_is_absent(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    foreign = compacted(make_long_session(other_tenant))
    for key in (foreign.pk, uuid4()):
        assert client.get(page("compaction", tenant, key)).status_code == 404
        assert client.get(page("compaction-rollback", tenant, key)).status_code == 404
        for name in DECISIONS:
            assert client.post(page(name, tenant, key), {"reason": "x"}).status_code == 404


@pytest.mark.parametrize("reason", ["\x00", "x" * 501])
def test_reason_that_cannot_be_stored_is_refused_and_nothing_decided(
    client: Client, tenant: Tenant, proposal: Compaction, reason: str
) -> None:
    for name in ("compaction-approve", "compaction-reject"):
        assert client.post(page(name, tenant, proposal.pk), {"reason": reason}).status_code == 422
    assert as_decided(proposal).state == "proposed"
    client.post(page("compaction-approve", tenant, proposal.pk))
    assert as_decided(proposal).state == "applied"
    address = page("compaction-rollback", tenant, proposal.pk)
    assert client.post(address, {"reason": reason}).status_code == 422
    assert as_decided(proposal).state == "applied"
