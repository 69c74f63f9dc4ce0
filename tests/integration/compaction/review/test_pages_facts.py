"""The facts of a journal under review: struck facts are never stored, and an undone approval waits for review."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from compaction.models import Compaction
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, client_of, page, text_of, undo_of
from tests.integration.session_scripts import as_decided, compacted, make_long_session, messages_of, under_review
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def proposal(tenant: Tenant) -> Compaction:
    under_review(tenant)
    compaction = compacted(make_long_session(tenant))
    assert len(compaction.journal) > 2
    return compaction


def live_texts(tenant: Tenant) -> set[str]:
    with tenant_scope(tenant.pk):
        return {text for _, text in Memory.objects.for_tenant(tenant.pk).unarchived().contents()}


def test_struck_fact_is_not_stored_and_approvals_report_the_number(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    strike = page("compaction-strike", tenant, proposal.pk)
    texts = [entry["text"] for entry in proposal.journal]
    count = len(texts)
    assert f"approval stores {count} of {count} facts" in text_of(client.get(page("compaction", tenant, proposal.pk)))
    for numbers in ({"strike": "1"}, {"strike": "2"}, {"keep": "2"}, {"keep": "2"}):
        answer = client.post(strike, numbers, headers=HTMX)
        assert answer.status_code == 200
    assert f"approval stores {count - 1} of {count} facts" in text_of(answer)
    assert as_decided(proposal).edit_version == 3, "keeping a kept fact changes nothing"
    assert client.post(strike, {"strike": str(count + 1)}, headers=HTMX).status_code == 422
    assert client.post(strike, {}, headers=HTMX).status_code == 422
    approved = client.post(page("compaction-approve", tenant, proposal.pk), {"edit_version": "3"}, follow=True)
    assert f"{count - 1} facts are stored, 1 struck." in text_of(approved)
    stored = live_texts(tenant)
    assert texts[0] not in stored
    assert set(texts[1:]) <= stored
    assert client.post(strike, {"strike": "2"}, headers=HTMX).status_code == 422, "it is decided"


def test_undone_approval_waits_again_and_can_be_approved_again(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    before = [(row.pk, row.state, row.shown_tokens) for row in messages_of(proposal.session)]
    empty = live_texts(tenant)
    approve = page("compaction-approve", tenant, proposal.pk)
    approved = client.post(approve, follow=True)
    stored, after = live_texts(tenant), as_decided(proposal)
    client.post(undo_of(approved))
    assert as_decided(proposal).state == "proposed"
    assert live_texts(tenant) == empty
    assert [(row.pk, row.state, row.shown_tokens) for row in messages_of(proposal.session)] == before
    client.post(approve)
    assert live_texts(tenant) == stored
    again = as_decided(proposal)
    assert (again.state, again.tokens_after) == ("applied", after.tokens_after)


def test_approval_saves_the_open_edit_or_keeps_it_on_the_page(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    address = page("compaction", tenant, proposal.pk)
    typed = {"then": "approve", "edit_version": "0", "text": "Much longer. " * 4_000}
    refused = client.post(address, typed, headers=HTMX)
    assert refused.status_code == 422
    assert as_decided(proposal).state == "proposed"
    answer = client.post(address, typed | {"text": "Ida asked about the frame FR-2210."}, headers=HTMX)
    assert answer["HX-Redirect"].startswith(page("reviews", tenant))
    decided = as_decided(proposal)
    assert (decided.state, decided.summary_text) == ("applied", "Ida asked about the frame FR-2210.")


def test_viewer_strikes_nothing(tenant: Tenant, proposal: Compaction) -> None:
    viewer = client_of(new_operator("vera", "viewer", tenant))
    for name in ("compaction-strike", "compaction-undo-approval"):
        assert viewer.post(page(name, tenant, proposal.pk), {"strike": "1"}).status_code == 403
    assert 'name="strike"' not in text_of(viewer.get(page("compaction", tenant, proposal.pk)))


def test_possible_instructions_are_marked_and_left_out_ones_linked(
    client: Client, tenant: Tenant, proposal: Compaction
) -> None:
    mark = "possible instruction"
    address = page("compaction", tenant, proposal.pk)
    assert mark not in text_of(client.get(address))
    mark_of = {"is_possible_instruction": True}
    statement, fact = {**proposal.statements[0], **mark_of}, {**proposal.journal[0], **mark_of}
    warning = {"code": "instructions_left_out", "detail": "1 paragraph was left out.", "messages": [7]}
    with tenant_scope(tenant.pk):
        Compaction.objects.for_tenant(tenant.pk).filter(pk=proposal.pk).update(
            statements=[statement], candidates=[statement], journal=[fact], warnings=[warning]
        )
    response = client.get(address)
    assert text_of(response).count(mark) == 3
    assert f'href="{page("session", tenant, proposal.session_id)}?at=7#m-7"' in response.content.decode()
