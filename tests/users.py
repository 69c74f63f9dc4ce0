"""Tenants, agents and operators for tests, created by the actions of the product."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.services.partitions.paths import parse_partition
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.actions.operators import create_operator
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, tenant_scope

BY = Actor.system("tests")
PASSWORD = "correct horse battery staple"


class QuickHasher(PBKDF2PasswordHasher):
    """Django's own hash with one round: a server with Django's settings can verify it."""

    iterations = 1


def new_shared_tenant(name: str) -> Tenant:
    with admin_write_scope():
        return create_tenant(name=name, by=BY, now=timezone.now())


def new_key(tenant: Tenant, *scopes: str, partition: str = "") -> str:
    """Return the plain text of a new key, limited to a partition if one is given."""
    prefix = parse_partition(partition) if partition else None
    with tenant_scope(tenant.pk):
        _, plain = create_api_key(
            tenant=tenant, name="an agent", scopes=scopes, partition=prefix, by=BY, now=timezone.now()
        )
    return plain


def api_client(key: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


def new_operator(username: str, role: str, *tenants: Tenant) -> User:
    with admin_write_scope():
        return create_operator(
            username=username, password=PASSWORD, role=role, tenants=tenants, by=BY, now=timezone.now()
        )
