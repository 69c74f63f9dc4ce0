"""The pages of API keys."""

from datetime import datetime
from operator import attrgetter
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from memories.models import ApiKey, AuditEntry, Partition
from memories.services.partitions.paths import parse_partition
from memories.tenancy.actions.api_keys import create_api_key, revoke_api_key
from memories.tenancy.forms import ApiKeyForm
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, by_operator, submit
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, TablePage, requested_order

KEYS_SHOWN_MAX = 500
_KEY_COLUMNS = (
    SortColumn("name", "folded_name", str, is_down_first=False),
    SortColumn("created", "created", datetime),
    SortColumn("changed", "last_change", datetime),
)


@tenant_page("admin", to_change="admin")
def api_keys(request: HtmxRequest) -> HttpResponseBase:
    """List and create keys. A key's text is only in the response to the POST."""
    if request.method != "POST":
        return _keys_page(request, ApiKeyForm())
    form = ApiKeyForm(request.POST)
    created = submit(request, form, lambda: _create(request, form))
    if created is None:
        return _keys_page(request, form)
    key, plain = created
    search_url = request.build_absolute_uri(reverse("api-memories-search"))
    return _keys_page(request, ApiKeyForm(), {"made": key, "plain": plain, "search_url": search_url})


def _create(request: HtmxRequest, form: ApiKeyForm) -> tuple[ApiKey, str]:
    fields = form.cleaned_data
    fields["partition"] = parse_partition(fields["partition"]) if fields["partition"] else None
    values = {name: fields[name] for name in ("name", "partition", "refuses_recalled_text")}
    return create_api_key(scopes=form.scopes(), **values, **action_arguments(request))


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
    return TablePage(sorted(order.sorted(keys), key=attrgetter("revoked")), order)


@tenant_page("admin", to_change="admin")
def api_key_revoke(request: HtmxRequest, prefix: str) -> HttpResponseBase:
    """Ask for confirmation, then revoke a key permanently."""
    with tenant_scope(request.tenant.id):
        key = get_object_or_404(ApiKey.objects.for_tenant(request.tenant.id).with_prefix(prefix))
        if request.method == "POST":
            revoke_api_key(key=key, **by_operator(request))
    if request.method != "POST" and not key.revoked:
        return render_page(request, "memories/tenancy/api_key_revoke.html", {"section": "api-keys", "key": key})
    add_flash(request, f"Key {key} revoked.")
    return redirect("api-keys", request.tenant.id)
