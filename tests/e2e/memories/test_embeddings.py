"""Re-embedding in a browser at phone width: started, switched to and rolled back."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories.embeddings import reembedding
from memories.models import EmbeddingModel, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import on_a_phone
from tests.integration.page_helpers import page
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = "hashed-ngram-512"


@pytest.fixture
def olga(acme: Tenant) -> User:
    """The signed-in operator, an admin, because only admins change models."""
    return new_operator("olga", "admin", acme)


def work(tenant: Tenant) -> Any:
    with tenant_scope(tenant.pk):
        model = EmbeddingModel.objects.for_tenant(tenant.pk).named(SECOND).get()
    return reembedding.advance_embedding_model(tenant.pk, model.pk, can_continue=lambda: True, clock=timezone.now)


@pytest.mark.long
@on_a_phone
def test_admin_fills_a_model_switches_and_rolls_back(console: Page, acme: Tenant) -> None:
    console.goto(page("embeddings", acme))
    console.uncheck("input[name=switches_when_filled]")
    console.get_by_role("button", name="Start re-embedding").click()
    expect(console.locator("#body")).to_contain_text("0 of 5 vectors created")
    work(acme)
    # The page polls until the job has ended.
    expect(console.get_by_role("link", name="Switch to it")).to_be_visible()
    console.get_by_role("link", name="Switch to it").click()
    console.get_by_role("button", name="Switch").click()
    expect(console.locator("#flash")).to_contain_text(f"Search now uses {SECOND}.")
    console.get_by_role("link", name="Roll back to it").click()
    console.get_by_role("button", name="Roll back").click()
    expect(console.locator("#model-1")).to_have_text("wordllama-l2-supercat-256")
    assert console.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
