"""The console page that exports and imports memories."""

import base64
import json
import random
import re
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.models import Memory, Tenant
from memories.services.store.import_export_files import pack_text
from memories.store.actions import imports
from memories.store.views import import_export
from memories.tenancy.exceptions import Conflict
from tests.factories import make_memory
from tests.integration.page_helpers import as_stored, client_of, page, text_of
from tests.integration.rest_helpers import all_stored_memories
from tests.users import new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(tenant: Tenant) -> Client:
    return client_of(new_operator("ada", "admin", tenant))


def upload(client: Client, tenant: Tenant, name: str, content: str | bytes, **fields: Any) -> Any:
    """Step 1: the preview of a file."""
    body = content.encode() if isinstance(content, str) else content
    return client.post(
        reverse("memory-import-export", args=[tenant.pk]), {"file": SimpleUploadedFile(name, body), **fields}
    )


def store(client: Client, tenant: Tenant, previewed: Any) -> Any:
    """Step 2: the form that the preview contains, and those that request the next batches."""
    response = next_batch(client, tenant, previewed)
    while response.context.get("is_unfinished"):
        response = next_batch(client, tenant, response)
    return response


def next_batch(client: Client, tenant: Tenant, response: Any) -> Any:
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text_of(response)))
    return client.post(reverse("memory-import-export", args=[tenant.pk]), sent)


def contents(tenant: Tenant) -> list[str]:
    return sorted(row.content for row in all_stored_memories(tenant) if row.archived_at is None)


def test_export_is_imported_by_another_tenant(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    make_memory(tenant, "=1+1", partition="user=alex", source_id="s1")
    make_memory(tenant, "about Sam", partition="user=sam")
    url = reverse("memory-export", args=[tenant.pk])
    response: Any = client.get(url, {"partition": "user=alex", "type": "csv"})
    assert response["Content-Disposition"] == 'attachment; filename="memories.csv"'
    file = b"".join(response.streaming_content)
    other = client_of(new_operator("olga", "operator", other_tenant))
    text = text_of(store(other, other_tenant, upload(other, other_tenant, "memories.csv", file)))
    assert "Import finished" in text
    (row,) = all_stored_memories(other_tenant)
    assert (row.content, row.partition_path, row.source_id) == ("=1+1", "user=alex", "s1")
    assert client.get(url, {"type": "xml"}).status_code == 302


def test_preview_shows_rows_as_stored_with_counts_and_stores_nothing(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, "known", source_id="k")
    make_memory(tenant, "old", source_id="u")
    rows = ['{"content": "  fine  "}', '{"content": "known", "source_id": "k"}', '{"content": "new", "source_id": "u"}']
    response = upload(client, tenant, "notes.jsonl", "\n".join([*rows, '{"content": "x", "colour": 1}']))
    counts = {name: response.context["preview"][name] for name in ("created", "updated", "existing", "invalid")}
    assert counts == {"created": 1, "updated": 1, "existing": 1, "invalid": 1}
    assert response.context["lines"][0]["memory"].content == "fine"
    assert response.context["tokens"] == 2
    text = text_of(response)
    assert "<code>if_version</code>. JSON Lines may also have <code>supersedes</code>" in text
    assert "Import 2 memories" in text
    assert "There is no such field." in text
    assert contents(tenant) == ["known", "old"]


def test_lines_without_a_partition_go_to_the_chosen_one_and_faults_are_named(client: Client, tenant: Tenant) -> None:
    lines = '{"content": "fine"}\n{"content": "x", "colour": 1}\n'
    text = text_of(store(client, tenant, upload(client, tenant, "notes.jsonl", lines, partition="user=alex")))
    assert "colour" in text
    assert "There is no such field." in text
    assert [row.partition_path for row in all_stored_memories(tenant)] == ["user=alex"]


def test_first_lines_and_later_faults_are_shown(client: Client, tenant: Tenant) -> None:
    lines = [json.dumps({"content": f"memory {number}"}) for number in range(30)] + ['{"content": ""}']
    response = upload(client, tenant, "notes.jsonl", "\n".join(lines))
    assert [row["line"] for row in response.context["lines"]] == [*range(1, 21), 31]


@pytest.mark.parametrize(
    "text", ["content,kind\r\nAlex prefers tea.,preference\r\n", '{"content": "Alex prefers tea."}']
)
def test_pasted_text_is_csv_or_json_lines(client: Client, tenant: Tenant, text: str) -> None:
    previewed = client.post(reverse("memory-import-export", args=[tenant.pk]), {"pasted": text})
    store(client, tenant, previewed)
    assert contents(tenant) == ["Alex prefers tea."]


def test_import_is_undone_once_and_on_the_activity_page(client: Client, tenant: Tenant) -> None:
    store(client, tenant, upload(client, tenant, "a.csv", "content\none\ntwo\n"))
    text = text_of(client.get(page("activity", tenant)))
    assert "Imported memories" in text
    undo, *_ = re.findall(r'action="([^"]+/undo)', text)
    assert "2 memories" in text_of(client.post(undo, follow=True))
    assert contents(tenant) == []


def test_undo_leaves_what_was_changed_since(client: Client, tenant: Tenant) -> None:
    done = store(client, tenant, upload(client, tenant, "a.csv", "content\none\ntwo\n"))
    memory = next(row for row in all_stored_memories(tenant) if row.content == "one")
    client.post(page("memory-pin", tenant, memory.pk))
    client.post(page("memories-bulk-undo", tenant, done.context["act"].pk))
    assert contents(tenant) == ["one"]


def test_file_without_new_memories_has_nothing_to_import(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, "known")
    text = text_of(upload(client, tenant, "a.csv", "content\nknown\n"))
    assert "There is nothing to import." in text


#: One line for each relation of a memory to stored ones and to those of earlier lines.
EVERY_WAY = [
    '{"content": "fine"}',
    '{"content": "fine "}',
    '{"content": "known", "source_id": "k"}',
    '{"content": "changed", "source_id": "k"}',
    '{"content": "known", "source_id": "k", "kind": "preference"}',
    '{"content": "past"}',
    '{"content": "late", "source_id": "e", "created_at": "2100-01-01T00:00:00Z"}',
    '{"content": "early", "source_id": "e", "created_at": "2026-11-27T00:00:00Z"}',
    '{"content": "fine", "partition": "user=alex"}',
    '{"content": "x", "colour": 1}',
]


def test_preview_shows_what_the_import_in_batches_does(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_export, "IMPORT_BATCH_ROWS", 3)
    make_memory(tenant, "known", source_id="k")
    make_memory(tenant, "past", expires_at=timezone.now() - timedelta(minutes=1))
    make_memory(tenant, "soon", source_id="e", expires_at=timezone.now() + timedelta(hours=1))
    before = contents(tenant)
    previewed = upload(client, tenant, "a.jsonl", "\n".join(EVERY_WAY))
    assert contents(tenant) == before
    preview = previewed.context["preview"]
    statuses = [row["status"] for row in preview["lines"]]
    assert statuses == (
        ["created", "existing", "existing", "updated", "updated", "created", "invalid", "updated", "created", "invalid"]
    )
    assert [row["line"] for row in previewed.context["lines"] if row["is_repeated"]] == [2]
    assert text_of(previewed).count("already stored") == text_of(previewed).count("repeated line") == 1
    done = store(client, tenant, previewed)
    assert done.context["report"] == {name: preview[name] for name in ("created", "updated", "existing", "invalid")}
    assert [row["line"] for row in done.context["lines"]] == [7, 10]
    assert contents(tenant) == ["early", "fine", "fine", "known", "past"]
    with CaptureQueriesContext(connection) as queries:
        rows = client.get(page("activity", tenant)).context["rows"]
    (act,) = [row for row in rows if row.entry.verb == "import_memories"]
    assert act.changes == ["3 created"]
    whole = "".join(query["sql"] for query in queries if '"memories_hygieneact"."changed",' in query["sql"])
    assert act.entry.pk.hex not in whole, "an import can create 10,000"
    client.post(page("memories-bulk-undo", tenant, act.entry.pk))
    assert contents(tenant) == ["early", "known"]


def test_failure_in_a_later_batch_keeps_those_before_and_the_import_continues(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_export, "IMPORT_BATCH_ROWS", 1)
    first = next_batch(client, tenant, upload(client, tenant, "a.csv", "content\none\ntwo\n"))
    assert "1 of 2 memories" in text_of(first)
    with monkeypatch.context() as patched:
        patched.setattr(imports, "store_memories", Mock(side_effect=Conflict("busy", "Try again.")))
        failed = next_batch(client, tenant, first)
    assert failed.status_code == 422
    assert "Try again." in text_of(failed)
    assert contents(tenant) == ["one"]
    assert next_batch(client, tenant, first).context["report"]["created"] == 2
    client.post(page("memories-bulk-undo", tenant, first.context["act"].pk))
    assert contents(tenant) == []
    assert "The import was undone." in text_of(next_batch(client, tenant, first))


def edit(client: Client, tenant: Tenant, memory: Memory, content: str) -> None:
    fields = {"content": content, "kind": "fact", "confidence": "0.8", "metadata": "{}", "seen_version": "1"}
    assert client.post(page("memory", tenant, memory.pk), fields).status_code == 302


def test_memories_that_changed_after_the_preview_are_not_overwritten(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_export, "IMPORT_BATCH_ROWS", 2)
    edited, archived, same, kept = (make_memory(tenant, f"old {name}", source_id=name) for name in "abcd")
    rows = [(1, "a"), (2, "a"), (1, "b"), (1, "c"), (1, "d"), (1, "e"), (3, "a"), (1, ""), (2, "d")]
    lines = [json.dumps({"content": f"new {number} {name}", "source_id": name}) for number, name in rows]
    previewed = upload(client, tenant, "a.jsonl", "\n".join(lines))
    edit(client, tenant, edited, "edited a")
    client.post(page("memory-archive", tenant, archived.pk))
    edit(client, tenant, same, "new 1 c")
    make_memory(tenant, "stored e", source_id="e")
    done = store(client, tenant, previewed)
    assert done.context["report"] == {"created": 1, "updated": 2, "existing": 1, "invalid": 5}
    assert [row["line"] for row in done.context["lines"]] == [1, 2, 3, 6, 7]
    assert text_of(done).count("A memory that this line updates or replaces changed after the preview.") == 5
    assert contents(tenant) == ["edited a", "new 1", "new 1 c", "new 2 d", "stored e"]
    assert as_stored(kept).version == 3
    assert "Updated memories keep their new version after an undo." in text_of(done)


def test_memories_that_changed_after_the_preview_are_not_replaced(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_export, "IMPORT_BATCH_ROWS", 2)
    edited, same, named, other, second = (make_memory(tenant, f"old {name}", source_id=name) for name in "abcde")
    replaced: list[tuple[dict[str, Any], list[Memory]]] = [
        ({}, [edited]),
        ({}, [same]),
        ({"superseded_versions": [1]}, [named]),
        ({"source_id": "f"}, [other, second]),
    ]
    lines = [
        json.dumps({"content": f"new {number}", "supersedes": [str(row.pk) for row in rows], **fields})
        for number, (fields, rows) in enumerate(replaced)
    ]
    previewed = upload(client, tenant, "a.jsonl", "\n".join(lines))
    assert previewed.context["preview"]["created"] == 4
    edit(client, tenant, edited, "edited a")
    edit(client, tenant, second, "edited e")
    done = store(client, tenant, previewed)
    assert done.context["report"] == {"created": 2, "updated": 0, "existing": 0, "invalid": 2}
    assert [row["line"] for row in done.context["lines"]] == [1, 4]
    assert text_of(done).count("A memory that this line updates or replaces changed after the preview.") == 2
    assert contents(tenant) == ["edited a", "edited e", "new 1", "new 2", "old d"]
    packed = {"packed": pack_text(lines[3]), "seen": "1:0. ", "type": "jsonl"}
    unseen = client.post(reverse("memory-import-export", args=[tenant.pk]), packed)
    assert unseen.context["report"]["invalid"] == 1


def test_batch_that_is_sent_twice_finds_its_rows_stored(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, "old", source_id="u")
    rows = ['{"content": "new", "source_id": "u"}', '{"content": "first", "source_id": "v"}']
    previewed = upload(client, tenant, "a.jsonl", "\n".join(rows))
    for counts in ({"updated": 1, "created": 1}, {"existing": 2}):
        assert next_batch(client, tenant, previewed).context["report"].items() >= counts.items()


def test_preview_compares_the_condition_of_a_line(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, "old", source_id="u")
    rows = [{"content": f"new {number}", "source_id": "u", "if_version": number} for number in (2, 1, 2, 2)]
    previewed = upload(client, tenant, "a.jsonl", "\n".join(map(json.dumps, rows)))
    statuses = [row["status"] for row in previewed.context["preview"]["lines"]]
    assert statuses == ["invalid", "updated", "updated", "invalid"]
    assert store(client, tenant, previewed).context["report"].items() >= {"updated": 2, "invalid": 2}.items()


@pytest.mark.parametrize("sent", [{}, {"seen": "1"}, {"seen": "", "changed": "x"}])
def test_second_step_needs_the_states_of_the_preview(client: Client, tenant: Tenant, sent: dict[str, str]) -> None:
    packed = pack_text('{"content": "new", "source_id": "u"}')
    response = client.post(reverse("memory-import-export", args=[tenant.pk]), {"packed": packed, **sent})
    assert response.status_code == 422
    assert "The preview is incomplete." in text_of(response)
    assert contents(tenant) == []


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b"\xff", "not UTF-8"),
        ("a.jsonl", "\n", "contains no memories"),
        ("a.csv", "kind\nfact\n", "must name each column"),
        ("a.jsonl", "x" * (8 * 1024 * 1024 + 1), "larger than 8 MiB"),
        ("a.csv", "content\n" + "x\n" * 10_001, "at most 10,000 memories"),
    ],
)
def test_bad_file_is_an_error_at_its_field(
    client: Client, tenant: Tenant, name: str, content: Any, sentence: str
) -> None:
    response = upload(client, tenant, name, content)
    assert response.status_code == 422
    assert sentence in text_of(response)


def test_file_that_does_not_pack_into_the_second_form_is_refused(client: Client, tenant: Tenant) -> None:
    noise = base64.b64encode(random.Random(1).randbytes(6 * 1024 * 1024 - 100)).decode()
    response = upload(client, tenant, "a.jsonl", noise)
    assert response.status_code == 422
    assert "too large to be previewed" in text_of(response)


@pytest.mark.parametrize(
    "packed", ["nonsense", "nönsense", pack_text("x" * (8 * 1024 * 1024 + 1)), pack_text("content")[:-8]]
)
def test_second_step_refuses_what_no_preview_made(client: Client, tenant: Tenant, packed: str) -> None:
    response = client.post(reverse("memory-import-export", args=[tenant.pk]), {"packed": packed})
    assert response.status_code == 422
    assert "is incomplete" in text_of(response)


def test_line_with_half_of_a_surrogate_pair_is_shown(client: Client, tenant: Tenant) -> None:
    response = upload(client, tenant, "a.jsonl", '{"content": "half \\ud800"}')
    assert "half ?" in text_of(response)


def test_neither_file_nor_text_is_an_error(client: Client, tenant: Tenant) -> None:
    response = client.post(reverse("memory-import-export", args=[tenant.pk]), {"file": ""})
    assert "Select a file or paste text." in text_of(response)


def test_operator_imports_and_viewer_sees_neither(tenant: Tenant) -> None:
    url = reverse("memory-import-export", args=[tenant.pk])
    operator = client_of(new_operator("olga", "operator", tenant))
    assert "Admins can export" in text_of(operator.get(url))
    assert operator.get(reverse("memory-export", args=[tenant.pk])).status_code == 403
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert viewer.get(url).status_code == 403
