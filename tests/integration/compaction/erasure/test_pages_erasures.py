"""The pages of erasures: count, confirm by name, progress, receipt, and retention policies."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compaction.erasure.actions import remove_retention_policy, set_retention_policy
from compaction.erasure.orchestrator import run_erasure
from compaction.models import Erasure, RetentionPolicy
from memories.models import AuditEntry, Membership, Tenant
from memories.tenancy.exceptions import StaleVersion
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests.concurrency import concurrent_refusal_codes, run_concurrently
from tests.factories import TESTER, make_memory
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


def test_what_changed_since_the_count_is_erased_at_the_second_attempt(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, "Sam likes tea.", partition="user=sam")
    address, _ = count_and_open(admin, tenant, {"partition": "user=sam"})
    shown = admin.get(address).context["shown"]
    make_memory(tenant, "Sam likes coffee.", partition="user=sam")
    for sent in (shown, ""):
        refused = admin.post(address, {"name": "user=sam", "shown": sent})
        assert refused.status_code == 422
        text = " ".join(refused.content.decode().split())
        assert "since the count. Check, then repeat. Now: 2 memories and 0 sessions." in text
    with tenant_scope(tenant.pk):
        assert not Erasure.objects.filter(is_dry_run=False).exists()
    mistyped = admin.post(address, {"name": "user=kim", "shown": refused.context["shown"]})
    again = {"name": "user=sam", "shown": mistyped.context["shown"]}
    assert admin.post(address, again).status_code == 302


def test_tenant_is_erased_whatever_was_stored_since_the_count(admin: Client, tenant: Tenant) -> None:
    address, _ = count_and_open(admin, tenant, {})
    make_memory(tenant)
    assert admin.post(address, {"name": tenant.name}).status_code == 302


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
    shown = admin.get(url).content.decode()
    assert "30 days since it was archived or closed" in shown
    assert "The partition user=sam does not exist yet." in shown
    with tenant_scope(tenant.pk):
        policy_id = RetentionPolicy.objects.get().pk
    assert admin.post(reverse("retention-remove", args=[tenant.pk, policy_id])).status_code == 302
    with tenant_scope(tenant.pk):
        assert not RetentionPolicy.objects.exists()


def test_policy_that_erases_immediately_shows_a_warning_first(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, now=timezone.now() - timedelta(days=40))
    url, policy = reverse("erasures", args=[tenant.pk]), {"partition": "", "days": 30, "age_from": "created"}
    confirmation = admin.post(url, policy).content.decode()
    assert "erases 1 memory and 0 sessions within the hour" in confirmation
    with tenant_scope(tenant.pk):
        assert not RetentionPolicy.objects.exists()
    hidden = dict(re.findall(r'<input type="hidden" name="(confirmed)" value="([^"]+)"', confirmation))
    changed = admin.post(url, {**policy, **hidden, "days": 20})
    assert "erases 1 memory and 0 sessions within the hour" in changed.content.decode()
    with tenant_scope(tenant.pk):
        assert not RetentionPolicy.objects.exists()
    assert admin.post(url, policy | hidden).status_code == 302
    assert "does not exist yet" not in admin.get(url).content.decode()
    with tenant_scope(tenant.pk):
        assert RetentionPolicy.objects.exists()


def test_policy_that_another_operator_changed_meanwhile_is_replaced_at_the_second_attempt(
    admin: Client, tenant: Tenant
) -> None:
    url = reverse("erasures", args=[tenant.pk])
    before = admin.get(url).context["shown"]
    policy = {"partition": "user=sam", "days": 30, "age_from": "archived"}
    assert admin.post(url, policy).status_code == 302
    refused = admin.post(url, {**policy, "days": 3, "shown": before})
    assert refused.status_code == 422
    assert "has changed since: 30 days, by " in refused.content.decode()
    again = {**policy, "days": 3, "shown": refused.context["shown"]}
    assert admin.post(url, again).status_code == 302
    with tenant_scope(tenant.pk):
        left = RetentionPolicy.objects.get()
    assert left.days == 3
    remove = reverse("retention-remove", args=[tenant.pk, left.pk])
    kept = admin.post(remove, {"replaces": refused.context["shown"]}, follow=True)
    assert "has changed since: 3 days, by " in kept.content.decode()
    assert admin.post(remove, {"replaces": left.state}).status_code == 302
    refused = admin.post(url, {**policy, "days": 5, "shown": left.state})
    assert "was removed since the page was opened" in refused.content.decode()
    with tenant_scope(tenant.pk):
        assert not RetentionPolicy.objects.exists()


def test_policy_set_by_a_request_that_began_before_the_page_was_opened_is_not_replaced(
    admin: Client, tenant: Tenant
) -> None:
    began = timezone.now() - timedelta(minutes=1)
    url, policy = reverse("erasures", args=[tenant.pk]), {"partition": "user=sam", "days": 30, "age_from": "archived"}
    shown = admin.get(url).context["shown"]
    with tenant_scope(tenant.pk):
        set_retention_policy(tenant=tenant, **policy, by=TESTER, now=began)
    refused = admin.post(url, {**policy, "days": 3, "shown": shown})
    assert "has changed since: 30 days" in refused.content.decode()


def test_confirmation_of_a_policy_compares_the_state_before_it(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, now=timezone.now() - timedelta(days=40))
    url, policy = reverse("erasures", args=[tenant.pk]), {"partition": "", "days": 30, "age_from": "created"}
    shown = admin.get(url).context["shown"]
    with tenant_scope(tenant.pk):
        set_retention_policy(tenant=tenant, **{**policy, "days": 90}, by=TESTER, now=timezone.now())
    confirmation = admin.post(url, {**policy, "shown": shown})
    assert confirmation.context["shown"] == shown
    refused = admin.post(url, {**policy, "shown": shown, "confirmed": confirmation.context["form"].confirmation()})
    assert "has changed since: 90 days" in refused.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_policy", [False, True])
def test_of_concurrent_changes_of_a_policy_one_is_stored(tenant: Tenant, has_policy: bool) -> None:
    values = {"tenant": tenant, "partition": "user=sam", "age_from": "archived", "by": TESTER, "now": timezone.now()}
    if has_policy:
        with tenant_scope(tenant.pk):
            set_retention_policy(days=99, **values)
    with tenant_scope(tenant.pk):
        shown = [policy.state for policy in RetentionPolicy.objects.all()]

    def change(days: int) -> int:
        with tenant_scope(tenant.pk):
            return set_retention_policy(days=days, shown=shown, **values).days

    results = run_concurrently([partial(change, days) for days in range(1, 5)])
    refused = [result for result in results if isinstance(result, StaleVersion)]
    with tenant_scope(tenant.pk):
        policy = RetentionPolicy.objects.get()
    assert (policy.days in results, len(refused)) == (True, 3)

    def remove() -> None:
        with tenant_scope(tenant.pk):
            remove_retention_policy(policy=policy, shown=policy.state, by=TESTER, now=timezone.now())

    assert sorted(concurrent_refusal_codes([remove] * 2)) == ["", "not_found"]
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.filter(verb="remove_retention").count() == 1


def test_erase_and_archive_are_different_acts_on_the_page_of_a_memory(admin: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant)
    page = admin.get(reverse("memory", args=[tenant.pk, memory.pk])).content.decode()
    assert f"{reverse('erase', args=[tenant.pk])}?memory={memory.pk}" in page
    assert "Archive" in page
    assert "Delete" not in page
