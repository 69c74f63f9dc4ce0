"""More of the preview and the budget pages: packers, focus, time, the previous run, profiles."""

import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from context.profiles.budget_profiles import current_budget_profile
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import with_result_address
from tests.integration.page_helpers import HTMX, client_of, make_bakery_memories, page, text_of, undo_of

QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def preview(client: Client, tenant: Tenant, headers: Any = None, **options: Any) -> Any:
    address = f"{page('context-preview', tenant)}?{urlencode(options)}"
    return client.get(address, headers=headers) if headers else client.get(with_result_address(address))


def test_packer_is_chosen_and_the_optimal_one_warns(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = preview(client, tenant, query=QUESTION, max_tokens=90, packer="optimal")
    assert response.context["preview"].context.request["packer"] == "optimal"
    assert "not calibrated probabilities" in text_of(response)
    assert "Sum of scores" in text_of(response)
    assert preview(client, tenant, query=QUESTION, packer="magic").status_code == 422


def test_focus_is_in_the_context_and_an_absent_one_is_refused(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[3]
    response = preview(client, tenant, focus_memory=memory.pk)
    assert [row.block.anchor.id for row in response.context["preview"].included if row.is_focus] == [str(memory.pk)]
    absent = preview(client, tenant, focus_memory=tenant.pk)
    assert absent.status_code == 422
    assert "There is no such memory." in text_of(absent)


def test_as_of_reads_the_past_and_refuses_the_future(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    past = (timezone.now() - timedelta(days=5)).strftime("%Y-%m-%dT%H:%M")
    response = preview(client, tenant, query=QUESTION, as_of=past)
    assert "Valid on" in text_of(response)
    assert not [row for row in response.context["preview"].included if row.memory]
    assert preview(client, tenant, query=QUESTION, as_of="2999-01-01T00:00").status_code == 422
    assert preview(client, tenant, query=QUESTION, as_of="soon").status_code == 422


def test_difference_to_the_run_before_is_reported_and_can_be_kept(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    before = urlencode({"query": QUESTION, "max_tokens": 400})
    for headers in ({}, HTMX):
        response = preview(client, tenant, headers, query=QUESTION, max_tokens=60, before=before)
        assert response.context["change"].removed
        assert "vs previous run: " in text_of(response)
        assert response.context["before"] == urlencode({"query": QUESTION, "max_tokens": 60})
    kept = preview(client, tenant, query=QUESTION, max_tokens=60, before=before, against="keep")
    assert kept.context["before"] == before
    broken = preview(client, tenant, query=QUESTION, max_tokens=60, before="max_tokens=nonsense")
    assert broken.status_code == 200
    assert "vs previous run: " not in text_of(broken)


def test_another_order_of_the_same_blocks_is_reported(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    before = urlencode({"query": QUESTION})
    reordered = text_of(preview(client, tenant, query=QUESTION, ordering="head_tail", before=before))
    assert "no changes" not in reordered
    assert re.search(r"0 added, 0 removed</h2>\s*<span[^>]*>0 tokens, \d moved", reordered)
    assert " moved" not in text_of(preview(client, tenant, query=QUESTION, style="xml", before=before))


def test_numbers_of_candidates_and_included_memories_are_in_words(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    shown = text_of(preview(client, tenant, query=QUESTION))
    assert "vector and lexical" in shown
    assert "Near-duplicates" in shown
    assert "lexemes" not in shown.lower()
    assert "gated" not in shown.lower()


def test_named_profile_is_made_tuned_and_compared(client: Client, tenant: Tenant) -> None:
    made = client.post(page("budget-create", tenant), {"name": "short", "based_on": "default"}, follow=True)
    assert "Profile short created." in text_of(made)
    typed = {"default_tokens": 300, "limit_memories": "50", "unit_memories": "share", "levels": "0", "edited_from": 1}
    typed["pinned_share"] = "0.25"
    client.post(page("budget", tenant, "short"), typed)
    with tenant_scope(tenant.pk):
        saved = current_budget_profile(tenant.pk, "short")
    assert (saved.default_tokens, saved.sections, saved.include_summaries_at) == (
        300,
        {"memories": {"share": 0.5}},
        [0],
    )
    assert saved.pinned_share == 0.25
    compared = client.get(page("budget-compare", tenant) + "?left=short+1&right=short+2")
    differing, _ = text_of(compared).split("Unchanged settings")
    assert "300 tokens" in differing
    assert "memories: 50 %" in differing
    assert "no limits" in differing
    assert "0.25 of the section budget" in text_of(compared)
    assert "No differences." in text_of(client.get(page("budget-compare", tenant) + "?left=short+1&right=short+1"))
    assert client.get(page("budget-compare", tenant) + "?left=short+1&right=short+9").status_code == 422
    assert client.get(page("budget", tenant, "absent")).status_code == 404


def test_button_beside_a_profile_compares_versions_that_are_there(client: Client, tenant: Tenant) -> None:
    client.post(page("budget-create", tenant), {"name": "short"})
    links = [page("budgets", tenant), page("budget", tenant, "short")]
    client.post(page("budget", tenant, "short"), {"default_tokens": 300, "edited_from": 1})
    for address in (*links, page("budget", tenant, "short")):
        link = re.search(r'href="([^"]+/compare[^"]+)"', text_of(client.get(address)))
        assert link
        assert client.get(unescape(link[1])).status_code == 200


@pytest.mark.parametrize("name", ["short", "Not A Word", "default", ""])
def test_profile_that_cannot_be_made_is_answered_422(name: str, client: Client, tenant: Tenant) -> None:
    client.post(page("budget-create", tenant), {"name": "short"})
    assert client.post(page("budget-create", tenant), {"name": name}).status_code == 422


REFUSED_NUMBERS = [
    ("limit_focus", "-1"),
    ("levels", "a"),
    ("levels", "99"),
    ("receipt_days", "0"),
    ("elastic_min_tokens", "5000"),
    ("pinned_share", "2"),
]


def test_refused_number_is_reported_at_its_field(client: Client, tenant: Tenant) -> None:
    for field, value in REFUSED_NUMBERS:
        response = client.post(page("budgets", tenant), {"default_tokens": 100, field: value, "edited_from": 0})
        assert response.status_code == 422
        assert "errorlist" in text_of(response)


def test_profile_is_assigned_ended_and_assigned_again(client: Client, tenant: Tenant) -> None:
    client.post(page("budget-create", tenant), {"name": "short"})
    address = page("budget-assignments", tenant)
    response = client.post(address, {"profile_name": "short", "partition": "agent=support"})
    assert response.status_code == 422
    assert "Assign anyway" in text_of(response)
    confirmed = {"profile_name": "short", "partition": "agent=support", "confirmed": "agent=support"}
    given = client.post(address, confirmed, follow=True)
    assert "short assigned to agent=support." in text_of(given)
    ended = client.post(page("budget-assignment-end", tenant), {"partition": "agent=support"}, follow=True)
    assert "short ended." in text_of(ended)
    assert "short assigned to agent=support again." in text_of(client.post(undo_of(ended), follow=True))
    assert [row.profile_name for row in client.get(address).context["rows"]] == ["short"]
    assert client.post(address, {"profile_name": "absent"}).status_code == 422
    assert client.post(address, {"profile_name": "short", "partition": "nonsense"}).status_code == 422
    assert client.post(address, {"profile_name": "short", "api_key": "nobody"}).status_code == 422
