"""Two concurrent changes of the same rows: the later one is refused, and nothing of it is stored."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import User
from django.db import IntegrityError, connection
from django.test import RequestFactory

from memories.models import Membership, Tenant
from memories.tenancy.actions import operators
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.views.page_actions import submit
from memory_platform.web.forms import PlatformForm
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)


def delete_elsewhere(user: User) -> None:
    def delete() -> None:
        User.objects.filter(pk=user.pk).delete()
        connection.close()

    with ThreadPoolExecutor(1) as other:
        other.submit(delete).result()


def test_page_whose_row_was_deleted_at_that_moment_answers_409_and_logs_the_constraint_alone(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    admin, leaving = client_of(new_operator("anna", "admin", tenant)), new_operator("maren-4711", "viewer")

    def add_after_the_deletion(*, user: User, **more: Any) -> Membership:
        delete_elsewhere(user)
        return operators.add_member(user=user, **more)

    monkeypatch.setattr("memories.tenancy.views.members.add_member", add_after_the_deletion)
    with caplog.at_level(logging.INFO):
        response = admin.post(page("member-add", tenant), {"username": leaving.username})
    assert response.status_code == 409
    assert "Edit conflict" in text_of(response)
    assert "refused by the constraint memories_membership_user_id" in caplog.text
    assert "4711" not in caplog.text
    with tenant_scope(tenant.pk):
        assert Membership.objects.for_tenant(tenant.pk).count() == 1


class NameForm(PlatformForm):
    name = forms.CharField()


@pytest.mark.parametrize("rows", [[-1], ["own", "own"]], ids=["reference is gone", "stored meanwhile"])
def test_form_keeps_its_text_and_shows_what_happened(
    tenant: Tenant, operator: User, rows: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    request: Any = RequestFactory().post("/")
    request.tenant = tenant
    form = NameForm({"name": "typed"})

    def store() -> None:
        for user_id in rows:
            pk = operator.pk if user_id == "own" else user_id
            Membership.objects.create(user_id=pk, tenant=tenant)

    with tenant_scope(tenant.pk):
        Membership.objects.for_tenant(tenant.pk).delete()
    assert submit(request, form, store) is None
    assert form.non_field_errors() == ["Someone else changed this item at the same time. Try again."]
    assert "refused by the constraint" in caplog.text
    with tenant_scope(tenant.pk):
        assert not Membership.objects.for_tenant(tenant.pk).exists()


def test_other_errors_of_constraints_stay_errors(tenant: Tenant) -> None:
    request: Any = RequestFactory().post("/")
    request.tenant = tenant

    def store() -> None:
        Tenant.objects.filter(pk=tenant.pk).update(name=" not trimmed ")

    with pytest.raises(IntegrityError, match="tenant_name_is_trimmed"):
        submit(request, NameForm({"name": "typed"}), store)
