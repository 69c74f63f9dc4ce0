"""A page that was opened before another user's change brings back no version and assigns no profile over it."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from compaction.pipeline.actions import save_prompt
from compaction.pipeline.prompt_versions import current_prompt
from context.models import ScoringProfileVersion
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS, SCORING_ASSIGNMENTS
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.profiles.budget_profiles import current_budget_profile
from memories.models import Tenant
from memories.store.actions.edit import update_memory
from memories.tenancy.scopes import tenant_scope
from tests.factories import TESTER, make_memory, reread_memory
from tests.integration.context_helpers import CONTEXT_NOW
from tests.integration.page_helpers import client_of, page, text_of
from tests.integration.scoring_helpers import published
from tests.users import new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("anna", "admin", tenant))


def test_version_of_a_memory_is_not_restored_over_an_unseen_edit(admin: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "one")
    address = page("memory-version-restore", tenant, memory.pk, 1)
    for text in ("two", "three"):
        with tenant_scope(tenant.pk):
            update_memory(memory=memory, changes={"content": text}, by=TESTER, now=timezone.now())
    for sent in ({"path": address, "data": {"seen_version": "2"}}, {"path": f"{address}?seen_version=2"}):
        refusal = "The memory has changed since version 2 and now has version 3. Choose one under Versions."
        assert refusal in text_of(admin.post(**sent, follow=True))
    assert reread_memory(memory).content == "three"
    assert admin.post(address, {"seen_version": ""}).status_code == 428
    admin.post(f"{address}?seen_version=3")
    assert reread_memory(memory).content == "one"


def test_prompt_is_not_rolled_back_over_an_unseen_version(admin: Client, tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        save_prompt(tenant_id=tenant.pk, text="Be brief.", by=TESTER, now=timezone.now())
    refused = admin.post(page("prompt-rollback", tenant, 1), {"edited_from": "1"}, follow=True)
    assert "Someone else saved the prompt" in text_of(refused)
    with tenant_scope(tenant.pk):
        assert current_prompt(tenant.pk) == (2, "Be brief.")


def test_budget_is_not_rolled_back_over_an_unseen_version(admin: Client, tenant: Tenant) -> None:
    address = page("budget-rollback", tenant, "default", 0)
    assert '<input type="hidden" name="replaces" value="0">' in text_of(admin.get(address))
    with tenant_scope(tenant.pk):
        save_budget_profile(
            tenant_id=tenant.pk, changes={"default_tokens": 900}, edited_from=0, by=TESTER, now=timezone.now()
        )
    assert "Version 1 has become active" in text_of(admin.post(address, {"replaces": "0"}, follow=True))
    with tenant_scope(tenant.pk):
        assert current_budget_profile(tenant.pk).default_tokens == 900


def test_scoring_profile_is_not_rolled_back_over_an_unseen_version(admin: Client, tenant: Tenant) -> None:
    published(tenant, "own")
    published(tenant, "own", 2, recorded_to=CONTEXT_NOW)
    address = page("scoring-rollback", tenant, "own", 2)
    assert '<input type="hidden" name="replaces" value="1">' in text_of(admin.get(address))
    admin.post(address, {"replaces": "7"})
    with tenant_scope(tenant.pk):
        assert ScoringProfileVersion.objects.for_tenant(tenant.pk).active().get(name="own").version == 1


KINDS = [
    ("budget", BUDGET_ASSIGNMENTS, ("default", "brief")),
    ("scoring", SCORING_ASSIGNMENTS, ("adr-0040", "conversation-recall")),
]


@pytest.fixture
def shop(tenant: Tenant) -> Tenant:
    """A tenant with a memory and the budget profile "brief"."""
    make_memory(tenant, "one")
    with tenant_scope(tenant.pk):
        create_budget_profile(tenant_id=tenant.pk, name="brief", by=TESTER, now=CONTEXT_NOW)
    return tenant


@pytest.mark.parametrize("others", [["assign"], ["unassign"], ["unassign", "assign"]])
@pytest.mark.parametrize(("prefix", "assignments", "names"), KINDS)
def test_assignment_replaces_none_that_began_or_ended_unseen(
    admin: Client, shop: Tenant, prefix: str, assignments: Any, names: tuple[str, str], others: list[str]
) -> None:
    # the time of the other request precedes the page, which was shown before the request was committed
    who = {"tenant_id": shop.pk, "partition_path": "", "by": TESTER, "now": timezone.now()}
    with tenant_scope(shop.pk):
        if "unassign" in others:
            assignments.assign(profile_name=names[0], **who)
    fields = {"profile_name": names[1], "api_key": "", "partition": ""}
    address = page(f"{prefix}-assignments", shop)
    shown = str(admin.get(address).context["shown"])
    with tenant_scope(shop.pk):
        for each in others:
            getattr(assignments, each)(**({"profile_name": names[0]} if each == "assign" else {}), **who)
    refused = admin.post(address, {**fields, "shown": shown})
    assert refused.status_code == 422
    assert "Someone else changed the assignment there" in text_of(refused)
    assert admin.post(address, {**fields, "shown": ""}).status_code == 428
    assert admin.post(address, {**fields, "shown": "x"}).status_code == 422
    again = str(refused.context["shown"])
    assert admin.post(address, {**fields, "shown": again}).status_code == 302


@pytest.mark.parametrize(("prefix", "assignments", "names"), KINDS)
def test_assignment_of_the_same_profile_that_began_unseen_does_not_end(
    admin: Client, shop: Tenant, prefix: str, assignments: Any, names: tuple[str, str]
) -> None:
    who = {"tenant_id": shop.pk, "partition_path": "", "by": TESTER, "now": timezone.now()}
    address = page(f"{prefix}-assignment-end", shop)
    with tenant_scope(shop.pk):
        seen = assignments.assign(profile_name=names[0], **who)
    assert f'name="replaces" value="{seen.pk}"' in text_of(admin.get(page(f"{prefix}-assignments", shop)))
    with tenant_scope(shop.pk):
        assignments.unassign(**who)
        again = assignments.assign(profile_name=names[0], **who)
    refused = admin.post(address, {"partition": "", "replaces": seen.pk}, follow=True)
    assert "Someone else changed the assignment there" in text_of(refused)
    assert "Not ended" in text_of(admin.post(address, {"partition": "", "replaces": names[0]}, follow=True))
    assert admin.post(address, {"partition": ""}).status_code == 302
    with tenant_scope(shop.pk):
        again.refresh_from_db()
    assert again.recorded_to is not None


@pytest.mark.parametrize(("prefix", "assignments", "names"), KINDS)
def test_assignment_is_not_refused_because_of_another_target(
    admin: Client, shop: Tenant, prefix: str, assignments: Any, names: tuple[str, str]
) -> None:
    who = {"tenant_id": shop.pk, "partition_path": "agent=x", "by": TESTER, "now": timezone.now()}
    address = page(f"{prefix}-assignments", shop)
    with tenant_scope(shop.pk):
        assignments.assign(profile_name=names[0], **who)
    shown = str(admin.get(address).context["shown"])
    with tenant_scope(shop.pk):
        assignments.unassign(**who)
    fields = {"profile_name": names[1], "api_key": "", "partition": "", "shown": shown}
    assert admin.post(address, fields).status_code == 302
