"""Entries can only be added to the audit log, and seals reveal every change past the application (ADR-0142)."""

import os
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, transaction
from psycopg import sql
from psycopg.types.json import Jsonb

from memories.models import AuditCheck, AuditEntry, AuditSeal, Tenant, UnsealedAuditEntry
from memories.services.tenancy.audit_seals import AuditProblem, KnownSeal, content_hash, seal_hash
from memories.tenancy import audit_chain
from memories.tenancy.actions.tenants import create_hidden_tenant, drop_hidden_tenant
from memories.tenancy.audit import record_audit
from memories.tenancy.queries.audit import delete_audit_rows, redact_audit_rows
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests import servers
from tests.factories import FACTORY_NOW, TESTER, make_tenant

pytestmark = pytest.mark.django_db

committed = pytest.mark.django_db(transaction=True)
LATER = FACTORY_NOW + timedelta(minutes=5)


def write_entries(tenant: Tenant, count: int, reason: str = "") -> list[AuditEntry]:
    with tenant_scope(tenant.pk):
        return [
            record_audit("act", "memory", [n], tenant_id=tenant.pk, reason=reason, by=TESTER, now=FACTORY_NOW)
            for n in range(count)
        ]


def sealed_log(count: int = 4) -> tuple[Tenant, list[UUID]]:
    """A tenant whose first entry is its creation, and the ids of its entries in the order of their seals."""
    tenant = make_tenant()
    write_entries(tenant, count - 1)
    audit_chain.seal_audit_entries(now=LATER)
    with tenant_scope(tenant.pk):
        return tenant, list(AuditSeal.objects.order_by("number").values_list("entry_id", flat=True))


def as_superuser(statement: str, values: dict[str, Any], *, replaces_triggers: bool = True) -> None:
    """Run a statement that bypasses policies and, unless it only inserts, triggers."""
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database()) as connection:
        if replaces_triggers:
            connection.execute("SET session_replication_role = replica")
        connection.execute(sql.SQL(statement), values)


def columns_of(row: Any) -> dict[str, Any]:
    values = {field.column: getattr(row, field.attname) for field in row._meta.local_fields}
    return values | {"details": Jsonb(row.details)} if "details" in values else values


def test_entries_are_sealed_in_their_order_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_chain, "SEALED_BATCH", 2)
    tenant = make_tenant()
    written = write_entries(tenant, 4)
    assert audit_chain.check_audit_log(tenant.pk).waiting == 5
    assert audit_chain.seal_audit_entries(now=LATER) == 5
    state = audit_chain.check_audit_log(tenant.pk)
    assert (state.broken, state.waiting, state.last.number, state.last_sealed_at) == (None, 0, 5, LATER)
    with tenant_scope(tenant.pk):
        seals = list(AuditSeal.objects.order_by("number"))
        assert not UnsealedAuditEntry.objects.exists()
    assert [seal.entry_id for seal in seals[1:]] == [entry.pk for entry in written]
    assert audit_chain.seal_audit_entries(now=LATER) == 0


@committed
def test_entry_that_commits_late_is_sealed_when_it_is_visible() -> None:
    tenant = make_tenant()
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database()) as late:
        row = AuditEntry(tenant_id=tenant.pk, at=FACTORY_NOW, actor_kind="system", verb="late", target_kind="memory")
        names, marks = _named(columns_of(row))
        late.execute(sql.SQL("INSERT INTO memories_auditentry ({}) VALUES ({})").format(names, marks), columns_of(row))
        write_entries(tenant, 1)
        assert audit_chain.seal_audit_entries(now=LATER) == 2
        late.commit()
    assert audit_chain.seal_audit_entries(now=LATER) == 1
    assert audit_chain.check_audit_log(tenant.pk).broken is None


def _named(values: dict[str, Any]) -> tuple[sql.Composable, sql.Composable]:
    names = [sql.Identifier(name) for name in values]
    return sql.SQL(", ").join(names), sql.SQL(", ").join(sql.Placeholder(name) for name in values)


def change_entry(tenant: Tenant, ids: list[UUID]) -> None:
    as_superuser("UPDATE memories_auditentry SET actor_label = 'nobody' WHERE id = %(id)s", {"id": ids[2]})


def change_entry_with_its_seal(tenant: Tenant, ids: list[UUID]) -> None:
    """Change an entry and write the seal that it would have had, so that only the next seal no longer fits."""
    change_entry(tenant, ids)
    with tenant_scope(tenant.pk):
        seal, former = (AuditSeal.objects.get(entry_id=ids[place]) for place in (2, 1))
        seal.content_hash = content_hash(AuditEntry.objects.get(pk=ids[2]))
    values = {"content": seal.content_hash, "seal": seal_hash(former.seal_hash, seal), "id": ids[2]}
    as_superuser(
        "UPDATE memories_auditseal SET content_hash = %(content)s, seal_hash = %(seal)s WHERE entry_id = %(id)s", values
    )


def delete_entry(tenant: Tenant, ids: list[UUID]) -> None:
    as_superuser("DELETE FROM memories_auditentry WHERE id = %(id)s", {"id": ids[2]})


def delete_entry_and_seal(tenant: Tenant, ids: list[UUID]) -> None:
    delete_entry(tenant, ids)
    as_superuser("DELETE FROM memories_auditseal WHERE entry_id = %(id)s", {"id": ids[2]})


def delete_and_close_the_gap(tenant: Tenant, ids: list[UUID]) -> None:
    delete_entry_and_seal(tenant, ids)
    as_superuser("UPDATE memories_auditseal SET number = 3 WHERE entry_id = %(id)s", {"id": ids[3]})


def insert_entry(tenant: Tenant, ids: list[UUID]) -> None:
    as_superuser(
        "INSERT INTO memories_auditentry SELECT (jsonb_populate_record(e, jsonb_build_object('id', %(id)s::text))).*"
        " FROM memories_auditentry AS e WHERE id = %(like)s",
        {"id": ids[0].hex[::-1], "like": ids[2]},
    )


def insert_entry_with_seal(tenant: Tenant, ids: list[UUID]) -> None:
    insert_entry(tenant, ids)
    as_superuser("UPDATE memories_auditseal SET number = number + 10 WHERE number > 2", {})
    as_superuser("UPDATE memories_auditseal SET number = number - 9 WHERE number > 10", {})
    as_superuser(
        "INSERT INTO memories_auditseal (tenant_id, number, entry_id, is_redaction, content_hash, seal_hash, sealed_at)"
        " SELECT tenant_id, 3, %(id)s, false, content_hash, seal_hash, sealed_at FROM memories_auditseal"
        " WHERE entry_id = %(like)s",
        {"id": UUID(ids[0].hex[::-1]), "like": ids[2]},
    )


def swap_entries(tenant: Tenant, ids: list[UUID]) -> None:
    values = {"one": ids[1], "two": ids[2], "none": uuid4()}
    for old, new in (("one", "none"), ("two", "one"), ("none", "two")):
        as_superuser(f"UPDATE memories_auditseal SET entry_id = %({new})s WHERE entry_id = %({old})s", values)


def cut_off_the_end(tenant: Tenant, ids: list[UUID]) -> None:
    for table, column in (("auditentry", "id"), ("auditseal", "entry_id")):
        as_superuser(f"DELETE FROM memories_{table} WHERE {column} = %(id)s", {"id": ids[3]})


@committed
@pytest.mark.parametrize(
    ("tamper", "problem", "place"),
    [
        (change_entry, AuditProblem.ENTRY_CHANGED, 3),
        (change_entry_with_its_seal, AuditProblem.SEAL_CHANGED, 4),
        (delete_entry, AuditProblem.ENTRY_MISSING, 3),
        (delete_entry_and_seal, AuditProblem.SEAL_MISSING, 4),
        (delete_and_close_the_gap, AuditProblem.SEAL_CHANGED, 3),
        (insert_entry, AuditProblem.ENTRY_NOT_SEALED, None),
        (insert_entry_with_seal, AuditProblem.SEAL_CHANGED, 3),
        (swap_entries, AuditProblem.SEAL_CHANGED, 2),
        (cut_off_the_end, AuditProblem.SEAL_MISSING, 4),
    ],
)
def test_tampering_of_a_superuser_is_found(
    tamper: Callable[[Tenant, list[UUID]], None], problem: AuditProblem, place: int | None
) -> None:
    tenant, ids = sealed_log()
    known = audit_chain.check_audit_log(tenant.pk).last
    tamper(tenant, ids)
    broken = audit_chain.check_audit_log(tenant.pk, known=known).broken
    assert broken is not None
    assert (broken.problem, broken.number) == (problem, place)
    with pytest.raises(CommandError, match=f"Broken: {tenant.name}"):
        call_command("verify_audit", tenant=tenant.name, known_seal=str(known), stderr=StringIO())


@committed
def test_scheduled_check_keeps_the_end_that_it_saw() -> None:
    tenant, ids = sealed_log()
    assert audit_chain.check_audit_logs(now=LATER) == 0
    cut_off_the_end(tenant, ids)
    assert audit_chain.check_audit_logs(now=LATER) == 1
    assert audit_chain.check_audit_logs(now=LATER) == 1
    with tenant_scope(tenant.pk):
        check = AuditCheck.objects.get()
    assert (check.problem, check.last_number) == ("seal_missing", 4)


def change_last_entry(tenant: Tenant, ids: list[UUID]) -> None:
    as_superuser("UPDATE memories_auditentry SET actor_label = 'nobody' WHERE id = %(id)s", {"id": ids[3]})


def change_last_seal(tenant: Tenant, ids: list[UUID]) -> None:
    as_superuser(
        "UPDATE memories_auditseal SET seal_hash = %(h)s WHERE entry_id = %(id)s", {"h": "0" * 64, "id": ids[3]}
    )


def insert_recent_entry(tenant: Tenant, ids: list[UUID]) -> None:
    insert_entry(tenant, ids)
    as_superuser("UPDATE memories_auditentry SET at = %(at)s WHERE id = %(id)s", {"at": LATER, "id": ids[0].hex[::-1]})


@committed
@pytest.mark.parametrize(
    ("tamper", "is_found_hourly"),
    [
        (change_entry, False),
        (change_last_entry, True),
        (change_last_seal, True),
        (cut_off_the_end, True),
        (insert_recent_entry, True),
    ],
)
def test_hourly_check_reads_from_the_last_correct_seal_and_the_weekly_one_all(
    tamper: Callable[[Tenant, list[UUID]], None], is_found_hourly: bool
) -> None:
    tenant, ids = sealed_log()
    assert audit_chain.check_audit_logs(now=LATER) == 0
    tamper(tenant, ids)
    write_entries(tenant, 1)
    audit_chain.seal_audit_entries(now=LATER)
    an_hour, a_week = LATER + timedelta(hours=1), LATER + audit_chain.WHOLE_CHECK_INTERVAL
    assert bool(audit_chain.check_audit_logs(now=an_hour)) == is_found_hourly
    assert audit_chain.check_audit_logs(now=a_week) == 1
    # The next hourly check keeps the finding of the whole check.
    assert audit_chain.check_audit_logs(now=a_week + timedelta(hours=1)) == 1


@committed
def test_log_that_is_longer_than_a_batch_and_redacted_meanwhile_is_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_chain, "CHECKED_BATCH", 2)
    tenant = make_tenant()
    entries = write_entries(tenant, 4, "Alex asked.")
    audit_chain.seal_audit_entries(now=LATER)
    assert audit_chain.check_audit_logs(now=LATER) == 0
    entries[0].reason = "[erased]"
    with tenant_scope(tenant.pk):
        audit_chain.redact_audit_entries(tenant.pk, entries[:1], now=LATER)
    for later in (timedelta(hours=1), audit_chain.WHOLE_CHECK_INTERVAL):
        assert audit_chain.check_audit_logs(now=LATER + later) == 0
    with tenant_scope(tenant.pk):
        assert AuditCheck.objects.get().last_number == 6


def test_command_names_the_end_of_the_log() -> None:
    tenant, _ids = sealed_log()
    out = StringIO()
    call_command("verify_audit", stdout=out)
    last = audit_chain.check_audit_log(tenant.pk).last
    assert f"{tenant.name}: verified up to 2026-06-01 12:05:00 UTC, seal {last}." in out.getvalue()
    with pytest.raises(CommandError, match="Broken"):
        call_command("verify_audit", tenant=tenant.name, known_seal=f"4:{'0' * 64}", stderr=StringIO())
    for arguments in ({"known_seal": str(last)}, {"tenant": tenant.name, "known_seal": "4"}):
        with pytest.raises(CommandError, match="known-seal"):
            call_command("verify_audit", **arguments)


@pytest.mark.parametrize("model", [AuditEntry, AuditSeal])
@pytest.mark.parametrize("change", ["update", "delete"])
def test_application_can_neither_change_nor_delete(model: Any, change: str) -> None:
    tenant, _ids = sealed_log()
    rows = model.objects.for_tenant(tenant.pk)
    changes = {"update": lambda: rows.update(tenant_id=tenant.pk), "delete": rows.delete}
    with pytest.raises(ProgrammingError, match=r"permission denied|can only be added to"), tenant_scope(tenant.pk):
        changes[change]()


def test_redaction_removes_text_and_the_log_stays_correct() -> None:
    tenant = make_tenant()
    sealed, *_ = write_entries(tenant, 1, "Alex asked 100% for it. Twice.")
    audit_chain.seal_audit_entries(now=LATER)
    waiting, *_ = write_entries(tenant, 1, "Alex asked again.")
    sealed.reason, sealed.target_ids, waiting.reason = "[erased] Twice.", ["[erased]"], "[erased]"
    with tenant_scope(tenant.pk):
        audit_chain.redact_audit_entries(tenant.pk, [sealed, waiting], now=LATER)
    audit_chain.seal_audit_entries(now=LATER)
    state = audit_chain.check_audit_log(tenant.pk)
    assert (state.broken, state.last.number) == (None, 4)
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.get(pk=sealed.pk).reason == "[erased] Twice."
        assert [seal.is_redaction for seal in AuditSeal.objects.order_by("number")] == [False, False, True, False]


@pytest.mark.parametrize(
    ("reason", "target_ids"),
    [
        ("Sam asked.", ["0"]),
        ("[erased] more", ["0"]),
        ("Alex asked.", ["1"]),
        ("Alex asked.", []),
        ("Alex_asked.", ["0"]),
    ],
)
def test_redaction_cannot_add_text(reason: str, target_ids: list[str]) -> None:
    tenant = make_tenant()
    entry, *_ = write_entries(tenant, 1, "Alex asked.")
    with pytest.raises(ProgrammingError, match="can only be removed"), tenant_scope(tenant.pk):
        redact_audit_rows(tenant.pk, [(entry.pk, reason, target_ids)])


def test_redaction_past_the_erasure_is_found() -> None:
    tenant = make_tenant()
    entry, *_ = write_entries(tenant, 1, "Alex asked.")
    audit_chain.seal_audit_entries(now=LATER)
    with tenant_scope(tenant.pk):
        redact_audit_rows(tenant.pk, [(entry.pk, "[erased]", ["0"])])
    broken = audit_chain.check_audit_log(tenant.pk).broken
    assert broken is not None
    assert (broken.problem, broken.entry_id) == (AuditProblem.ENTRY_CHANGED, entry.pk)


def test_log_goes_with_its_tenant_only(tenant: Tenant) -> None:
    for scope in (tenant_scope(tenant.pk), tenant_scope(uuid4()), transaction.atomic()):
        with pytest.raises(ProgrammingError, match="deleted with its tenant"), scope:
            delete_audit_rows(tenant.pk)
    with admin_write_scope():
        hidden = create_hidden_tenant(words="stage 1", by=TESTER, now=FACTORY_NOW)
    audit_chain.seal_audit_entries(now=LATER)
    with admin_write_scope():
        assert drop_hidden_tenant(words="stage 1", by=TESTER)
        assert not AuditEntry.objects.for_tenant(hidden.pk).exists()
        assert not AuditSeal.objects.for_tenant(hidden.pk).exists()


def test_seal_that_is_no_seal_of_the_log_is_refused() -> None:
    tenant, _ids = sealed_log()
    broken = audit_chain.check_audit_log(tenant.pk, known=KnownSeal(9, "0" * 64)).broken
    assert broken is not None
    assert (broken.problem, broken.number) == (AuditProblem.SEAL_MISSING, 5)
