"""Saved views: one mechanism for every list, private to an operator or shared in the tenant."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories.models import AuditEntry, SavedView, Tenant
from memories.tenancy.actions.saved_views import VIEWS_MAX
from memories.tenancy.queries.tenants import SavedViewQuerySet
from memories.tenancy.scopes import tenant_scope
from tests.architecture import ROOT
from tests.integration.page_helpers import HTMX, client_of, page, text_of
from tests.users import new_operator

pytestmark = pytest.mark.django_db

#: Each list with filters that it supports.
LISTS = {
    "memories": "kind=fact&pinned=on",
    "context-log": "range=7d&state=full",
    "sessions": "min_pressure=80",
    "audit-log": "actor=anna",
    "hygiene": "list=contradiction&partition=agent%3Dsupport",
    "activity": "by=key&group=profiles",
    "jobs": "kind=compaction&state=failed",
    "agents": "by=partition&range=7d",
    "alerts": "sort=when",
    "api-keys": "sort=-name",
    "erasures": "sort=requested",
    "evaluations": "sort=requested",
    "golden-questions": "sort=collected",
    "partitions": "after=agent%3Da",
    "reviews": "order=oldest",
}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def save(client: Client, tenant: Tenant, name: str = "Mine", **fields: Any) -> Any:
    given = {"list": "memories", "name": name, "query": LISTS["memories"]} | fields
    return client.post(page("saved-view-create", tenant), given)


def views(tenant: Tenant) -> list[SavedView]:
    with tenant_scope(tenant.pk):
        return list(SavedView.objects.for_tenant(tenant.pk).order_by("name"))


def chips(client: Client, tenant: Tenant, name: str = "memories", query: str = "") -> str:
    return text_of(client.get(f"{page(name, tenant)}?{query}"))


def test_every_list_with_filters_or_an_order_has_views() -> None:
    assert set(LISTS) == set(SavedView.List.values)
    texts = {path: path.read_text() for path in (ROOT / "templates").rglob("*.html")}
    lists = {path.stem for path, text in texts.items() if 'id="filters"' in text or "{% sort_link" in text}
    assert lists - {path.stem for path, text in texts.items() if "{% saved_views" in text} == {"overview"}, (
        "only the list of tenants belongs to no tenant"
    )


def test_filters_of_every_list_are_saved_without_their_page_and_opened_again(tenant: Tenant) -> None:
    client = client_of(new_operator("ada", "admin", tenant))
    for name in LISTS:
        assert "Save view" in chips(client, tenant, name, LISTS[name])
        address = save(client, tenant, list=name, query=f"{LISTS[name]}&cursor=x&q=")["Location"]
        assert address == f"{page(name, tenant)}?{LISTS[name]}"
        assert client.get(address).status_code == 200
        unfiltered = chips(client, tenant, name)
        assert f'<a class="chip" href="{address.replace("&", "&amp;")}">Mine</a>' in unfiltered
        assert "Save view" not in unfiltered
        filtered = text_of(client.get(address))
        assert 'aria-current="page">Mine</a>' in filtered
        assert "Save view" not in filtered
        fragment = text_of(client.get(address, headers=HTMX))
        assert 'aria-current="page">Mine</a>' in fragment


def test_filters_that_a_list_refuses_are_not_offered_for_saving(tenant: Tenant) -> None:
    client = client_of(new_operator("ada", "admin", tenant))
    refused = set()
    for name in LISTS:
        answer = client.get(f"{page(name, tenant)}?list=contradiction&sort=invented&range=invented&min_pressure=x")
        assert ("Save view" in text_of(answer)) == (answer.status_code == 200), name
        if answer.status_code == 422:
            refused.add(name)
    assert {"hygiene", "context-log", "sessions"} <= refused


def test_view_of_one_operator_is_seen_by_no_other_unless_it_is_shared(
    client: Client, viewer: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    save(client, tenant)
    save(client, tenant, name="Ours", is_shared="on")
    text = chips(viewer, tenant)
    assert "Ours" in text
    assert "Mine" not in text
    stranger = client_of(new_operator("sam", "admin", other_tenant))
    assert "Ours" not in chips(stranger, other_tenant)
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).of_verbs(["save_view"]).row_count() == 1


def test_view_is_renamed_shared_and_deleted(client: Client, tenant: Tenant) -> None:
    save(client, tenant)
    (view,) = views(tenant)
    client.post(page("saved-view-change", tenant, view.pk), {"name": "Facts", "is_shared": "on"})
    (view,) = views(tenant)
    assert (view.name, view.is_shared) == ("Facts", True)
    deleted = client.post(page("saved-view-delete", tenant, view.pk))
    assert deleted["Location"] == f"{page('memories', tenant)}?{LISTS['memories']}"
    assert ">Facts" not in chips(client, tenant)
    save(client, tenant, name="facts")
    restored = text_of(client.post(page("saved-view-restore", tenant, view.pk), follow=True))
    assert "You already have a view with this name." in restored
    client.post(page("saved-view-change", tenant, views(tenant)[1].pk), {"name": "Others"})
    assert "View Facts restored." in text_of(client.post(page("saved-view-restore", tenant, view.pk), follow=True))
    assert [(view.name, view.is_shared) for view in views(tenant)] == [("Facts", True), ("Others", False)]
    for each in views(tenant):
        client.post(page("saved-view-delete", tenant, each.pk))
    assert [view.name for view in views(tenant)] == ["Others"]
    assert client.post(page("saved-view-restore", tenant, view.pk)).status_code == 404


def test_view_that_someone_else_renamed_is_not_renamed_again(client: Client, tenant: Tenant) -> None:
    save(client, tenant)
    (view,) = views(tenant)
    address = page("saved-view-change", tenant, view.pk)
    assert client.post(address, {"name": "Facts", "replaces": "Mine"}).status_code == 302
    refused = client.post(address, {"name": "Others", "replaces": "Mine"})
    assert refused.status_code == 422
    assert "Someone else renamed this view to Facts." in text_of(refused)
    assert [view.name for view in views(tenant)] == ["Facts"]


def test_views_of_others_are_absent_and_shared_ones_are_changed_by_operators(
    client: Client, viewer: Client, tenant: Tenant, other_tenant: Tenant
) -> None:
    save(viewer, tenant)
    save(client, tenant, name="Ours", is_shared="on")
    own, shared = views(tenant)
    for name in ("saved-view-change", "saved-view-delete"):
        assert client.post(page(name, tenant, own.pk), {"name": "x"}).status_code == 404
        assert viewer.post(page(name, tenant, shared.pk), {"name": "x"}).status_code == 403
    other = client_of(new_operator("otto", "operator", tenant))
    other.post(page("saved-view-delete", tenant, shared.pk))
    assert [view.name for view in views(tenant) if view.deleted_at is None] == ["Mine"]
    stranger = client_of(new_operator("sam", "admin", other_tenant))
    assert stranger.post(page("saved-view-delete", other_tenant, own.pk)).status_code == 404


def test_viewer_saves_a_view_and_cannot_share_it(viewer: Client, tenant: Tenant) -> None:
    assert save(viewer, tenant).status_code == 302
    response = save(viewer, tenant, name="Ours", is_shared="on")
    assert response.status_code == 422
    assert "Only operators and admins share views." in text_of(response)


INVALID_VIEWS = [
    ({"name": "MINE"}, "You already have a view with this name."),
    ({"name": ""}, "This field is required."),
    ({"name": "x" * 61}, "At most 60 characters"),
    ({"name": "Other", "query": "cursor=x"}, "Set at least one filter"),
    ({"name": "Other", "query": "q=" + "x" * 5_001}, "shorten very long ones"),
    ({"name": "Other", "query": "q=%00"}, "NUL character"),
    ({"name": "Other", "list": "nonsense"}, "Select a valid choice"),
]


def test_invalid_view_is_refused_on_a_page_that_leads_back(client: Client, tenant: Tenant) -> None:
    save(client, tenant)
    for fields, sentence in INVALID_VIEWS:
        response = save(client, tenant, **fields)
        assert response.status_code == 422
        assert sentence in text_of(response)
    assert len(views(tenant)) == 1


def test_name_of_another_view_is_refused_when_a_view_is_renamed(client: Client, tenant: Tenant) -> None:
    save(client, tenant)
    save(client, tenant, name="Other")
    other = views(tenant)[1]
    response = client.post(page("saved-view-change", tenant, other.pk), {"name": "mine"})
    assert response.status_code == 422
    assert reverse("saved-view-change", args=[tenant.pk, other.pk]) in text_of(response)


def test_number_of_views_is_bounded(client: Client, tenant: Tenant, operator: User) -> None:
    for number in range(VIEWS_MAX):
        save(client, tenant, name=f"view {number}")
    assert "Delete one first." in text_of(save(client, tenant, name="one more"))
    assert len(views(tenant)) == VIEWS_MAX


def test_name_that_another_request_stores_meanwhile_is_refused(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(client, tenant)
    # As in a request that looked for the name before it was stored.
    monkeypatch.setattr(SavedViewQuerySet, "named", lambda rows, _: rows.none())
    assert save(client, tenant).status_code == 422
    assert len(views(tenant)) == 1
