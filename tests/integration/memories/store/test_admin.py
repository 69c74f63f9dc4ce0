"""Django admin uses the actions: new version, new count, new vector, archive; no direct writes."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from rest_framework_api_key.models import APIKey

from memories.embeddings.actions import reembed_memories
from memories.hygiene.actions import undo_hygiene
from memories.models import ApiKey, AuditEntry, Membership, Memory, MemoryEmbedding, MemoryVersion, StoredAct, Tenant
from memories.services.tokens import token_counts
from memories.store.actions.edit import archive_memory, update_memory
from memories.tenancy.actions.operators import add_member
from memories.tenancy.actions.tenants import create_hidden_tenant
from memories.tenancy.scopes import admin_write_scope, authentication_scope, tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_key, make_memory, reread_memory
from tests.users import PASSWORD, new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(tenant: Tenant) -> Client:
    """A browser in which a person of the group admin is signed in."""
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))
    return client


@pytest.fixture
def superuser(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password=PASSWORD))
    return client


def page(name: str, *arguments: object) -> str:
    return reverse(f"admin:memories_{name}", args=arguments)


def values_of(memory: Memory, **changes: Any) -> dict[str, Any]:
    """Return what the browser sends if only `changes` were entered."""
    return {
        "content": memory.content,
        "kind": memory.kind,
        "confidence": memory.confidence,
        "metadata": "{}",
        "created_at_0": memory.created_at.date().isoformat(),
        "created_at_1": memory.created_at.time().isoformat(),
        "expires_at_0": "",
        "expires_at_1": "",
        "source_id": memory.source_id,
        "session": memory.session,
        "position": "",
        "expected_version": memory.version,
        **changes,
    }


def test_edit_opens_a_version_counts_and_embeds(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex works at Acme.", is_embedded=True)
    url = page("memory_change", memory.pk)
    assert b"Alex works at Acme." in client.get(url).content
    response = client.post(url, values_of(memory, content="Alex works at Globex now."))
    assert response.status_code == 302, response.content.decode()
    current = reread_memory(memory)
    assert (current.version, current.content) == (2, "Alex works at Globex now.")
    assert current.token_counts == token_counts(current.content)
    assert current.embedding_state == "ready"
    with tenant_scope(tenant.pk):
        assert sorted(current.embeddings.values_list("version", flat=True)) == [1, 2]
        entry = AuditEntry.objects.for_tenant(tenant.pk).about(memory.pk).filter(verb="update_memory").get()
    assert (entry.actor_kind, entry.actor_label, entry.fields) == ("operator", "ada", ["content"])


def test_saving_without_a_change_makes_no_version(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "steady")
    client.post(page("memory_change", memory.pk), values_of(memory))
    assert reread_memory(memory).version == 1


BAD_EDITS = [
    ({"content": "  "}, "This field is required"),
    ({"confidence": "1.5"}, "0 to 1"),
    ({"confidence": "nan"}, "Enter a number"),
    ({"kind": "Two Words"}, "lower-case word"),
    ({"metadata": "[1]"}, "must be a JSON object"),
    ({"metadata": "{"}, "Enter a valid JSON"),
    ({"metadata": "[" * 5_000}, "Enter a valid JSON"),
    ({"metadata": "1" * 5_000}, "Enter a valid JSON"),
    ({"metadata": '{"a":"\\ud800"}'}, "an unpaired surrogate"),
    ({"created_at_0": "2199-01-01"}, "more than a day ahead"),
    ({"expires_at_0": "2001-01-01", "expires_at_1": "00:00"}, "must be later than"),
]


def test_bad_edit_is_shown_at_its_field(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "steady")
    for changes, sentence in BAD_EDITS:
        response = client.post(page("memory_change", memory.pk), values_of(memory, **changes))
        assert response.status_code == 200
        assert sentence in response.content.decode()
    assert reread_memory(memory).version == 1


def test_edit_that_creates_a_duplicate_is_refused_and_changes_nothing(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, "taken")
    memory = make_memory(tenant, "free")
    response = client.post(page("memory_change", memory.pk), values_of(memory, content="taken"), follow=True)
    assert "has the same text" in response.content.decode()
    assert reread_memory(memory).content == "free"


def test_edit_of_an_older_version_is_refused_and_changes_nothing(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "first")
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": "second"}, by=TESTER, now=FACTORY_NOW)
    response = client.post(page("memory_change", memory.pk), values_of(memory, content="third"), follow=True)
    assert "has changed since version 1 and now has version 2" in response.content.decode()
    assert reread_memory(memory).content == "second"


def test_memories_are_archived_and_restored_but_never_deleted(client: Client, tenant: Tenant) -> None:
    memory, other = make_memory(tenant, "one", is_embedded=True), make_memory(tenant, "two")
    assert client.post(page("memory_delete", memory.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(other.pk)], "post": "yes"}
    client.post(page("memory_changelist"), chosen)
    assert reread_memory(other).archived_at is None
    chosen = {"action": "archive_selected", "_selected_action": [str(memory.pk), str(other.pk)]}
    client.post(page("memory_changelist"), chosen)
    assert reread_memory(memory).archived_at is not None
    assert reread_memory(other).archived_at is not None
    assert b'name="_save"' not in client.get(page("memory_change", memory.pk)).content
    chosen = {"action": "restore_selected", "_selected_action": [str(memory.pk), str(other.pk)]}
    client.post(page("memory_changelist"), chosen)
    assert (reread_memory(memory).archived_at, reread_memory(memory).version) == (None, 2)
    assert reread_memory(other).embedding_state == "ready"
    with tenant_scope(tenant.pk):
        assert MemoryVersion.objects.for_tenant(tenant.pk).count() == 2


def test_restore_onto_a_duplicate_restores_none(client: Client, tenant: Tenant) -> None:
    free, taken = make_memory(tenant, "free"), make_memory(tenant, "taken")
    with tenant_scope(tenant.pk):
        for memory in (free, taken):
            archive_memory(memory=memory, by=TESTER, now=FACTORY_NOW)
    make_memory(tenant, "taken")
    chosen = {"action": "restore_selected", "_selected_action": [str(free.pk), str(taken.pk)]}
    response = client.post(page("memory_changelist"), chosen, follow=True)
    assert "has the same text" in response.content.decode()
    assert reread_memory(free).archived_at is not None


def test_selected_memories_are_embedded_again(client: Client, tenant: Tenant) -> None:
    ready, failed, old = (make_memory(tenant, text, is_embedded=True) for text in ("Rye", "Oats", "Barley"))

    def vectors() -> dict[Any, list[float]]:
        with tenant_scope(tenant.pk):
            rows = MemoryEmbedding.objects.for_tenant(tenant.pk)
            return {row.memory_id: list(row.vector) for row in rows}

    def embed(*memories: Memory) -> str:
        chosen = {"action": "embed_selected", "_selected_action": [str(memory.pk) for memory in memories]}
        return client.post(page("memory_changelist"), chosen, follow=True).content.decode()

    before = vectors()
    with tenant_scope(tenant.pk):
        archive_memory(memory=old, by=TESTER, now=FACTORY_NOW)
        Memory.objects.for_tenant(tenant.pk).filter(pk=failed.pk).update(embedding_state="failed", embedding_error="no")
        MemoryEmbedding.objects.for_tenant(tenant.pk).update(vector=before[old.pk])
        reembed_memories(tenant=tenant, memory_ids=[ready.pk], by=TESTER, now=FACTORY_NOW)
        current = MemoryEmbedding.objects.for_tenant(tenant.pk).filter(memory_id=ready.pk, is_current=True)
        assert current.exists(), "found by meaning until the new vector is stored"
    assert "2 memories are queued for re-embedding. 1 archived skipped." in embed(ready, failed, old)
    assert vectors() == before
    assert [(row.embedding_state, row.embedding_error) for row in map(reread_memory, (ready, failed))] == [
        ("ready", "")
    ] * 2
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).about(failed.pk).filter(verb="reembed_memories").exists()


def test_memories_are_embedded_again_by_admins_alone(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Rye", is_embedded=True)
    operator = Client()
    operator.force_login(new_operator("oda", "operator", tenant))
    chosen = {"action": "embed_selected", "_selected_action": [str(memory.pk)]}
    assert operator.post(page("memory_changelist"), chosen).status_code == 403
    with tenant_scope(tenant.pk):
        assert not AuditEntry.objects.for_tenant(tenant.pk).filter(verb="reembed_memories").exists()


def test_list_searches_and_filters_within_the_tenants_of_a_person(
    client: Client, superuser: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    make_memory(tenant, "Alex prefers tea.")
    make_memory(other_tenant, "Sam prefers coffee.")
    for reader, sees_all in ((client, False), (superuser, True)):
        whole = reader.get(page("memory_changelist")).content.decode()
        assert "Alex prefers tea." in whole
        assert ("Sam prefers coffee." in whole) == sees_all
    found = superuser.get(page("memory_changelist"), {"q": "teas", "kind__exact": "fact"}).content.decode()
    assert "Alex prefers tea." in found
    assert "Sam prefers coffee." not in found


def test_list_offers_visible_tenants_and_the_import_of_the_selected_one(
    superuser: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    with admin_write_scope():
        hidden = create_hidden_tenant(words="recall", by=TESTER, now=FACTORY_NOW)
    make_memory(tenant, "Alex prefers tea.", created_at=datetime(2026, 3, 1, 14, 5, tzinfo=UTC))
    whole = superuser.get(page("memory_changelist")).content.decode()
    assert f"?tenant__id__exact={other_tenant.pk}" in whole
    assert hidden.name not in whole
    assert "Import memories" not in whole
    assert "1 Mar 2026, 14:05 UTC" in whole
    selected = superuser.get(page("memory_changelist"), {"tenant__id__exact": tenant.pk}).content.decode()
    assert f'{reverse("memory-import-export", args=[tenant.pk])}">Import memories' in selected


def test_a_search_leaves_an_entry_where_it_finds_memories(
    client: Client, superuser: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    def counts(of: Tenant) -> list[int]:
        with tenant_scope(of.pk):
            entries = AuditEntry.objects.for_tenant(of.pk).filter(verb="search_memories").order_by("at")
            return [entry.details["results"] for entry in entries]

    make_memory(tenant, "Alex prefers tea.")
    client.get(page("memory_changelist"))
    for text in ("tea", "tea", "coffee"):
        client.get(page("memory_changelist"), {"q": text})
    assert counts(tenant) == [1, 0]
    superuser.get(page("memory_changelist"), {"q": "tea"})
    superuser.get(page("memory_changelist"), {"q": "cake", "tenant__id__exact": str(other_tenant.pk)})
    assert (counts(tenant), counts(other_tenant)) == ([1, 0, 1], [0])


def test_nothing_can_be_added_or_deleted_raw(client: Client, tenant: Tenant) -> None:
    make_key(tenant)
    for name in ("memory", "apikey", "auditentry"):
        assert client.get(page(f"{name}_add")).status_code == 403
        assert client.get(page(f"{name}_changelist")).status_code == 200
    assert not admin.site.is_registered(APIKey)


def test_key_is_revoked_and_its_hash_not_shown(client: Client, tenant: Tenant) -> None:
    key, plain = make_key(tenant)
    shown = client.get(page("apikey_change", key.pk)).content.decode()
    assert key.prefix in shown
    assert key.hashed_key not in shown
    client.post(page("apikey_changelist"), {"action": "revoke_selected", "_selected_action": [key.pk]})
    with authentication_scope(), pytest.raises(ApiKey.DoesNotExist):
        ApiKey.objects.get_from_key(plain)


def test_superuser_creates_a_tenant_and_any_person_becomes_its_member(superuser: Client, tenant: Tenant) -> None:
    user = new_operator("olga", "operator", tenant)
    superuser.post(page("tenant_add"), {"name": "Initech"})
    with admin_write_scope():
        made = Tenant.objects.named("Initech").get()
    superuser.post(page("membership_add"), {"user": user.pk, "tenant": made.pk})
    with admin_write_scope():
        membership = Membership.objects.for_tenant(made.pk).get(user_id=user.pk)
        verbs = set(AuditEntry.objects.for_tenant(made.pk).values_list("verb", flat=True))
    assert verbs == {"create_tenant", "add_member"}
    assert "olga in Initech" in superuser.get(page("membership_delete", membership.pk)).content.decode()
    superuser.post(page("membership_delete", membership.pk), {"post": "yes"})
    with admin_write_scope():
        assert not Membership.objects.for_tenant(made.pk).exists()


def test_superuser_deletes_a_person_with_the_memberships(superuser: Client, tenant: Tenant) -> None:
    people = [new_operator(name, "viewer", tenant) for name in ("olga", "paul")]
    url = reverse("admin:auth_user_changelist")
    assert superuser.post(f"{url}{people[0].pk}/delete/", {"post": "yes"}).status_code == 302
    chosen = {"action": "delete_selected", "_selected_action": [people[1].pk], "post": "yes"}
    assert superuser.post(url, chosen).status_code == 302
    with tenant_scope(tenant.pk):
        assert not Membership.objects.for_tenant(tenant.pk).exists()
        assert AuditEntry.objects.for_tenant(tenant.pk).of_verbs(["remove_member"]).count() == 2


def test_superuser_deletes_neither_own_account_nor_only_admin_nor_roles(superuser: Client, tenant: Tenant) -> None:
    own, ada = User.objects.get(is_superuser=True), new_operator("ada", "admin", tenant)
    url = reverse("admin:auth_user_changelist")
    assert superuser.post(f"{url}{own.pk}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [own.pk], "post": "yes"}
    assert superuser.post(url, chosen).status_code == 403
    refused = superuser.post(url, chosen | {"_selected_action": [ada.pk]}, follow=True)
    assert "is the only admin of a tenant" in refused.content.decode()
    assert User.objects.filter(pk__in=[own.pk, ada.pk]).count() == 2
    assert superuser.get("/admin/auth/group/").status_code == 404


def test_admin_changes_the_members_and_the_language_of_own_tenants(client: Client, tenant: Tenant) -> None:
    second = new_shared_tenant("Initech")
    olga, ada = new_operator("olga", "operator", tenant), User.objects.get(username="ada")
    assert client.post(page("membership_add"), {"user": olga.pk, "tenant": second.pk}).status_code == 200
    with tenant_scope(second.pk):
        add_member(user=ada, tenant=second, by=TESTER, now=FACTORY_NOW)
    assert client.post(page("membership_add"), {"user": olga.pk, "tenant": second.pk}).status_code == 302
    with tenant_scope(second.pk):
        membership = Membership.objects.for_tenant(second.pk).get(user_id=olga.pk)
    chosen = {"action": "delete_selected", "_selected_action": [membership.pk], "post": "yes"}
    assert client.post(page("membership_changelist"), chosen).status_code == 302
    with tenant_scope(second.pk):
        assert not Membership.objects.for_tenant(second.pk).of_username("olga")
    client.post(page("tenant_change", tenant.pk), {"text_search_config": "german"})
    with tenant_scope(tenant.pk):
        assert Tenant.objects.get().text_search_config == "german"


@pytest.mark.parametrize(
    ("action", "first"), [("export_json_lines", '{"content": "=1+1"'), ("export_csv", "content,kind")]
)
def test_selected_memories_of_one_tenant_are_exported(
    client: Client, tenant: Tenant, other_tenant: Tenant, action: str, first: str
) -> None:
    memory, gone = make_memory(tenant, "=1+1"), make_memory(tenant, "archived")
    with tenant_scope(tenant.pk):
        archive_memory(memory=gone, by=TESTER, now=FACTORY_NOW)
    data = {"action": action, "_selected_action": [memory.pk, gone.pk]}
    response = client.post(page("memory_changelist"), data)
    assert response["Content-Disposition"].startswith("attachment; filename=")
    text = response.content.decode()
    assert text.startswith(first)
    assert "archived" not in text
    assert entries_of(tenant, "export") == [("memory", [])]
    other = make_memory(other_tenant, "of another tenant")
    mixed = client.post(page("memory_changelist"), {**data, "_selected_action": [memory.pk, other.pk]})
    assert "of another tenant" not in mixed.content.decode()


def test_lists_and_forms_of_memories_leave_an_entry(superuser: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    memory, _ = make_memory(tenant, "Rye needs 50 minutes."), make_memory(other_tenant, "Oats need ten.")
    for _ in range(2):
        assert superuser.get(page("memory_changelist")).status_code == 200
    assert entries_of(tenant, "read_text") == [("tenant", [str(tenant.pk)])]
    assert entries_of(other_tenant, "read_text") == [("tenant", [str(other_tenant.pk)])]
    assert superuser.get(page("memory_change", memory.pk)).status_code == 200
    assert entries_of(tenant, "read_text")[1:] == [("memory", [str(memory.pk)])]


def test_search_is_recorded_before_its_response_also_for_a_request_like_that_of_a_part_of_a_page(
    client: Client, tenant: Tenant
) -> None:
    make_memory(tenant, "Rye needs 50 minutes.")
    client.get(page("memory_changelist"), {"q": "rye"}, headers={"HX-Request": "true"})
    assert entries_of(tenant, "search_memories") == [("tenant", [str(tenant.pk)])]


def entries_of(tenant: Tenant, verb: str) -> list[tuple[str, list[str]]]:
    with tenant_scope(tenant.pk):
        entries = AuditEntry.objects.for_tenant(tenant.pk).filter(verb=verb).order_by("at")
        return list(entries.values_list("target_kind", "target_ids"))


@pytest.mark.parametrize(("action", "file_type"), [("export_json_lines", "jsonl"), ("export_csv", "csv")])
def test_exported_memories_are_previewed_imported_and_shown_in_the_list_again(
    client: Client, tenant: Tenant, other_tenant: Tenant, action: str, file_type: str
) -> None:
    listed = client.get(page("memory_changelist")).content.decode()
    address = reverse("memory-import-export", args=[tenant.pk])
    assert address in listed
    assert reverse("memory-import-export", args=[other_tenant.pk]) not in listed
    memory = make_memory(tenant, "Rye needs 50 minutes.")
    exported = client.post(page("memory_changelist"), {"action": action, "_selected_action": [memory.pk]})
    text = exported.content.decode().replace("50 minutes", "40 minutes") + (
        '{"kind": 1}' if file_type == "jsonl" else ",,\n"
    )
    preview = client.post(address, {"file": SimpleUploadedFile(f"m.{file_type}", text.encode())})
    assert "1 invalid line will be skipped" in preview.content.decode()
    assert [row["status"] for row in preview.context["lines"]] == ["created", "invalid"]
    sent = {name: preview.context[name] for name in ("packed", "seen")} | {"type": file_type}
    stored = client.post(address, sent).content.decode()
    (back,) = re.findall(r'href="([^"]+)">Show in Django admin', stored)
    shown = client.get(back).content.decode()
    assert "Rye needs 50 minutes." in shown
    assert "Rye needs 40 minutes." in shown


def test_tenant_name_is_stored_by_the_rules_of_the_verb(superuser: Client) -> None:
    superuser.post(page("tenant_add"), {"name": "  Initech\u3000 Ltd "})
    with admin_write_scope():
        assert Tenant.objects.named("Initech Ltd").exists()
    for name in ("a" * 101, "~hidden", "new\nline", "a\u200bb", "right\u202eleft", "\u200b", "initech ltd"):
        response = superuser.post(page("tenant_add"), {"name": name})
        assert response.status_code == 200, name
        assert "errorlist" in response.content.decode(), name
    with admin_write_scope():
        assert Tenant.objects.filter(name__istartswith="initech").count() == 1


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_other_roles_see_nothing_here(tenant: Tenant, role: str) -> None:
    client = Client()
    client.force_login(new_operator("olga", role, tenant))
    memory = make_memory(tenant)
    for url in (page("memory_changelist"), page("memory_change", memory.pk), page("tenant_changelist")):
        assert client.get(url).status_code == 403
        assert client.post(url, values_of(memory, content="mine")).status_code == 403
    assert reread_memory(memory).version == 1


def test_pages_comply_with_the_content_security_policy(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant)
    for url in (page("memory_changelist"), page("memory_change", memory.pk)):
        response = client.get(url)
        assert "script-src 'self'" in response["Content-Security-Policy"]
        html = response.content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>", html), url
        assert not re.search(r"<[^>]+\s(?:style|on\w+)=", html), url
        assert "<style" not in html, url


@pytest.mark.parametrize(
    ("action", "field", "value"),
    [
        ("pin_selected", "pinned", True),
        ("unpin_selected", "pinned", False),
        ("change_kind_of_selected", "kind", "goal"),
    ],
)
def test_actions_change_the_selected_memories_and_can_be_undone(
    client: Client, tenant: Tenant, action: str, field: str, value: object
) -> None:
    memory = make_memory(tenant, "Alex works at Acme.", pinned=action == "unpin_selected")
    sent = {"action": action, "_selected_action": [str(memory.pk)], "kind": "goal"}
    assert client.post(page("memory_changelist"), sent).status_code == 302
    current = reread_memory(memory)
    assert (getattr(current, field), current.version) == (value, 2)
    with tenant_scope(tenant.pk):
        act = StoredAct.objects.for_tenant(tenant.pk).exclude(act="change").get()
        undo_hygiene(tenant_id=tenant.pk, act_id=act.pk, by=TESTER, now=FACTORY_NOW)
    assert getattr(reread_memory(memory), field) == getattr(memory, field)


def test_filters_narrow_the_list_by_partition_and_confidence(client: Client, tenant: Tenant) -> None:
    make_memory(tenant, "In the team.", partition="team=core/user=ada", confidence=0.9)
    make_memory(tenant, "Of a person.", partition="user=bo", confidence=0.3)
    for query in ("partition=team%3Dcore", "confidence_band=high"):
        shown = client.get(f"{page('memory_changelist')}?{query}").content.decode()
        assert "In the team." in shown
        assert "Of a person." not in shown


def test_history_and_console_link_lead_to_the_page_of_the_memory(client: Client, tenant: Tenant) -> None:
    memory = make_memory(tenant, "Alex works at Acme.")
    console_page = reverse("memory", args=(tenant.pk, memory.pk))
    assert client.get(page("memory_history", memory.pk))["Location"] == console_page
    assert f'href="{console_page}"' in client.get(page("memory_change", memory.pk)).content.decode()


def test_page_of_a_memory_archives_it(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    memory, stranger = make_memory(tenant, "Alex works at Acme."), make_memory(other_tenant, "Not yours.")
    url = page("memory_change", memory.pk)
    shown = client.get(url).content.decode()
    assert 'value="Archive"' in shown
    assert "Delete" not in shown
    assert "is archived" in client.post(url, {"_archive": "Archive"}, follow=True).content.decode()
    assert reread_memory(memory).archived_at is not None
    assert 'value="Archive"' not in client.get(url).content.decode()
    assert client.post(url, {"_archive": "Archive"}).status_code == 403
    client.post(page("memory_change", stranger.pk), {"_archive": "Archive"})
    assert reread_memory(stranger).archived_at is None
