"""Django admin as the admin of another tenant: every page, filter, choice, autocomplete, inline and bulk action."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.contrib.admin.sites import AlreadyRegistered
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.forms import MultiWidget
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import ApiKey, Membership, Memory, Tenant
from memories.store.actions.edit import update_memory
from memories.tenancy.actions.api_keys import create_api_key
from memories.tenancy.admin import OwnTenantsMixin, PlatformAdminSite, SuperuserModelAdmin, TenantModelAdmin
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import admin_write_scope, authentication_scope, tenant_scope
from tests.factories import FACTORY_NOW, make_memory, reread_memory
from tests.integration.page_helpers import client_of, text_of
from tests.users import PASSWORD, new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db

#: In the text of every row that the admin of another tenant must not see.
FOREIGN, OWN = "zyzzyva", "ownword"
REFUSED = (302, 400, 403, 404, 405)


def fill_tenant(word: str, *, username: str) -> tuple[Tenant, User]:
    """A tenant with a row of each model, and its admin; each row has the word in its text."""
    tenant = new_shared_tenant(f"{word} tenant")
    person = new_operator(username, "admin", tenant)
    memory = make_memory(tenant, f"The {word} sleeps.", kind=word)
    by = Actor.operator(person.pk, username)
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"content": f"The {word} woke up."}, by=by, now=FACTORY_NOW)
        create_api_key(tenant=tenant, name=f"{word} key", scopes=["read"], by=by, now=timezone.now())
        record_audit(f"{word}_verb", "memory", [memory.pk], tenant_id=tenant.pk, by=by, now=timezone.now())
    return tenant, person


@dataclass
class Visitor:
    """Requests pages and records faults: a server error, or a text of the other tenant."""

    client: Client
    foreign_ids: set[str]
    faults: list[str]

    def ask(self, method: str, url: str, data: Any = None, *, expected: tuple[int, ...] = (200, *REFUSED)) -> Any:
        response = getattr(self.client, method)(url, data or {})
        request = f"{method} {url} {data or ''}"
        if response.status_code not in expected:
            self.faults.append(f"{request} answers {response.status_code}")
        shown = text_of(response)
        self.faults += [
            f"{request} shows {marker}"
            for marker in (FOREIGN, *self.foreign_ids)
            if marker not in request and marker in shown
        ]
        self.client.cookies.pop("messages", None)  # the next page would repeat the requested id
        return response


@pytest.fixture(scope="module")
def foreign(module_db: None) -> Tenant:
    User.objects.create_superuser(f"{FOREIGN}-root", password=PASSWORD)
    return fill_tenant(FOREIGN, username=f"{FOREIGN}-person")[0]


@pytest.fixture(scope="module")
def stranger(module_db: None) -> User:
    """The admin of another tenant, with every permission that Django has."""
    person = fill_tenant(OWN, username="stranger")[1]
    person.user_permissions.set(Permission.objects.all())
    return person


@pytest.fixture
def visitor(foreign: Tenant, stranger: User) -> Visitor:
    ids = {str(row.pk) for model in models_of_tenants() for row in foreign_rows(model, foreign)}
    return Visitor(client_of(stranger), {each for each in ids if len(each) > 6}, [])


def registered() -> list[tuple[type[Model], Any]]:
    return list(admin.site._registry.items())


def models_of_tenants() -> list[type[Model]]:
    """Return the registered models whose rows belong to tenants, and those of their inlines."""
    admins = [each for _, each in registered() if isinstance(each, TenantModelAdmin)]
    return [each.model for each in admins] + [inline.model for each in admins for inline in each.inlines]


def foreign_rows(model: type[Model], tenant: Tenant) -> list[Any]:
    """Return the rows of the tenant, or all rows of a model without tenants."""
    with admin_write_scope():
        rows = model._base_manager.all()
        if model is Tenant:
            return list(rows.filter(pk=tenant.pk))
        return list(rows.filter(tenant=tenant) if "tenant" in {field.name for field in model._meta.fields} else rows)


def state(tenant: Tenant) -> dict[str, list[Any]]:
    models = {*(model for model, _ in registered()), *models_of_tenants()}
    return {
        model._meta.label: sorted(repr(vars(row) | {"_state": 0}) for row in foreign_rows(model, tenant))
        for model in models
    }


def changelist(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def own_pages(model: type[Model], model_admin: Any, row_id: object) -> Iterator[str]:
    """Return the addresses of a registered model, for this row if they name one."""
    for pattern in model_admin.get_urls():
        yield changelist(model) + re.sub(r"<[^>]+>", quote(str(row_id), safe=""), str(pattern.pattern))


def typed(form: Any) -> dict[str, Any]:
    """Return what a browser sends of a form in which nothing was entered."""
    data: dict[str, Any] = {}
    for field in form:
        widget, value = field.field.widget, field.value()
        parts = enumerate(widget.decompress(value)) if isinstance(widget, MultiWidget) else [("", value)]
        names = {f"{field.html_name}_{place}" if place != "" else field.html_name: part for place, part in parts}
        data |= {name: "" if part is None else part for name, part in names.items()}
    return data


def test_every_registered_model_is_confined_to_tenants_or_for_superusers(foreign: Tenant) -> None:
    assert isinstance(admin.site._wrapped, PlatformAdminSite)
    for model, model_admin in registered():
        assert isinstance(model_admin, TenantModelAdmin | SuperuserModelAdmin), model
        if isinstance(model_admin, TenantModelAdmin):
            assert all(issubclass(inline, OwnTenantsMixin) for inline in model_admin.inlines), model
            assert foreign_rows(model, foreign), f"fill_tenant makes no {model._meta.label}, so nothing can leak"


def test_model_of_another_package_is_for_superusers(stranger: User) -> None:
    admin.site.register(Session)
    try:
        with pytest.raises(AlreadyRegistered):
            admin.site.register(Session)
        client = client_of(stranger)
        assert client.get("/admin/").status_code == 200
        request = client.get("/admin/").wsgi_request
        model_admin = admin.site._registry[Session]
        assert not any(model_admin.get_model_perms(request).values())
        assert not model_admin.has_module_permission(request)
        request.user = User.objects.create_superuser("root", password=PASSWORD)
        assert all(model_admin.get_model_perms(request).values())
    finally:
        admin.site.unregister(Session)


def test_superuser_sees_the_rows_that_others_must_not_see(foreign: Tenant) -> None:
    """Otherwise, the tests below would find nothing in any case."""
    root = client_of(User.objects.get(username=f"{FOREIGN}-root"))
    for model, model_admin in registered():
        if isinstance(model_admin, TenantModelAdmin):
            assert FOREIGN in text_of(root.get(changelist(model))), model
            (row, *_) = foreign_rows(model, foreign)
            for url in own_pages(model, model_admin, row.pk):
                assert root.get(url).status_code in (200, 301, 302, 403), url


def relations_of(model: type[Model]) -> list[str]:
    return [field.name for field in model._meta.get_fields() if field.is_relation and not field.auto_created]


@pytest.fixture
def autocompletes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every relation of every registered model and inline is one that autocompletes."""
    for model, model_admin in registered():
        monkeypatch.setattr(model_admin, "autocomplete_fields", relations_of(model))
        for inline in model_admin.inlines:
            monkeypatch.setattr(inline, "autocomplete_fields", relations_of(inline.model))


def autocomplete(model: type[Model], field: str, term: str) -> dict[str, str]:
    names = {"app_label": model._meta.app_label, "model_name": str(model._meta.model_name)}
    return {**names, "field_name": field, "term": term}


@pytest.mark.usefixtures("autocompletes")
def test_superuser_finds_by_autocomplete_what_others_must_not_find(foreign: Tenant) -> None:
    root = client_of(User.objects.get(username=f"{FOREIGN}-root"))
    for field in ("tenant", "user"):
        found = root.get(reverse("admin:autocomplete"), autocomplete(Membership, field, FOREIGN))
        assert FOREIGN in text_of(found)


@pytest.mark.parametrize("is_filtered", [True, False], ids=["filtered", "row-level security alone"])
def test_no_page_of_admin_shows_another_tenant(
    visitor: Visitor, foreign: Tenant, monkeypatch: pytest.MonkeyPatch, *, is_filtered: bool
) -> None:
    if not is_filtered:
        monkeypatch.setattr(OwnTenantsMixin, "get_queryset", admin.ModelAdmin.get_queryset)
    before = state(foreign)
    for url in ("/admin/", "/admin/memories/", "/admin/auth/", "/admin/password_change/", "/admin/jsi18n/"):
        visitor.ask("get", url)
    for model, model_admin in registered():
        (row, *_) = foreign_rows(model, foreign)
        for url in own_pages(model, model_admin, row.pk):
            expected = (301, *REFUSED) if str(row.pk) in url else (200, *REFUSED)
            visitor.ask("get", url, expected=expected)
            visitor.ask("post", url, {"post": "yes"}, expected=expected)
        visitor.ask("get", changelist(model) + "?_popup=1")
        content_type = ContentType.objects.get_for_model(model)
        visitor.ask("get", f"/admin/r/{content_type.pk}/{quote(str(row.pk))}/", expected=(404,))
    assert not visitor.faults, "\n".join(visitor.faults)
    assert state(foreign) == before


def test_lists_and_forms_show_the_own_tenant(visitor: Visitor, stranger: User) -> None:
    for model, model_admin in registered():
        listed = visitor.client.get(changelist(model))
        if isinstance(model_admin, TenantModelAdmin):
            assert listed.context["cl"].result_count, model
            assert "stranger" in text_of(listed)
            (row, *_) = listed.context["cl"].result_list
            for url in own_pages(model, model_admin, row.pk):
                visitor.ask("get", url, expected=(200, 301, 302, 403))
        else:
            assert listed.status_code == 403
    assert not visitor.faults, "\n".join(visitor.faults)


def test_no_filter_or_lookup_of_a_list_finds_another_tenant(visitor: Visitor, foreign: Tenant) -> None:
    for model, _ in registered():
        (row, *_) = foreign_rows(model, foreign)
        for field in model._meta.fields:
            value = str(field.value_from_object(row))
            lookups = {"": value, "__in": value}
            if field.is_relation:
                lookups |= {"__id__exact": value, "__name__startswith": FOREIGN, "__username__startswith": FOREIGN}
            for lookup, wanted in lookups.items():
                found = visitor.ask("get", changelist(model), {field.name + lookup: wanted})
                if found.status_code == 200 and "cl" in found.context:
                    listed = {each.pk for each in found.context["cl"].result_list}
                    assert row.pk not in listed, (model, field.name + lookup)
        for query in ({"q": FOREIGN}, {"all": ""}, {"e": "1"}, {"o": "1.2"}, {"_to_field": "name"}, {"p": "9"}):
            visitor.ask("get", changelist(model), query)
    assert not visitor.faults, "\n".join(visitor.faults)


@pytest.mark.usefixtures("autocompletes")
def test_no_autocomplete_finds_another_tenant(visitor: Visitor) -> None:
    for model in {*(model for model, _ in registered()), *models_of_tenants()}:
        for field in relations_of(model):
            for term in ("", FOREIGN[:4]):
                visitor.ask("get", reverse("admin:autocomplete"), autocomplete(model, field, term))
    own = visitor.ask("get", reverse("admin:autocomplete"), autocomplete(Membership, "tenant", ""))
    assert OWN in text_of(own)
    assert not visitor.faults, "\n".join(visitor.faults)


def test_relation_that_no_form_completes_is_refused(stranger: User) -> None:
    query = autocomplete(Membership, "tenant", "")
    assert client_of(stranger).get(reverse("admin:autocomplete"), query).status_code == 403


def test_no_form_takes_a_row_of_another_tenant(visitor: Visitor, foreign: Tenant) -> None:
    """It appears neither as a choice of a new row nor in an inline of the user's own row."""
    before = state(foreign)
    for model, model_admin in registered():
        add = visitor.client.get(changelist(model) + "add/")
        if add.status_code == 200:
            form = add.context["adminform"].form
            own = typed(form)
            foreign_choices = {
                name: [row.pk for row in foreign_rows(field.queryset.model, foreign)]
                for name, field in form.fields.items()
                if hasattr(field, "queryset")
            }
            for name, values in foreign_choices.items():
                for value in values:
                    others = {other: pks[0] for other, pks in foreign_choices.items()}
                    visitor.ask("post", changelist(model) + "add/", {**own, **others, name: value})
        if not isinstance(model_admin, TenantModelAdmin):
            continue
        (row, *_) = visitor.client.get(changelist(model)).context["cl"].result_list
        url = f"{changelist(model)}{quote(str(row.pk), safe='')}/change/"
        page = visitor.client.get(url)
        data = typed(page.context["adminform"].form)
        for inline in page.context["inline_admin_formsets"]:
            formset, prefix = inline.formset, inline.formset.prefix
            (taken, *_) = foreign_rows(formset.model, foreign)
            data |= {f"{prefix}-TOTAL_FORMS": 2, f"{prefix}-INITIAL_FORMS": 1, f"{prefix}-0-DELETE": "on"}
            data |= {f"{prefix}-{n}-{field.name}": "1" for n in (0, 1) for field in formset.model._meta.fields}
            data |= {f"{prefix}-0-{formset.model._meta.pk.name}": taken.pk}
        visitor.ask("post", url, data)
    assert not visitor.faults, "\n".join(visitor.faults)
    assert state(foreign) == before


def test_no_bulk_action_reaches_another_tenant(visitor: Visitor, foreign: Tenant) -> None:
    before, tried = state(foreign), set()
    for model, model_admin in registered():
        page = visitor.client.get(changelist(model))
        if not isinstance(model_admin, TenantModelAdmin):
            assert page.status_code == 403
            continue
        form = page.context["action_form"]
        names = [name for name, _ in form.fields["action"].choices if name] if form else []
        ids = [str(row.pk) for row in foreign_rows(model, foreign)]
        for name in names:
            selected = {"action": name, "_selected_action": ids, "post": "yes"}
            visitor.ask("post", changelist(model), selected)
            visitor.ask("post", changelist(model), {**selected, "_selected_action": ["x"]}, expected=REFUSED)
            visitor.ask("post", changelist(model), {**selected, "select_across": "1", "index": "0"})
            tried.add(name)
    assert {"archive_selected", "restore_selected", "embed_selected", "revoke_selected"} <= tried
    assert not visitor.faults, "\n".join(visitor.faults)
    assert state(foreign) == before


def test_id_that_is_none_answers_400(stranger: User) -> None:
    client = client_of(stranger)
    content_type = ContentType.objects.get_for_model(Memory)
    assert client.get(f"/admin/r/{content_type.pk}/9/").status_code == 400
    selected = {"action": "revoke_selected", "_selected_action": ["\x00"]}
    assert client.post(changelist(ApiKey), selected).status_code == 400


def test_own_rows_of_the_same_actions_change(stranger: User) -> None:
    client = client_of(stranger)
    with authentication_scope():
        key = ApiKey.objects.get(name=f"{OWN} key")
    client.post(changelist(ApiKey), {"action": "revoke_selected", "_selected_action": [key.pk]})
    with tenant_scope(key.tenant_id):
        assert ApiKey.objects.for_tenant(key.tenant_id).get().revoked
        memory = Memory.objects.for_tenant(key.tenant_id).get()
    client.post(changelist(Memory), {"action": "archive_selected", "_selected_action": [memory.pk]})
    assert reread_memory(memory).archived_at


def test_nobody_grants_staff_or_superuser_from_a_tenant(stranger: User, foreign: Tenant) -> None:
    client = client_of(stranger)
    granted = {"username": "stranger", "is_superuser": "on", "is_staff": "on", "is_active": "on"}
    for url in (f"/admin/auth/user/{stranger.pk}/change/", "/admin/auth/user/add/"):
        assert client.post(url, {**granted, "name": "x"}).status_code == 403
    assert client.post(f"/admin/auth/user/{stranger.pk}/password/", {"password1": "x"}).status_code == 403
    stranger.refresh_from_db()
    assert not stranger.is_superuser
    assert client.post("/admin/memories/tenant/add/", {"name": f"{FOREIGN} tenant"}).status_code == 403


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_other_roles_get_no_page_of_admin(role: str) -> None:
    tenant = new_shared_tenant("Acme")
    person = new_operator("olga", role, tenant)
    person.user_permissions.set(Permission.objects.all())
    client = client_of(person)
    urls = ["/admin/", "/admin/memories/", "/admin/autocomplete/", *(changelist(model) for model, _ in registered())]
    for url in urls:
        response = client.get(url)
        assert response.status_code == 403, url
        assert "This requires the role admin" in text_of(response)
    assert client.get("/admin/login/").status_code == 302


def person_without_access(kind: str) -> Client:
    """A person to whom no page of Django admin may show a row, with every permission that Django has."""
    if kind == "anonymous":
        return Client()
    own = () if kind == "no tenant" else (new_shared_tenant("Acme"),)
    person = new_operator("olga", "operator" if kind == "operator" else "admin", *own)
    person.user_permissions.set(Permission.objects.all())
    client = client_of(person)
    person.is_active, person.is_staff = kind != "inactive", kind != "no staff"
    person.save()
    if kind == "no role":
        person.groups.clear()
    return client


@pytest.mark.parametrize("kind", ["anonymous", "inactive", "no staff", "no role", "no tenant", "operator"])
def test_nobody_without_role_and_membership_sees_or_changes_a_row(foreign: Tenant, kind: str) -> None:
    visitor = Visitor(person_without_access(kind), set(), [])
    before = state(foreign)
    expected = (200, 301, *REFUSED) if kind == "no tenant" else REFUSED
    for model, model_admin in registered():
        row_id = foreign_rows(model, foreign)[0].pk
        for url in own_pages(model, model_admin, row_id):
            visitor.ask("get", url, expected=expected)
            visitor.ask("post", url, {"post": "yes", "action": "delete_selected", "_selected_action": [row_id]})
        content_type = ContentType.objects.get_for_model(model)
        visitor.ask("get", f"/admin/r/{content_type.pk}/{quote(str(row_id))}/", expected=REFUSED)
        for lookup in ("tenant__name__startswith", "tenant__memberships__user__password__startswith"):
            visitor.ask("get", changelist(model), {lookup: FOREIGN[:4]}, expected=expected)
    for field in ("tenant", "user"):
        visitor.ask("get", reverse("admin:autocomplete"), autocomplete(Membership, field, ""), expected=REFUSED)
    assert not visitor.faults, "\n".join(visitor.faults)
    assert state(foreign) == before


def test_admin_of_two_tenants_acts_in_both_and_in_no_third(visitor: Visitor, foreign: Tenant, stranger: User) -> None:
    second, _ = fill_tenant("second", username="second-person")
    with admin_write_scope():
        Membership.objects.create(tenant=second, user=stranger)
    before = state(foreign)
    with authentication_scope():
        keys = {key.name.split()[0]: key for key in ApiKey.objects.all()}
    selected = {"action": "revoke_selected", "_selected_action": [key.pk for key in keys.values()]}
    visitor.ask("post", changelist(ApiKey), selected)
    with authentication_scope():
        revoked = {key.name.split()[0] for key in ApiKey.objects.all() if key.revoked}
    assert revoked == {OWN, "second"}
    for model, model_admin in registered():
        if isinstance(model_admin, TenantModelAdmin):
            shown = text_of(visitor.ask("get", changelist(model), {"all": ""}, expected=(200,)))
            assert "second" in shown, model
    assert not visitor.faults, "\n".join(visitor.faults)
    assert state(foreign) == before


def test_edit_takes_no_other_tenant_and_no_secret_is_looked_up(
    visitor: Visitor, foreign: Tenant, stranger: User
) -> None:
    """A tenant, partition or id that is entered into the form of the user's own row, and lookups through relations."""
    (theirs, *_) = foreign_rows(Memory, foreign)
    listed = visitor.client.get(changelist(Memory)).context["cl"].result_list
    url = f"{changelist(Memory)}{listed[0].pk}/change/"
    data = typed(visitor.client.get(url).context["adminform"].form)
    for prefix in ("versions", "superseded"):
        data |= {f"{prefix}-TOTAL_FORMS": 0, f"{prefix}-INITIAL_FORMS": 0}
    moved = {"tenant": foreign.pk, "id": theirs.pk, "partition": theirs.partition_id, "_saveasnew": "1"}
    before = state(foreign)
    visitor.ask("post", url, {**data, **moved, "content": "Moved."})
    assert reread_memory(listed[0]).tenant_id == listed[0].tenant_id
    for model, _ in registered():
        for lookup in (
            *("tenant__memberships__user__password__startswith", "tenant__memberships__user__username"),
            *("user__password__startswith", "memory__content__startswith", "hashed_key__startswith"),
        ):
            visitor.ask("get", changelist(model), {lookup: "p"}, expected=REFUSED)
    assert not visitor.faults, "\n".join(visitor.faults)
    assert state(foreign) == before


def test_signing_in_to_admin_is_signing_in_to_the_console(client: Client) -> None:
    assert client.get("/admin/")["Location"] == f"{reverse('sign-in')}?next=/admin/"
    assert client.get("/admin/login/")["Location"] == "/admin/"
    User.objects.create_user("customer", password=PASSWORD)
    assert client_of(User.objects.get(username="customer")).get("/admin/").status_code == 403
