"""The pages of API keys, tenant settings with members, and the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from memories.embeddings.embedders import active_model_name
from memories.models import ApiKey, AuditEntry, Membership, Partition
from memories.search.actions import set_tenant_language
from memories.search.forms import LanguageForm
from memories.services.partitions.paths import parse_partition
from memories.services.tenancy.audit_targets import audit_target_page, displayed_target_id
from memories.tenancy.access import acting, operator_actor, submit, tenant_members, tenant_of, tenant_page
from memories.tenancy.actions.tenants import add_member, create_api_key, remove_member, revoke_api_key
from memories.tenancy.forms import ApiKeyForm, AuditFilterForm, MemberForm
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.queries.tenants import usernames_by_id, users_by_username
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, Role, add_flash, render_page, role_of, wants_fragment
from memory_platform.web.tables import SortColumn, TablePage, read_table, requested_order

_SETTINGS = "tenant-settings"
KEYS_SHOWN_MAX = 500
_KEY_COLUMNS = (
    SortColumn("name", "name", str, is_down_first=False),
    SortColumn("created", "created", datetime),
    SortColumn("changed", "last_change", datetime),
)
_AUDIT_COLUMNS = (SortColumn("when", "at", datetime),)
#: Newest entries whose names the filters offer.
NAMES_READ_MAX = 500
#: The target kind of people who sign in.
PERSON = "user"
#: Placeholder for an id or profile name in URL patterns.
ANY_ID = str(UUID(int=0))
#: Ids of an entry that are shown; the template shows the first three outside of an expandable part.
TARGETS_SHOWN_MAX = 100
_ID_CHARACTERS_SHOWN = 14


@dataclass(frozen=True)
class KeyRow:
    """A key with the values that the table sorts by."""

    key: ApiKey
    name: str
    created: datetime
    last_change: datetime | None


@tenant_page("admin", to_change="admin")
def api_keys(request: HtmxRequest) -> HttpResponseBase:
    """List and create keys. A key's text is only in the answer to the POST."""
    if request.method != "POST":
        return _keys_page(request, ApiKeyForm(label_suffix=""))
    form = ApiKeyForm(request.POST, label_suffix="")
    created = submit(request, form, lambda: _create(request, form))
    if created is None:
        return _keys_page(request, form)
    key, plain = created
    search_url = request.build_absolute_uri(reverse("api-memories-search"))
    return _keys_page(request, ApiKeyForm(label_suffix=""), {"made": key, "plain": plain, "search_url": search_url})


def _create(request: HtmxRequest, form: ApiKeyForm) -> tuple[ApiKey, str]:
    fields = form.cleaned_data
    fields["partition"] = parse_partition(fields["partition"]) if fields["partition"] else None
    values = {name: fields[name] for name in ("name", "partition", "refuses_recalled_text")}
    return create_api_key(scopes=form.scopes(), **values, **acting(request, timezone.now()))


def _keys_page(request: HtmxRequest, form: ApiKeyForm, made: dict[str, Any] | None = None) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        rows = ApiKey.objects.for_tenant(tenant_id).with_last_change(AuditEntry.objects.for_tenant(tenant_id))
        keys = list(rows.usable_first()[:KEYS_SHOWN_MAX])
        partitions = Partition.objects.for_tenant(tenant_id).offered_paths()
    page = {"section": "api-keys", "form": form, "keys": keys, "table": _table(request, keys), "partitions": partitions}
    page |= made or {}
    return render_page(request, "memories/tenancy/api_keys.html", page, fragment="body", form=form)


def _table(request: HtmxRequest, keys: list[Any]) -> TablePage:
    order = requested_order(request, _KEY_COLUMNS)
    rows = order.sorted(KeyRow(key, key.name.casefold(), key.created, key.last_change) for key in keys)
    return TablePage(sorted(rows, key=lambda row: row.key.revoked), order)


@tenant_page("admin", to_change="admin")
def api_key_revoke(request: HtmxRequest, prefix: str) -> HttpResponseBase:
    """Confirm, then revoke a key for good."""
    with tenant_scope(request.tenant.id):
        key = get_object_or_404(ApiKey.objects.for_tenant(request.tenant.id).with_prefix(prefix))
        if request.method == "POST":
            revoke_api_key(key=key, by=operator_actor(request.operator), now=timezone.now())
    if request.method != "POST" and not key.revoked:
        return render_page(request, "memories/tenancy/api_key_revoke.html", {"section": "api-keys", "key": key})
    add_flash(request, f"Key {key} revoked.")
    return redirect("api-keys", request.tenant.id)


@tenant_page("viewer", to_change="admin")
def tenant_settings(request: HtmxRequest) -> HttpResponseBase:
    """Show the settings; a POST changes the language."""
    if request.method != "POST":
        return _settings_page(request)
    form = LanguageForm(request.POST, label_suffix="", languages=text_search_configs())
    who = acting(request, timezone.now())
    saved = submit(request, form, lambda: set_tenant_language(**form.cleaned_data, **who))
    if saved is None:
        return _settings_page(request, language_form=form)
    language = form.cleaned_data["language"]
    add_flash(request, f"Search language set to {language}. Stored memories follow in the background.")
    return redirect(_SETTINGS, request.tenant.id)


def _settings_page(
    request: HtmxRequest, *, language_form: LanguageForm | None = None, member_form: MemberForm | None = None
) -> HttpResponse:
    tenant = tenant_of(request)
    initial = {"language": tenant.text_search_config}
    with tenant_scope(tenant.pk):
        page: dict[str, Any] = {
            "section": _SETTINGS,
            "members": tenant_members(tenant.pk),
            "model_name": active_model_name(tenant.pk),
            "language_form": language_form
            or LanguageForm(initial=initial, label_suffix="", languages=text_search_configs()),
            "roles": list(Role),
            "member_form": member_form or MemberForm(label_suffix=""),
        }
    is_refused = any(form and form.errors for form in (language_form, member_form))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
    return render_page(request, "memories/tenancy/tenant_settings.html", page, status=status)


@tenant_page(to_change="admin")
def member_add(request: HtmxRequest) -> HttpResponseBase:
    """Make an existing account a member of the tenant."""
    form = MemberForm(request.POST, label_suffix="")
    person = users_by_username(form.cleaned_data["username"]).first() if form.is_valid() else None
    if form.is_valid() and (person is None or role_of(person) is None):
        form.add_error("username", "No account with a role has this name. Create it first.")
    if person is None or form.errors:
        return _settings_page(request, member_form=form)
    with tenant_scope(request.tenant.id):
        add_member(user=person, **acting(request, timezone.now()))
    add_flash(request, f"{person.get_username()} sees this tenant.")
    return redirect(_SETTINGS, request.tenant.id)


@tenant_page("admin", to_change="admin")
def member_remove(request: HtmxRequest, username: str) -> HttpResponseBase:
    """Confirm, then remove a member's access to the tenant."""
    user = request.operator.user
    with tenant_scope(request.tenant.id):
        members = Membership.objects.for_tenant(request.tenant.id).of_username(username)
        member = get_object_or_404(members.with_roles())
        is_oneself = member.user_id == user.pk
        if request.method == "POST":
            remove_member(membership=member, by=operator_actor(request.operator), now=timezone.now())
    if request.method != "POST":
        page = {"section": _SETTINGS, "member": member.user, "is_oneself": is_oneself}
        return render_page(request, "memories/tenancy/member_remove.html", page)
    add_flash(request, f"{username} removed from {request.tenant.name}.")
    return redirect("overview") if is_oneself and not user.is_superuser else redirect(_SETTINGS, request.tenant.id)


@dataclass(frozen=True)
class AuditTarget:
    """One target of an entry: an id or a person's name; `url` is "" without a page for this operator."""

    id: str
    url: str

    @property
    def short(self) -> str:
        """The beginning of the id."""
        return self.id if len(self.id) <= _ID_CHARACTERS_SHOWN else f"{self.id[: _ID_CHARACTERS_SHOWN - 1]}…"


@tenant_page("viewer")
def audit_log(request: HtmxRequest) -> HttpResponseBase:
    """Show the audit log; filters, order and page are in the URL."""
    form = AuditFilterForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "audit-log", "form": form}
    entries = AuditEntry.objects.for_tenant(request.tenant.id)
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            table = read_table(request, _AUDIT_COLUMNS, entries.narrowed(form.cleaned_data).page)
            names = usernames_by_id({pk for row in table.rows if row.target_kind == PERSON for pk in row.target_ids})
            rows = [{"entry": entry, **_targets(request, entry, names)} for entry in table.rows]
            page |= {"table": table, "rows": rows, "is_narrowed": any(form.cleaned_data.values())}
        if not wants_fragment(request):
            page |= entries.names_in_newest(NAMES_READ_MAX)
    return render_page(request, "memories/tenancy/audit_log.html", page, fragment="fragment", form=form)


def _targets(request: HtmxRequest, entry: AuditEntry, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the `targets` of an entry that are shown, and how many are not; `names` are user names by id."""
    shown = [
        AuditTarget(
            (names.get(pk) if entry.target_kind == PERSON else None) or displayed_target_id(pk),
            _address(request, entry, pk, is_first=not place),
        )
        for place, pk in enumerate(entry.target_ids[:TARGETS_SHOWN_MAX])
    ]
    return {"targets": shown, "targets_hidden": len(entry.target_ids) - len(shown)}


def _address(request: HtmxRequest, entry: AuditEntry, target_id: str, *, is_first: bool) -> str:
    page = audit_target_page(entry.verb, entry.target_kind, target_id, is_first=is_first)
    if page is None or (page.admins_only and not request.operator.can_administer):
        return ""
    url = _pattern(page.name, request.tenant.id, len(page.args))
    for each in page.args:
        url = url.replace(ANY_ID, each, 1)
    return f"{url}?{urlencode(page.query)}" if page.query else url


@lru_cache(maxsize=200)
def _pattern(name: str, tenant_id: UUID, ids: int) -> str:
    """Return a URL with placeholders; cached, because a log shows thousands of ids."""
    return reverse(name, args=[tenant_id, *[ANY_ID] * ids])
