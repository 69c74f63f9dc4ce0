"""Changing one's own password in the console."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import PASSWORD, new_operator

pytestmark = pytest.mark.django_db

NEW = "a long sentence about tea"


def change(client: Client, old: str = PASSWORD, new: str = NEW, again: str = NEW) -> Any:
    fields = {"old_password": old, "new_password1": new, "new_password2": again}
    return client.post(reverse("password-change"), fields)


def test_password_is_changed_and_other_sessions_end(operator: User, tenant: Tenant) -> None:
    here, elsewhere = client_of(operator), client_of(operator)
    assert change(here).status_code == 302
    assert here.get(page("memories", tenant)).status_code == 200
    assert elsewhere.get(page("memories", tenant)).status_code == 302
    assert User.objects.get(pk=operator.pk).check_password(NEW)
    with tenant_scope(tenant.pk):
        entry = AuditEntry.objects.for_tenant(tenant.pk).get(verb="change_password")
    assert (entry.actor_id, entry.target_ids) == (str(operator.pk), [str(operator.pk)])


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"old": "wrong"}, "old_password", "entered incorrectly"),
        ({"old": ""}, "old_password", "required"),
        ({"again": "another"}, "new_password2", "match"),
        ({"new": "tea", "again": "tea"}, "new_password2", "too short"),
    ],
)
def test_invalid_password_is_an_error_at_its_field(
    operator: User, fields: dict[str, str], field: str, sentence: str
) -> None:
    response = change(client_of(operator), **fields)
    assert response.status_code == 422
    assert sentence in str(response.context["form"].errors[field])
    assert User.objects.get(pk=operator.pk).check_password(PASSWORD)


def test_guesses_of_the_current_password_have_to_wait(operator: User) -> None:
    client = client_of(operator)
    for _ in range(5):
        change(client, old="wrong")
    response = change(client)
    assert response.status_code == 429
    assert "Try again in" in text_of(response)
    assert User.objects.get(pk=operator.pk).check_password(PASSWORD)


@pytest.mark.parametrize("method", ["get", "post"])
def test_django_admin_leaves_passwords_to_this_page(tenant: Tenant, method: str) -> None:
    admin = new_operator("anna", "admin", tenant)
    fields = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    answer = getattr(client_of(admin), method)(reverse("admin:password_change"), fields)
    assert (answer.status_code, answer["Location"]) == (302, reverse("password-change"))
    assert User.objects.get(pk=admin.pk).check_password(PASSWORD)
