"""The pages of API keys, of the audit log, and of a tenant's settings."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories.models import ApiKey, Membership, Tenant
from memories.store.actions.edit import archive_memory
from memories.tenancy.audit import record_audit
from memories.tenancy.scopes import authentication_scope, tenant_scope
from tests.factories import make_key
from tests.integration.page_helpers import HTMX, TESTER, client_of, make_bakery_memories, page, text_of
from tests.users import api_client, new_operator

SEARCH = "/api/v1/memories/search"


@pytest.fixture
def anna(tenant: Tenant) -> User:
    return new_operator("anna", "admin", tenant)


@pytest.fixture
def admin(anna: User) -> Client:
    return client_of(anna)


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def keys_of(tenant: Tenant) -> list[ApiKey]:
    with tenant_scope(tenant.pk):
        return list(ApiKey.objects.for_tenant(tenant.pk).by_name())


def members_of(tenant: Tenant) -> list[str]:
    with tenant_scope(tenant.pk):
        return [row.user.username for row in Membership.objects.for_tenant(tenant.pk).with_roles()]


def create(admin: Client, tenant: Tenant, **fields: str) -> Any:
    return admin.post(page("api-keys", tenant), {"name": "support bot", "scope": "write", **fields})


def plain_key_in(response: Any) -> str:
    found = re.search(r'id="new-key">([^<]+)<', text_of(response))
    assert found, "no key is shown"
    return unescape(found[1])


def test_key_is_shown_once_and_opens_the_api(admin: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = create(admin, tenant, partition="agent=support", refuses_recalled_text="on")
    plain = plain_key_in(response)
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert f"curl -sS http://testserver{SEARCH}" in text_of(response)
    assert f"Authorization: Bearer {plain}" in unescape(text_of(response))
    [key] = keys_of(tenant)
    assert (key.scopes, key.partition_prefix, key.refuses_recalled_text) == (["read", "write"], "agent=support", True)
    answer = api_client(plain).post(SEARCH, {"query": "what should I know?", "top_k": 3}, format="json")
    assert answer.status_code == 200
    later = text_of(admin.get(page("api-keys", tenant)))
    assert "support bot" in later
    assert key.prefix in later
    assert plain not in later
    assert key.hashed_key not in later


BAD_KEYS = [
    ({"name": ""}, "This field is required."),
    ({"name": "x" * 51}, "At most 50 characters"),
    ({"name": "two\nlines"}, "on one line"),
    ({"scope": "everything"}, "Select a valid choice"),
    ({"partition": "nonsense"}, 'id="partition-errors"><ul'),
]


def test_invalid_key_is_refused_at_the_field(admin: Client, tenant: Tenant) -> None:
    for fields, error in BAD_KEYS:
        for headers in [{}, HTMX]:
            sent = {"name": "bot", "scope": "read", **fields}
            response = admin.post(page("api-keys", tenant), sent, headers=headers)
            assert response.status_code == 422
            assert error in text_of(response)
            assert ("<html" in text_of(response)) is not headers
    assert keys_of(tenant) == []


def test_only_an_admin_sees_and_makes_keys(tenant: Tenant, viewer: Client, operator: User) -> None:
    key, _ = make_key(tenant)
    for client in (viewer, client_of(operator)):
        assert client.get(page("api-keys", tenant)).status_code == 403
        assert create(client, tenant).status_code == 403
        assert client.post(page("api-key-revoke", tenant, key.prefix)).status_code == 403
        assert page("api-keys", tenant) not in text_of(client.get(page("audit-log", tenant)))
    [same] = keys_of(tenant)
    assert not same.revoked


def test_key_is_revoked_after_a_question_and_opens_nothing_any_more(admin: Client, tenant: Tenant) -> None:
    key, plain = make_key(tenant)
    address = page("api-key-revoke", tenant, key.prefix)
    assert "from now on" in text_of(admin.get(address))
    assert api_client(plain).post(SEARCH, {"query": "x"}, format="json").status_code == 200
    assert "revoked" in text_of(admin.post(address, follow=True))
    assert api_client(plain).post(SEARCH, {"query": "x"}, format="json").status_code == 401
    assert address not in text_of(admin.get(page("api-keys", tenant)))
    assert admin.get(address).status_code == 302


def test_key_and_member_of_another_tenant_are_absent(admin: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    key, _ = make_key(other_tenant)
    new_operator("otto", "operator", other_tenant)
    for address in (page("api-key-revoke", tenant, key.prefix), page("member-remove", tenant, "otto")):
        assert admin.get(address).status_code == 404
        assert admin.post(address).status_code == 404
    assert admin.get(page("api-keys", other_tenant)).status_code == 404
    assert not keys_of(other_tenant)[0].revoked
    assert members_of(other_tenant) == ["otto"]


def test_list_of_keys_shows_when_each_last_changed_something(admin: Client, tenant: Tenant) -> None:
    def last_change() -> str:
        text = text_of(admin.get(page("api-keys", tenant)))
        return text.partition('data-label="Last change"')[2].partition("</td>")[0]

    key, plain = make_key(tenant)
    found = api_client(plain).post("/api/v1/memories/search", {"query": "workshop"}, format="json")
    assert found.status_code == 200
    assert "Searched memories" in text_of(admin.get(page("audit-log", tenant) + f"?actor={key.prefix}"))
    assert "none" in last_change()
    api_client(plain).post("/api/v1/memories", {"content": "The workshop is in Kiel."}, format="json")
    assert f"{timezone.now():%Y-%m-%d}" in last_change()
    assert "Stored a memory" in text_of(admin.get(page("audit-log", tenant) + f"?actor={key.prefix}"))


def test_log_names_who_what_and_which_and_never_a_text(viewer: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[0]
    key, _ = make_key(tenant)
    text = text_of(viewer.get(page("audit-log", tenant)))
    assert "Stored memories" in text
    assert page("memory", tenant, memory.pk) in text
    assert "tests" in text
    assert "partition prefix" in text
    assert "API key" in text
    assert key.prefix in text
    assert key.hashed_key not in text
    assert "Brodersen" not in text
    assert "cargo bikes" not in text
    assert page("api-keys", tenant) not in text


def test_log_is_narrowed_by_who_what_which_and_when(viewer: Client, tenant: Tenant) -> None:
    first, second = make_bakery_memories(tenant)[:2]
    for memory in (first, second):
        with tenant_scope(tenant.pk):
            archive_memory(memory=memory, by=TESTER, now=timezone.now())
    tomorrow = f"{timezone.now() + timedelta(days=1):%Y-%m-%dT%H:%M}"

    def archived(**filters: str) -> int:
        response = viewer.get(page("audit-log", tenant), filters, headers=HTMX)
        assert response.status_code == 200
        return text_of(response).count("Archived a memory")

    assert archived() == 2
    assert archived(action="archive memory", target_kind="memory") == 2
    assert archived(target_id=str(first.pk)) == 1
    assert archived(actor="TEST") == 2
    assert archived(actor="nobody") == 0
    assert archived(action="store") == 0
    assert archived(target_kind="session") == 0
    assert archived(after=tomorrow) == 0
    assert archived(before=tomorrow) == 2
    assert "Clear filters" in text_of(viewer.get(page("audit-log", tenant) + "?actor=nobody"))


def test_log_refuses_a_time_that_is_none(viewer: Client, tenant: Tenant) -> None:
    response = viewer.get(page("audit-log", tenant) + "?after=yesterday")
    assert response.status_code == 422
    assert "Enter a valid date/time." in text_of(response)


def test_log_pages_through_everything_once_with_as_many_queries(viewer: Client, tenant: Tenant) -> None:
    now = timezone.now()

    def noted(numbers: range) -> None:
        with tenant_scope(tenant.pk):
            for number in numbers:
                record_audit(
                    tenant_id=tenant.pk,
                    by=TESTER,
                    verb="save_memo",
                    target_kind="note",
                    target_ids=[f"n-{number}"],
                    now=now,
                )

    noted(range(10))
    viewer.get(page("audit-log", tenant))
    with CaptureQueriesContext(
        connection,
    ) as few:
        viewer.get(page("audit-log", tenant))
    noted(range(10, 120))
    with CaptureQueriesContext(connection) as many:
        address = page("audit-log", tenant) + "?target_kind=note"
        text = text_of(viewer.get(address))
    assert len(many) <= len(few)  # after a person was added, names are looked up
    seen: list[str] = []
    while True:
        seen += re.findall(r'title="(n-\d+)"', text)
        following = re.search(r'href="([^"]+)"[^>]*>Next', text)
        if following is None:
            break
        text = text_of(viewer.get(unescape(following[1])))
    assert sorted(seen) == sorted(f"n-{number}" for number in range(120))


def test_entry_about_many_rows_shows_the_rest_on_a_click(viewer: Client, tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        record_audit(
            tenant_id=tenant.pk,
            by=TESTER,
            verb="append_messages",
            target_kind="message",
            target_ids=range(150),
            fields=[f"field_{number}" for number in range(9)],
            now=timezone.now(),
        )
    text = text_of(viewer.get(page("audit-log", tenant)))
    assert "150 IDs in all" in text
    assert "and 130 more" in text
    assert "and 4 more" in text


def test_admin_changes_the_language_and_others_only_read_it(admin: Client, viewer: Client, tenant: Tenant) -> None:
    address = page("tenant-settings", tenant)
    assert "Stored memories are converted" in text_of(admin.post(address, {"language": "german"}, follow=True))
    with authentication_scope():
        assert Tenant.objects.get(pk=tenant.pk).text_search_config == "german"
    text = text_of(viewer.get(address))
    assert "queries also run in english" in text
    assert "An admin can change it." in text
    assert viewer.post(address, {"language": "french"}).status_code == 403
    stale = admin.post(address, {"language": "french", "replaces": "english"})
    assert stale.status_code == 422
    assert "The language has changed since to german." in text_of(stale)
    response = admin.post(address, {"language": "klingon"})
    assert response.status_code == 422
    assert "Select a valid choice" in text_of(response)


def test_query_count_does_not_grow_with_members_and_keys(admin: Client, tenant: Tenant) -> None:
    def queries() -> list[int]:
        counts = []
        for name in ("members", "api-keys"):
            with CaptureQueriesContext(connection) as captured:
                admin.get(page(name, tenant))
            counts.append(len(captured))
        return counts

    make_key(tenant)
    queries()
    before = queries()
    for number in range(5):
        new_operator(f"more-{number}", "viewer", tenant)
        make_key(tenant)
    assert queries() == before
