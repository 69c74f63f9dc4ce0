"""The file of a tenant: every table, stored completely or not at all, with the same rows afterwards."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from memories.models import ApiKey, AuditEntry, Membership, Tenant
from memories.services.partitions.paths import parse_partition
from memories.store.actions.edit import update_memory
from memories.tenancy.audit_chain import check_audit_log
from memories.tenancy.queries.audit import delete_audit_rows
from memories.tenancy.scopes import admin_write_scope, authentication_scope, tenant_scope
from memory_platform.backup import tenant_files
from memory_platform.backup.tenant_files import _digests
from tests.factories import TESTER, make_key, make_memory
from tests.integration.memories.tenancy.test_row_level_security import full_tenant, tenant_tables
from tests.users import User, api_client, new_key, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)
_ = full_tenant  # the fixture: a tenant with a row in every table
#: Only a function of their owner deletes from them.
_AUDIT_LOG = {"memories_auditentry", "memories_auditseal"}


def exported(tenant: Tenant, folder: Path) -> Path:
    path = folder / f"{tenant.pk}.jsonl"
    call_command("export_tenant", tenant.name, str(path), verbosity=0)
    return path


def digests(tenant_id: Any) -> dict[str, list[Any]]:
    with tenant_scope(tenant_id):
        return _digests(tenant_id)


def without_entry_of_import(tenant_id: Any, before: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the digests after an import; tables to which it adds an entry have those of `before`."""
    after = digests(tenant_id)
    for table in ("memories_auditentry", "memories_unsealedauditentry"):
        assert after[table][0] == before[table][0] + 1
        after[table] = before[table]
    with tenant_scope(tenant_id):
        entry = AuditEntry.objects.for_tenant(tenant_id).get(verb="import", target_kind="tenant")
    assert (entry.actor_label, entry.target_ids) == ("manage.py import_tenant", [str(tenant_id)])
    return after


def delete(tenant: Tenant) -> None:
    with admin_write_scope(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for table in reversed(tenant_files.tenant_tables()):
            if table.name not in _AUDIT_LOG:
                cursor.execute(f"DELETE FROM {table.name} WHERE {table.tenant_column} = %s", [tenant.pk])
        delete_audit_rows(tenant.pk)


def changed_file(path: Path, number: int, change: Any) -> Path:
    lines = path.read_text().splitlines()
    number %= len(lines)
    lines[number : number + 1] = change(lines[number])
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_every_table_of_tenants_is_covered_and_has_rows(full_tenant: Tenant, tmp_path: Path) -> None:
    lines = exported(full_tenant, tmp_path).read_text().splitlines()
    tables = {json.loads(line)["table"] for line in lines[1:-1]}
    assert tables == tenant_tables().keys()
    with tenant_scope(full_tenant.pk):
        assert AuditEntry.objects.for_tenant(full_tenant.pk).filter(verb="export", target_kind="tenant").exists()


def test_tenant_comes_back_with_equal_rows_and_its_keys(full_tenant: Tenant, tmp_path: Path) -> None:
    key = new_key(full_tenant, "read", "write")
    path, before = exported(full_tenant, tmp_path), digests(full_tenant.pk)
    delete(full_tenant)
    call_command("import_tenant", str(path), verbosity=0)
    assert without_entry_of_import(full_tenant.pk, before) == before
    assert api_client(key).get("/api/v1/memories").status_code == 200
    assert check_audit_log(full_tenant.pk).broken is None
    # The numbers of new rows follow those of the file.
    make_memory(full_tenant, "Another one.")


def test_tenant_whose_memories_moved_is_imported(tmp_path: Path) -> None:
    tenant = new_shared_tenant("Acme")
    memory = make_memory(tenant, "Moves twice.", is_embedded=True)
    for path in ("user=a", ""):
        with tenant_scope(tenant.pk):
            moved = {"partition": parse_partition(path)}
            memory = update_memory(memory=memory, changes=moved, by=TESTER, now=timezone.now())
    call_command("import_tenant", str(exported(tenant, tmp_path)), "--new-id", "--name", "The copy", verbosity=0)


def test_copy_under_another_id_has_equal_rows_and_revoked_keys(full_tenant: Tenant, tmp_path: Path) -> None:
    path, before = exported(full_tenant, tmp_path), digests(full_tenant.pk)
    call_command("import_tenant", str(path), "--new-id", "--name", "The copy", verbosity=0)
    with admin_write_scope():
        copy = Tenant.objects.get(name="The copy")
        assert {key.revoked for key in ApiKey.objects.filter(tenant=copy)} == {True}
    after, keys = without_entry_of_import(copy.pk, before), ApiKey._meta.db_table
    assert after.pop(keys)[0] == before.pop(keys)[0]
    assert after == before
    assert digests(full_tenant.pk) | {keys: 0} == before | {keys: 0}


def test_membership_without_its_user_is_skipped_and_reported(
    full_tenant: Tenant, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = exported(full_tenant, tmp_path)
    delete(full_tenant)
    User.objects.all().delete()
    call_command("import_tenant", str(path))
    assert "3 rows about users are skipped" in capsys.readouterr().out
    with authentication_scope():
        assert not Membership.objects.exists()


def test_tenant_that_exists_is_not_overwritten(full_tenant: Tenant, tmp_path: Path) -> None:
    path, before = exported(full_tenant, tmp_path), digests(full_tenant.pk)
    with pytest.raises(CommandError, match="exists: --new-id"):
        call_command("import_tenant", str(path))
    with pytest.raises(CommandError, match="refused a row"):  # its name is taken
        call_command("import_tenant", str(path), "--new-id")
    assert digests(full_tenant.pk) == before


@pytest.mark.parametrize(
    ("number", "change", "sentence"),
    [
        (0, lambda _: ["{}"], "not a tenant's file of this version"),
        (0, lambda line: [line.replace('"tenant_id": "', '"tenant_id": "x')], "names no tenant"),
        (-1, lambda _: [], "its last line is missing"),
        (5, lambda _: [], "differ from the file: .*Nothing was stored"),
        (5, lambda line: [line, line], "refused a row"),
        (5, lambda _: ["not json"], "not a JSON object"),
        (5, lambda line: [re.sub('"table": "[a-z_]+"', '"table": "auth_user"', line)], "does not have"),
    ],
)
def test_damaged_file_stores_nothing(tenant: Tenant, tmp_path: Path, number: int, change: Any, sentence: str) -> None:
    for place in range(5):
        make_memory(tenant, f"Note {place} is here.")
    path = changed_file(exported(tenant, tmp_path), number, change)
    delete(tenant)
    with pytest.raises(CommandError, match=sentence):
        call_command("import_tenant", str(path))
    with admin_write_scope():
        assert not Tenant.objects.exists()


def test_file_has_rows_of_its_tenant_alone(full_tenant: Tenant, tmp_path: Path) -> None:
    other = new_shared_tenant("Globex")
    make_memory(other, "The secret of the others.")
    make_key(other)
    text = exported(full_tenant, tmp_path).read_text()
    assert str(other.pk) not in text
    assert "secret of the others" not in text


def test_rows_are_read_and_written_in_small_batches(
    tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_files, "ROWS_PER_INSERT", 2)
    for place in range(5):
        make_memory(tenant, f"Note {place} is here.", is_embedded=True)
    path, before = exported(tenant, tmp_path), digests(tenant.pk)
    delete(tenant)
    call_command("import_tenant", str(path), verbosity=0)
    assert without_entry_of_import(tenant.pk, before) == before
