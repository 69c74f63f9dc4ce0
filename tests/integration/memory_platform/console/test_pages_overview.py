"""The overviews with one tenant, several or none, and the health of the components."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.receipts.results import ContextRequest
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import (
    HTMX,
    TESTER,
    client_of,
    make_bakery_memories,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.sessions import new_compaction, new_session
from tests.users import new_operator


def test_operator_of_one_tenant_lands_on_it(operator: User, tenant: Tenant) -> None:
    assert client_of(operator).get(reverse("overview"))["Location"] == page("tenant-overview", tenant)


def test_operator_of_two_tenants_sees_both_and_no_third(tenant: Tenant, other_tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client = client_of(new_operator("twice", "viewer", tenant, other_tenant))
    text = text_of(client.get(reverse("overview")))
    assert "Acme" in text
    assert "Globex" in text
    assert text_of(client.get(page("tenant-overview", tenant))).count("aria-current") >= 2


def test_operator_without_a_tenant_sees_what_to_do(db: None) -> None:
    assert "Ask an admin of a tenant" in text_of(client_of(new_operator("lost", "viewer")).get(reverse("overview")))


def test_first_superuser_creates_the_first_tenant_from_the_overview(admin_client: Client) -> None:
    add = reverse("admin:memories_tenant_add")
    assert f'href="{add}"' in text_of(admin_client.get(reverse("overview")))
    admin_client.post(add, {"name": "Acme", "language": "english"})
    assert 'id="page-title">Acme</h1>' in text_of(admin_client.get(reverse("overview"), follow=True))


def test_empty_tenant_shows_the_first_steps(operator: User, tenant: Tenant) -> None:
    text = text_of(client_of(operator).get(page("tenant-overview", tenant)))
    assert "0 of 4 required steps done" in text
    assert "No contexts yet" in text


def test_overview_counts_stored_rows_and_lists_recent_queries(operator: User, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    request = ContextRequest(query="What does ERR_4012 mean?", partition="agent=service", max_tokens=200)
    context = assemble_context(request, ContextCaller(tenant.pk, TESTER, timezone.now()))
    text = text_of(client_of(operator).get(page("tenant-overview", tenant)))
    assert ">5</a><small>" in text
    assert "What does ERR_4012 mean?" in text
    assert f"{context.budget.used} of 200 tokens" in text
    assert "We repair cargo bikes." in text


def test_pages_show_token_counts_whose_sum_exceeds_32_bits(operator: User, tenant: Tenant) -> None:
    billions = {"context_tokens": 1_200_000_000, "marker_tokens": 1_200_000_000}
    memories = make_bakery_memories(tenant)[:2]
    with tenant_scope(tenant.pk):
        session = new_session(tenant, **billions)
        new_compaction(session, state="proposed", tokens_before=2_100_000_000)
        for compacted in (new_session(tenant), new_session(tenant)):
            at = timezone.now()
            new_compaction(compacted, state="applied", compacted_at=at, finished_at=at, tokens_before=2_100_000_000)
        rows = Memory.objects.for_tenant(tenant.pk).with_ids(memory.pk for memory in memories)
        rows.update(tokens_o200k_base=2_100_000_000, tokens_cl100k_base=2_100_000_000)
    client = client_of(operator)
    addresses = [reverse("overview")]
    addresses += [page(name, tenant) for name in ("tenant-overview", "sessions", "reviews", "partitions", "memories")]
    for address in addresses:
        assert client.get(address, follow=True).status_code == 200, address
    assert "4,200,000,0" in text_of(client.get(page("tenant-overview", tenant)))


def test_word_that_templates_know_is_a_name_like_any_other(operator: User, tenant: Tenant) -> None:
    named = {"items": 5, "other": ["a"]}
    (memory,) = store_memories_for_pages(tenant, ("Bikes are counted on Monday.", "", "items"), metadata=named)
    with tenant_scope(tenant.pk):
        session = new_session(tenant, metadata=named)
    client = client_of(operator)
    overview = text_of(client.get(page("tenant-overview", tenant)))
    assert 'kind=items">items</a> <span class="figures">1</span>' in overview
    for address in (page("memory", tenant, memory.pk), page("session", tenant, session.pk)):
        text = text_of(client.get(address))
        assert '<dt class="mono">items</dt><dd>5</dd>' in text
        assert '<dt class="mono">other</dt>' in text


def test_query_count_of_the_overview_does_not_grow(
    operator: User, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    client = client_of(operator)
    make_bakery_memories(tenant)
    with django_assert_max_num_queries(45) as few:
        client.get(page("tenant-overview", tenant))
    count = len(few)
    store_memories_for_pages(
        tenant, *[(f"Bike number {n} was sold.", f"agent=shop/user=u-{n}", "fact") for n in range(30)]
    )
    with django_assert_max_num_queries(count):
        client.get(page("tenant-overview", tenant))


def test_health_is_a_page_and_a_fragment(operator: User, tenant: Tenant) -> None:
    client = client_of(operator)
    whole, part = client.get(reverse("health")), client.get(reverse("health"), headers=HTMX)
    for name in ("Database", "Vector search", "Migrations", "Broker", "Workers", "Scheduler", "Embedder", "Summariser"):
        assert name in text_of(whole)
        assert name in text_of(part)
    assert "<html" in text_of(whole)
    assert "<html" not in text_of(part)


def test_missing_page_is_a_404_with_a_message(client: Client, db: None) -> None:
    response = client.get("/nowhere")
    assert response.status_code == 404
    assert "Page not found" in text_of(response)
