"""The pages of erasures: count, confirm by name, progress, receipt, and retention policies."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compaction.erasure.orchestrator import run_erasure
from compaction.models import Erasure, RetentionPolicy
from memories.models import Membership, Tenant
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests.factories import make_memory
from tests.users import new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))
    return client


def run_newest(tenant: Tenant) -> Erasure:
    with tenant_scope(tenant.pk):
        erasure = Erasure.objects.for_tenant(tenant.pk).latest("created_at")
    run_erasure(tenant.pk, erasure.pk, now=timezone.now())
    with tenant_scope(tenant.pk):
        return Erasure.objects.get(pk=erasure.pk)


def count_and_open(admin: Client, tenant: Tenant, target: dict[str, Any]) -> tuple[str, str]:
    """Count what the target has; return the address and the text of its page."""
    assert admin.get(reverse("erase", args=[tenant.pk]), target).status_code == 200
    counted = admin.post(reverse("erase", args=[tenant.pk]), target)
    run_newest(tenant)
    return counted["Location"], admin.get(counted["Location"]).content.decode()


@pytest.mark.parametrize("scope", ["memory", "partition", "tenant"])
def test_admin_counts_confirms_and_reads_the_receipt(admin: Client, tenant: Tenant, scope: str) -> None:
    memory = make_memory(tenant, "Sam likes tea.", partition="user=sam")
    targets: dict[str, dict[str, Any]] = {"memory": {"memory": memory.pk}, "partition": {"partition": "user=sam"}}
    address, page = count_and_open(admin, tenant, targets.get(scope, {}))
    assert "Rows to erase" in page
    assert "cannot be undone" in page
    name = {"partition": "user=sam", "tenant": tenant.name}.get(scope, "")
    if name:
        refused = admin.post(address, {"name": "user=kim"})
        assert refused.status_code == 422
        assert "This does not match." in refused.content.decode()
    started = admin.post(address, {"name": name})
    assert started.status_code == 302
    if scope != "tenant":
        assert "Waiting for a worker" in admin.get(started["Location"]).content.decode()
    assert run_newest(tenant).state == "done"
    done = admin.get(started["Location"]).content.decode()
    assert "signature valid" in done
    assert "user=sam" not in done
    with admin_write_scope():
        assert Tenant.objects.filter(pk=tenant.pk).exists() == (scope != "tenant")


def test_rows_are_listed_in_the_words_of_the_pages(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, partition="user=sam")
    address, _ = count_and_open(admin, tenant, {"partition": "user=sam"})
    with tenant_scope(tenant.pk):
        Erasure.objects.update(expected={"runs": 2, "feedback, redacted": 1})
    page = admin.get(address).content.decode()
    assert re.findall(r'<th scope="row">([^<]*)', page) == ["Compaction and roll-up jobs", "Votes, redacted"]


def test_only_admins_of_the_tenant_open_the_pages(admin: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    make_memory(tenant, partition="user=sam")
    address, _ = count_and_open(admin, tenant, {"partition": "user=sam"})
    for username, role, own, status in (("olaf", "operator", tenant, 403), ("eve", "admin", other_tenant, 404)):
        client = Client()
        client.force_login(new_operator(username, role, own))
        for url in (address, reverse("erase", args=[tenant.pk]), reverse("erasures", args=[tenant.pk])):
            assert client.get(url).status_code == status
            assert client.post(url, {"name": "user=sam", "days": 3, "age_from": "created"}).status_code == status
    with tenant_scope(tenant.pk):
        assert Erasure.objects.count() == 1
        assert not RetentionPolicy.objects.exists()


def test_former_member_reads_no_erasure_of_the_tenant(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, partition="user=sam")
    address, shown = count_and_open(admin, tenant, {"partition": "user=sam"})
    assert "user=sam" in shown
    with tenant_scope(tenant.pk):
        Membership.objects.for_tenant(tenant.pk).delete()
    assert admin.get(address).status_code == 404


def test_policy_is_set_listed_and_removed(admin: Client, tenant: Tenant) -> None:
    url = reverse("erasures", args=[tenant.pk])
    refused = admin.post(url, {"partition": "user", "days": 0, "age_from": "created"})
    assert refused.status_code == 422
    policy = {"partition": "user=sam", "days": 30, "age_from": "archived"}
    assert admin.post(url, policy).status_code == 302
    assert "30 days since it was archived or closed" in admin.get(url).content.decode()
    with tenant_scope(tenant.pk):
        policy_id = RetentionPolicy.objects.get().pk
    assert admin.post(reverse("retention-remove", args=[tenant.pk, policy_id])).status_code == 302
    with tenant_scope(tenant.pk):
        assert not RetentionPolicy.objects.exists()


def test_policy_that_erases_at_once_says_so_first(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, now=timezone.now() - timedelta(days=40))
    url, policy = reverse("erasures", args=[tenant.pk]), {"partition": "", "days": 30, "age_from": "created"}
    confirmation = admin.post(url, policy).content.decode()
    assert "erases 1 memory and 0 sessions within the hour" in confirmation
    with tenant_scope(tenant.pk):
        assert not RetentionPolicy.objects.exists()
    hidden = dict(re.findall(r'<input type="hidden" name="(is_confirmed)" value="(\w+)"', confirmation))
    assert admin.post(url, policy | hidden).status_code == 302
    with tenant_scope(tenant.pk):
        assert RetentionPolicy.objects.exists()


def test_policy_that_another_operator_changed_meanwhile_is_replaced_at_the_second_attempt(
    admin: Client, tenant: Tenant
) -> None:
    url = reverse("erasures", args=[tenant.pk])
    before = timezone.now().isoformat()
    policy = {"partition": "user=sam", "days": 30, "age_from": "archived"}
    assert admin.post(url, policy).status_code == 302
    refused = admin.post(url, {**policy, "days": 3, "shown_at": before})
    assert refused.status_code == 422
    assert "has changed since: 30 days, by " in refused.content.decode()
    with tenant_scope(tenant.pk):
        remove = reverse("retention-remove", args=[tenant.pk, RetentionPolicy.objects.get(days=30).pk])
    assert "has changed since" in admin.post(remove, {"shown_at": before}, follow=True).content.decode()
    again = {**policy, "days": 3, "shown_at": refused.context["shown_at"]}
    assert admin.post(url, again).status_code == 302
    with tenant_scope(tenant.pk):
        assert RetentionPolicy.objects.get().days == 3


def test_erase_and_archive_are_different_acts_on_the_page_of_a_memory(admin: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant)
    page = admin.get(reverse("memory", args=[tenant.pk, memory.pk])).content.decode()
    assert f"{reverse('erase', args=[tenant.pk])}?memory={memory.pk}" in page
    assert "Archive" in page
    assert "Delete" not in page
