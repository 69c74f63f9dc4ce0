"""Erasing a partition in Chromium, from its page to the receipt."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from compaction.erasure.orchestrator import run_erasure
from compaction.models import Erasure
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.e2e.console import on_a_phone
from tests.factories import make_memory
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga(acme: Tenant) -> User:
    """The signed-in operator, an admin."""
    return new_operator("olga", "admin", acme)


def work(tenant: Tenant) -> None:
    """Do what the worker does: run the newest erasure."""
    with tenant_scope(tenant.pk):
        erasure = Erasure.objects.for_tenant(tenant.pk).latest("created_at")
    run_erasure(tenant.pk, erasure.pk, now=timezone.now())


@on_a_phone
def test_partition_is_counted_confirmed_and_erased(console: Page, acme: Tenant) -> None:
    make_memory(acme, "Sam likes tea.", partition="user=sam")
    console.goto(f"/t/{acme.pk}/partitions?partition=user%3Dsam")
    console.get_by_role("link", name="Erase").click()
    console.get_by_role("button", name="Count rows").click()
    expect(console.get_by_text("Waiting for a worker")).to_be_visible()
    work(acme)
    expect(console.get_by_role("heading", name="Rows to erase")).to_be_visible()
    console.get_by_role("button", name="Erase").click()
    expect(console.get_by_text("This does not match.")).to_be_visible()
    console.get_by_label("Partition", exact=True).fill("user=sam")
    console.get_by_role("button", name="Erase").click()
    expect(console.get_by_text("Waiting for a worker")).to_be_visible()
    work(acme)
    expect(console.get_by_text("signature valid")).to_be_visible()
    console.goto(f"/t/{acme.pk}/erasures")
    expect(console.get_by_text("valid", exact=True)).to_be_visible()
