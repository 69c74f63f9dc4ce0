"""Concurrent reviews: nobody decides on a text that they did not see, and no typed text is lost."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from compaction.models import Compaction
from compaction.review.actions import approve_compaction, reject_compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.embedded.environment import cache_config
from tests.concurrency import concurrent_refusal_codes
from tests.integration.page_helpers import HTMX, TESTER, client_of, page, text_of
from tests.integration.session_scripts import as_decided, compacted, make_long_session, under_review
from tests.users import new_operator, new_shared_tenant


@pytest.fixture
def olga(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def ida(tenant: Tenant) -> Client:
    return client_of(new_operator("ida", "operator", tenant))


@pytest.fixture
def proposal(tenant: Tenant) -> Compaction:
    under_review(tenant, has_journal=False)
    return compacted(make_long_session(tenant))


def beat(client: Client, tenant: Tenant, compaction: Compaction, **seen: str) -> str:
    """Return what the page shows to a person who has this compaction open."""
    fields = {"state": compaction.state, "edit_version": str(compaction.edit_version)} | seen
    response = client.post(page("compaction-presence", tenant, compaction.pk), fields, headers=HTMX)
    assert response.status_code == 200
    return text_of(response)


def test_two_who_look_at_one_review_see_each_other(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    assert "at this too" not in beat(olga, tenant, proposal)
    assert "at this too" not in beat(olga, tenant, proposal), "one sees oneself"
    assert "<strong>olga</strong> is also viewing this page" in beat(ida, tenant, proposal).replace("  ", " ")
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert "are also viewing this page" in beat(viewer, tenant, proposal)
    assert "vera</strong> (read-only)" in beat(olga, tenant, proposal)


def test_presence_ends_when_the_page_is_left(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat(olga, tenant, proposal)
    monkeypatch.setattr("compaction.review.presence.SEEN_FOR", timedelta(0))
    assert "at this too" not in beat(ida, tenant, proposal)


def test_reviews_work_without_a_cache(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compaction.review.presence._Pause.until", 0.0)
    settings.CACHES = {"default": cache_config("redis://127.0.0.1:9/0")}
    assert beat(olga, tenant, proposal).strip() == ""
    assert ida.get(page("compaction", tenant, proposal.pk)).status_code == 200


def test_page_shows_what_another_reviewer_did_meanwhile(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    ida.post(page("compaction", tenant, proposal.pk), {"text": "Ida asked much.", "edit_version": "0"})
    presence = beat(olga, tenant, proposal)
    assert "<strong>ida</strong> edited its text" in presence
    assert page("compaction", tenant, proposal.pk) in presence
    assert "<strong>You, in another window,</strong> edited its text" in beat(ida, tenant, proposal)
    ida.post(page("compaction-reject", tenant, proposal.pk), {"reason": "It says nothing."})
    assert "<strong>ida</strong> rejected it" in beat(olga, tenant, proposal)
    assert "What you see is older" not in beat(olga, tenant, as_decided(proposal))


def test_poll_without_the_time_that_it_saw_is_refused(olga: Client, tenant: Tenant, proposal: Compaction) -> None:
    address = page("compaction-presence", tenant, proposal.pk)
    assert olga.post(address, {"state": "lost", "edit_version": "0"}).status_code == 422
    assert olga.post(address).status_code == 422
    assert olga.get(address).status_code == 405


@pytest.mark.parametrize("name", ["compaction-approve", "compaction-reject"])
def test_nobody_decides_about_a_text_they_did_not_see(
    name: str, olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    ida.post(page("compaction", tenant, proposal.pk), {"text": "Ida asked much.", "edit_version": "0"})
    decision = {"reason": "Half is lost.", "edit_version": "0"}
    response = olga.post(page(name, tenant, proposal.pk), decision)
    text = text_of(response)
    assert response.status_code == 422
    assert as_decided(proposal).state == "proposed"
    assert "<strong>ida</strong> edited its text" in text
    assert "Half is lost." in text
    assert "Ida asked much." in text
    assert olga.post(page(name, tenant, proposal.pk), decision | {"edit_version": "1"}).status_code == 302


def test_second_decision_shows_who_decided_and_keeps_the_reason(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    ida.post(page("compaction-approve", tenant, proposal.pk), {"edit_version": "0"})
    reason = {"reason": "Half of it is lost.", "edit_version": "0"}
    response = olga.post(page("compaction-reject", tenant, proposal.pk), reason)
    assert response.status_code == 422
    assert "<strong>ida</strong> approved it" in text_of(response)
    assert "Half of it is lost." in text_of(response)
    assert as_decided(proposal).state == "applied"


def test_typed_text_stays_after_anothers_edit_and_can_replace_it(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    address = page("compaction", tenant, proposal.pk)
    ida.post(address, {"text": "Ida asked much.", "edit_version": "0"})
    response = olga.post(address, {"text": "Jonas works on it.", "edit_version": "0"}, headers=HTMX)
    assert response.status_code == 422
    assert "Saving it replaces theirs" in text_of(response)
    form = response.context["form"]
    assert (form["text"].value(), form["edit_version"].value()) == ("Jonas works on it.", 1)
    olga.post(address, {"text": form["text"].value(), "edit_version": "1"})
    assert as_decided(proposal).summary_text == "Jonas works on it."


def test_typed_text_stays_when_the_other_decided(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    ida.post(page("compaction-reject", tenant, proposal.pk), {"reason": "No."})
    address = page("compaction", tenant, proposal.pk)
    response = olga.post(address, {"text": "Jonas works on it.", "edit_version": "0"}, headers=HTMX)
    assert response.status_code == 422
    assert "Unsaved text" in text_of(response)
    assert "Jonas works on it." in text_of(response)


def test_facts_are_appended_only_to_the_text_that_was_seen(
    olga: Client, ida: Client, tenant: Tenant, proposal: Compaction
) -> None:
    ida.post(page("compaction", tenant, proposal.pk), {"text": "Ida asked much.", "edit_version": "0"})
    response = olga.post(page("compaction-append", tenant, proposal.pk), {"edit_version": "0"}, headers=HTMX)
    assert response.status_code == 422
    assert as_decided(proposal).summary_text == "Ida asked much."


@pytest.mark.django_db(transaction=True)
def test_of_two_decisions_at_one_moment_one_counts() -> None:
    tenant = new_shared_tenant("Fennrad Nord")
    under_review(tenant, has_journal=False)
    proposal = compacted(make_long_session(tenant))

    def decide(verb: Callable[..., object]) -> None:
        with tenant_scope(tenant.pk):
            verb(compaction=proposal, reason="Now.", edit_version=0, by=TESTER, now=timezone.now())

    found = concurrent_refusal_codes([partial(decide, approve_compaction), partial(decide, reject_compaction)])
    assert sorted(found) == ["", "already_decided"]
    assert as_decided(proposal).state == ("applied" if found[0] == "" else "rejected")
