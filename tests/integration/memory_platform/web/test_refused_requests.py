"""Requests that reach no view: addresses with a NUL character, and forms that are too large."""

from typing import Any

import pytest
from django.test import Client

from memories.models import Tenant
from tests.integration.rest_helpers import assert_problem
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)


ADDRESSES = [
    "/admin/memories/memory/?kind=%00",
    "/admin/memories/memory/?kind__exact=a%00b",
    "/admin/memories/auditentry/?verb=%00",
    "/admin/memories/apikey/%00/change/",
    "/admin/autocomplete/?term=%00&app_label=memories&model_name=membership&field_name=user",
    "/sign-in?next=%00",
    "/healthz?%00",
]


def test_nul_in_an_address_is_a_bad_request(tenant: Tenant) -> None:
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))
    for address in ADDRESSES:
        response = client.get(address)
        assert response.status_code == 400
        assert b"Bad request" in response.content


def test_form_that_is_too_large_is_distinguished_from_other_bad_requests(tenant: Tenant, settings: Any) -> None:
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    response = client.post(f"/t/{tenant.pk}/memories/new", {"content": "a" * 2_000})
    assert response.status_code == 413
    assert b"Form or file too large" in response.content


def test_other_addresses_are_let_through(tenant: Tenant) -> None:
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))
    assert client.get("/admin/memories/memory/?kind=%2500").status_code == 200


def test_rest_names_the_field_by_itself(db: None) -> None:
    assert_problem(Client().get("/api/v1/memories?q=%00"), 401, "key_missing")
