"""A bulk request whose database connection is killed midway stores all of its rows or none, also after a retry."""

import os
from typing import Any

import psycopg
import pytest
from django.db import connection

from memories.embeddings.queries.vectors import MemoryEmbeddingQuerySet
from memories.models import Memory, MemoryEmbedding, Tenant
from memories.tenancy.scopes import tenant_scope
from tests import servers
from tests.integration.rest_helpers import BULK
from tests.users import api_client, new_key, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = {"memories": [{"content": f"note {number}", "user_id": f"u{number % 3}"} for number in range(50)]}


def stored(tenant: Tenant) -> tuple[int, int]:
    with tenant_scope(tenant.pk):
        vectors = MemoryEmbedding.objects.for_tenant(tenant.pk).filter(is_current=True)
        return Memory.objects.for_tenant(tenant.pk).count(), vectors.count()


def test_killed_bulk_stores_nothing_and_its_retry_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = new_shared_tenant("Acme")
    client, headers = api_client(new_key(tenant, "read", "write")), {"Idempotency-Key": "load-1"}
    client.raise_request_exception = False
    insert = MemoryEmbeddingQuerySet.insert_vectors

    def killed(rows: MemoryEmbeddingQuerySet, *arguments: Any) -> None:
        insert(rows, *arguments)
        with psycopg.connect(os.environ[servers.SUPERUSER_URL]) as superuser:
            own: Any = connection.connection
            superuser.execute("SELECT pg_terminate_backend(%s, 5000)", [own.info.backend_pid])

    with monkeypatch.context() as patched:
        patched.setattr(MemoryEmbeddingQuerySet, "insert_vectors", killed)
        assert client.post(BULK, ROWS, format="json", headers=headers).status_code >= 500
    connection.close()
    assert stored(tenant) == (0, 0)
    for _ in range(2):
        answer = client.post(BULK, ROWS, format="json", headers=headers)
        assert {row["status"] for row in answer.json()["results"]} == {"created"}
        assert stored(tenant) == (50, 50)
