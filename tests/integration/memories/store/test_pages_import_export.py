"""The console page that exports and imports memories."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from memories.models import Tenant
from tests.factories import make_memory
from tests.integration.page_helpers import client_of, text_of
from tests.integration.rest_helpers import all_stored_memories
from tests.users import new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(tenant: Tenant) -> Client:
    return client_of(new_operator("ada", "admin", tenant))


def upload(client: Client, tenant: Tenant, name: str, content: str | bytes, **fields: Any) -> Any:
    body = content.encode() if isinstance(content, str) else content
    file = SimpleUploadedFile(name, body)
    return client.post(reverse("memory-import-export", args=[tenant.pk]), {"file": file, **fields})


def test_export_is_imported_by_another_tenant(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    make_memory(tenant, "=1+1", partition="user=alex", source_id="s1")
    make_memory(tenant, "about Sam", partition="user=sam")
    url = reverse("memory-export", args=[tenant.pk])
    response: Any = client.get(url, {"partition": "user=alex", "type": "csv"})
    assert response["Content-Disposition"] == 'attachment; filename="memories.csv"'
    file = b"".join(response.streaming_content)
    other = client_of(new_operator("olga", "operator", other_tenant))
    text = text_of(upload(other, other_tenant, "memories.csv", file))
    assert "Import finished" in text
    (row,) = all_stored_memories(other_tenant)
    assert (row.content, row.partition_path, row.source_id) == ("=1+1", "user=alex", "s1")
    assert client.get(url, {"type": "xml"}).status_code == 302


def test_lines_without_a_partition_go_to_the_chosen_one_and_faults_are_named(client: Client, tenant: Tenant) -> None:
    lines = '{"content": "fine"}\n{"content": "x", "colour": 1}\n'
    text = text_of(upload(client, tenant, "notes.jsonl", lines, partition="user=alex"))
    assert "colour" in text
    assert "There is no such field." in text
    assert [row.partition_path for row in all_stored_memories(tenant)] == ["user=alex"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b"\xff", "not UTF-8"),
        ("a.jsonl", "\n", "contains no memories"),
        ("a.csv", "kind\nfact\n", "names the columns"),
        ("a.jsonl", "x" * (8 * 1024 * 1024 + 1), "larger than 8 MiB"),
    ],
)
def test_bad_file_is_an_error_beside_its_field(
    client: Client, tenant: Tenant, name: str, content: Any, sentence: str
) -> None:
    response = upload(client, tenant, name, content)
    assert response.status_code == 422
    assert sentence in text_of(response)


def test_operator_imports_and_viewer_sees_neither(tenant: Tenant) -> None:
    url = reverse("memory-import-export", args=[tenant.pk])
    operator = client_of(new_operator("olga", "operator", tenant))
    assert "Admins can export" in text_of(operator.get(url))
    assert operator.get(reverse("memory-export", args=[tenant.pk])).status_code == 403
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.get(url).status_code == 403
