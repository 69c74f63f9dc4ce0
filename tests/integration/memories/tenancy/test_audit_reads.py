"""What the audit log records of reads and downloads, its own download, and the result of the last check."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from memories.models import AuditCheck, AuditEntry, Tenant
from memories.services.tenancy.act_labels import READS
from memories.services.tenancy.audit_seals import content_hash
from memories.tasks import record_settled_searches_task
from memories.tenancy import audit_chain
from memories.tenancy.audit import Actor, live_searches, record_audit, record_search, record_shown
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.page_helpers import client_of, page, text_of
from tests.users import api_client, new_key, new_operator

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("anna", "admin", tenant))


@pytest.fixture
def agent(tenant: Tenant) -> APIClient:
    return api_client(new_key(tenant, "read", "write", "admin"))


def entries_of(tenant: Tenant, **fields: Any) -> list[AuditEntry]:
    with tenant_scope(tenant.pk):
        return list(AuditEntry.objects.for_tenant(tenant.pk).filter(**fields).order_by("at"))


def body_of(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def test_reading_a_context_leaves_one_entry_for_each_reader(admin: Client, agent: APIClient, tenant: Tenant) -> None:
    make_memory(tenant, "Bread is baked at night.")
    receipt_id = agent.post("/api/v1/context", {"query": "bread", "max_tokens": 200}, format="json").json()["id"]
    for _ in range(2):
        assert agent.get(f"/api/v1/context/{receipt_id}").status_code == 200
        replay = agent.post(f"/api/v1/context/{receipt_id}/replay", {"mode": "recorded"}, format="json")
        assert replay.status_code == 200
        assert admin.get(page("receipt", tenant, receipt_id)).status_code == 200
    read = entries_of(tenant, verb="read_context")
    assert {entry.actor_kind for entry in read} == {"key", "operator"}
    assert [entry.target_ids for entry in read] == [[receipt_id]] * 2


def test_reads_are_recorded_again_in_the_next_hour_and_for_another_row(tenant: Tenant) -> None:
    reader, other = Actor.operator(1, "anna"), Actor.operator(2, "vera")
    reads = [(reader, "a", 0), (reader, "a", 59), (reader, "a", 60), (reader, "b", 0), (other, "a", 0)]
    for by, target, minutes in reads:
        now = FACTORY_NOW + timedelta(minutes=minutes)
        record_shown("read_context", "receipt", target, tenant_id=tenant.pk, by=by, now=now)
    assert len(entries_of(tenant, verb="read_context")) == 4


def test_previews_searches_and_comparisons_are_recorded_without_their_words(
    admin: Client, agent: APIClient, tenant: Tenant
) -> None:
    make_memory(tenant, "Bread is baked at night.", partition="user=alex")
    body = {"query": "bread of Alex", "partition": "user=alex"}
    receipt_id = agent.post("/api/v1/context", body, format="json").json()["id"]
    assert entries_of(tenant, verb__in=READS) == []  # the receipt records who read it
    for _ in range(2):
        assert agent.post("/api/v1/context", body | {"preview": True}, format="json").status_code == 200
        assert agent.post("/api/v1/memories/search", body, format="json").status_code == 200
        since = {"since": {"context_id": receipt_id}}
        assert agent.post("/api/v1/context/diff", body | since, format="json").status_code == 200
    entries = entries_of(tenant, verb__in=READS)
    assert [entry.verb for entry in entries] == ["preview_context", "search_memories", "read_context"]
    assert [entry.target_ids for entry in entries] == [["user=alex"], ["user=alex"], [receipt_id]]
    preview, search, read = (entry.details for entry in entries)
    assert preview == search == {"query_hash": preview["query_hash"], "results": 1}
    assert read == {}
    shown = text_of(admin.get(page("audit-log", tenant), {"show": "reads"}))
    assert f"query hash: {preview['query_hash']}" in shown
    assert "results: 1" in shown
    assert "bread of Alex" not in shown
    assert "query hash" not in text_of(admin.get(page("audit-log", tenant), {"show": "changes"}))
    assert {row.entry.verb for row in admin.get(page("activity", tenant)).context["rows"]}.isdisjoint(READS)


def test_every_page_that_searches_or_previews_leaves_an_entry(admin: Client, tenant: Tenant) -> None:
    memory, other = make_memory(tenant, "Bread is baked at night."), make_memory(tenant, "Rye bread is dark.")
    pages: list[tuple[str, str, dict[str, Any]]] = [
        ("context-preview", "preview_context", {"query": "one bread", "max_tokens": 500}),
        ("context-preview", "search_memories", {"query": "x", "focus_memory": "two bread"}),
        ("context-compare", "preview_context", {"query": "three bread", "left": "adr-0040", "right": "recall"}),
        ("context-explain", "preview_context", {"query": "four bread", "memory": str(memory.pk)}),
        ("context-explain", "search_memories", {"query": "x", "memory": "five bread"}),
        ("golden-new", "preview_context", {"text": "six bread"}),
        ("memories", "search_memories", {"q": "seven bread"}),
        ("memories", "search_memories", {"q": "eight bread", "state": "archived"}),
    ]
    addresses = [(page(name, tenant), verb, query) for name, verb, query in pages]
    addresses.append((page("memory-merge", tenant, other.pk), "search_memories", {}))
    for address, verb, query in addresses:
        before = len(entries_of(tenant, verb=verb))
        assert admin.get(address, {**query, "whole": "1"}).status_code == 200
        assert len(entries_of(tenant, verb=verb)) == before + 1, (address, query)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the arguments of tasks for the worker, which does not receive them."""
    tasks: list[Any] = []
    monkeypatch.setattr("celery.current_app.send_task", lambda _name, args, **_: tasks.append(args))
    return tasks


def deliver(sent: list[Any]) -> None:
    for args in sent:
        record_settled_searches_task.run(*json.loads(json.dumps(args)))


@pytest.mark.django_db(transaction=True)
def test_search_while_typing_is_recorded_once_it_is_settled(admin: Client, tenant: Tenant, sent: list[Any]) -> None:
    make_memory(tenant, "Bread is baked at night.")
    for text in ("br", "bre", "bread"):
        admin.get(page("memories", tenant), {"q": text}, headers={"HX-Request": "true"})
    assert len(sent) == 3
    assert len(entries_of(tenant, verb="read_text")) == 1
    deliver(sent)
    (entry,) = entries_of(tenant, verb="search_memories")
    admin.get(page("memories", tenant), {"q": "bread", "whole": "1"})
    assert entries_of(tenant, verb="search_memories") == [entry]


@pytest.mark.django_db(transaction=True)
def test_preview_while_typing_is_recorded_with_the_one_that_it_is_compared_with(
    admin: Client, tenant: Tenant, sent: list[Any]
) -> None:
    make_memory(tenant, "Bread is baked at night.")
    for text, before in (("one", "none"), ("two", "one"), ("three", "two")):
        query = {"query": f"{text} bread", "max_tokens": "500", "before": f"query={before}+bread&max_tokens=500"}
        admin.get(page("context-preview", tenant), query, headers={"HX-Request": "true"})
    assert [entry.details for entry in entries_of(tenant, verb="read_text")] == [{"page": "context-preview"}]
    deliver(sent)
    recorded = {entry.details["query_hash"] for entry in entries_of(tenant, verb="preview_context")}
    assert recorded == {search["details"]["query_hash"] for search in sent[-1][1]}
    assert len(recorded) == 2


def test_worker_tries_again_if_the_database_accepts_no_entry(tenant: Tenant) -> None:
    with live_searches() as searches:
        record_search("search_memories", "bread", "", results=0, tenant_id=tenant.pk, by=TESTER, now=FACTORY_NOW)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        with pytest.raises(OperationalError):
            record_settled_searches_task.run("search.nobody", searches)


@pytest.mark.django_db(transaction=True)
def test_search_while_typing_is_recorded_at_once_without_a_broker(
    admin: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **_options: Any) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("celery.current_app.send_task", refuse)
    admin.get(page("memories", tenant), {"q": "bread"}, headers={"HX-Request": "true"})
    # a search inside a transaction
    admin.get(page("context-explain", tenant), {"query": "x", "memory": "rye"}, headers={"HX-Request": "true"})
    assert len(entries_of(tenant, verb="search_memories")) == 2


def test_only_a_submitted_text_of_the_search_field_leaves_an_entry(admin: Client, tenant: Tenant) -> None:
    make_memory(tenant, "Bread is baked at night.")
    for name, field in (("search", "q"), ("palette", "q"), ("context-suggest", "focus_memory")):
        shown = admin.get(page(name, tenant), {field: "bread"}, headers={"HX-Request": "true"})
        assert "Bread is baked" in text_of(shown), name
    assert entries_of(tenant, verb="search_memories") == []
    admin.get(page("search", tenant), {"q": "bread"})
    assert len(entries_of(tenant, verb="search_memories")) == 1


def test_search_and_context_are_answered_if_the_database_accepts_no_entry(
    admin: Client, agent: APIClient, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    make_memory(tenant, "Bread is baked at night.")
    receipt_id = agent.post("/api/v1/context", {"query": "bread"}, format="json").json()["id"]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        response = agent.post("/api/v1/memories/search", {"query": "bread"}, format="json")
        assert agent.get(f"/api/v1/context/{receipt_id}").status_code == 200
        assert admin.get(page("receipt", tenant, receipt_id)).status_code == 200
    assert (response.status_code, len(response.json()["results"])) == (200, 1)
    for missing in ("search_memories by key", "read_context by key", "read_context by operator"):
        assert f"No audit entry of {missing}" in caplog.text
    assert "bread" not in caplog.text


@pytest.mark.parametrize("failure", [InterfaceError, OperationalError])
def test_page_is_shown_if_its_entry_cannot_be_stored(
    admin: Client, tenant: Tenant, failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise failure("the connection is lost")

    memory = make_memory(tenant, "Bread is baked at night.")
    monkeypatch.setattr("memories.tenancy.audit.insert_rows", refuse)
    assert "Bread is baked" in text_of(admin.get(page("memory", tenant, memory.pk)))


def test_hash_of_a_query_needs_the_key_of_the_installation(tenant: Tenant, settings: Any) -> None:
    with tenant_scope(tenant.pk):
        for key in ("one" * 20, settings.SECRET_KEY):  # the last one signs the scope of the reads
            settings.SECRET_KEY = key
            found: dict[str, Any] = {"results": 0, "tenant_id": tenant.pk, "by": TESTER, "now": FACTORY_NOW}
            record_search("search_memories", "bread", "user=alex", **found)
    first, second = entries_of(tenant, verb="search_memories")
    assert first.details["query_hash"] != second.details["query_hash"]


def test_downloads_leave_an_entry(admin: Client, agent: APIClient, tenant: Tenant) -> None:
    make_memory(tenant, "Bread is baked at night.", partition="user=alex")
    body_of(admin.get(page("context-export", tenant), {"state": "slow", "type": "csv"}))
    body_of(admin.get(page("memory-export", tenant), {"partition": "user=alex"}))
    body_of(admin.get(page("audit-export", tenant), {"action": "store memory"}))
    body_of(agent.get("/api/v1/export", {"type": "csv"}))
    exports = entries_of(tenant, verb="export")
    assert [(entry.target_kind, entry.fields) for entry in exports] == [
        ("receipt", ["state", "type"]),
        ("memory", ["partition"]),
        ("audit_entry", ["action"]),
        ("memory", ["type"]),
    ]


def test_audit_log_is_downloaded_with_its_seals(admin: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.tenancy.audit_export.BATCH", 2)
    with tenant_scope(tenant.pk):
        for number in range(3):
            at = FACTORY_NOW + timedelta(minutes=number)
            given: dict[str, Any] = {"tenant_id": tenant.pk, "reason": "=1+1", "details": {"number": number}}
            entry = record_audit("act", "memory", [number], **given, by=TESTER, now=at)
    audit_chain.seal_audit_entries(now=timezone.now())
    address = page("audit-export", tenant)
    lines = [json.loads(line) for line in body_of(admin.get(address, {"action": "act", "type": "jsonl"})).splitlines()]
    assert [line["target_ids"] for line in lines] == [["2"], ["1"], ["0"]]
    assert lines[0]["content_hash"] == content_hash(entry)
    assert lines[0]["details"] == {"number": 2}
    assert lines[0]["seal_number"] == lines[2]["seal_number"] + 2
    rows = list(csv.DictReader(io.StringIO(body_of(admin.get(address, {"action": "act"})))))
    assert [row["reason"] for row in rows] == ["'=1+1"] * 3
    assert rows[0]["details"] == '{"number": 2}'
    assert admin.get(address, {"after": "yesterday"}).status_code == 302
    assert f"{address}?action=act&amp;type=csv" in text_of(admin.get(page("audit-log", tenant), {"action": "act"}))


def test_page_shows_how_far_the_log_is_verified(admin: Client, tenant: Tenant) -> None:
    assert "Not verified yet" in text_of(admin.get(page("audit-log", tenant)))
    audit_chain.seal_audit_entries(now=timezone.now())
    assert audit_chain.check_audit_logs(now=timezone.now()) == 0
    assert "Verified up to" in text_of(admin.get(page("audit-log", tenant)))
    with tenant_scope(tenant.pk):
        AuditCheck.objects.update(problem="entry_changed", problem_entry_id=tenant.pk)
    text = text_of(admin.get(page("audit-log", tenant)))
    assert "The audit log was changed" in text
    assert f"Entry changed: entry <code>{tenant.pk}</code>" in text
