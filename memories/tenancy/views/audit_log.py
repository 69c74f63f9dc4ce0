"""The audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from memories.models import AuditEntry
from memories.services.store.import_export_files import CSV
from memories.services.tenancy.act_labels import act_label
from memories.services.tenancy.audit_targets import audit_target_page, displayed_target_id
from memories.store.serializers.import_export import FILE_CONTENT_TYPES
from memories.tenancy.audit import record_export
from memories.tenancy.audit_chain import last_audit_check
from memories.tenancy.audit_export import exported_audit_log
from memories.tenancy.forms import AuditExportForm, AuditFilterForm
from memories.tenancy.members import operator_actor
from memories.tenancy.queries.tenants import usernames_by_id
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.downloads import download, download_query
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

_AUDIT_COLUMNS = (SortColumn("when", "at", datetime),)
#: Newest entries whose names the filters offer.
NAMES_READ_MAX = 500
#: The target kind of people who sign in.
PERSON = "user"
#: Placeholder for an id or profile name in URL patterns.
ANY_ID = str(UUID(int=0))
#: Ids of an entry that are shown; the template shows the first three outside of an expandable part.
TARGETS_SHOWN_MAX = 20
_ID_CHARACTERS_SHOWN = 14


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
    form = AuditFilterForm(request.GET)
    page: dict[str, Any] = {"section": "audit-log", "form": form}
    entries = AuditEntry.objects.for_tenant(request.tenant.id)
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            table = read_table(request, _AUDIT_COLUMNS, entries.narrowed(form.cleaned_data).page)
            names = usernames_by_id({pk for row in table.rows if row.target_kind == PERSON for pk in row.target_ids})
            rows = [{"entry": entry, **_targets(request, entry, names)} for entry in table.rows]
            page |= {"table": table, "rows": rows, "is_narrowed": any(form.cleaned_data.values())}
            page["export_query"] = download_query(request)
        if not wants_fragment(request):
            page |= entries.names_in_newest(NAMES_READ_MAX)
            page["actions"] = sorted({act_label(verb) for verb in page["actions"]})
            page["check"] = last_audit_check(request.tenant.id)
    return render_page(request, "memories/tenancy/audit_log.html", page, fragment="fragment", form=form)


@tenant_page("viewer")
def audit_export(request: HtmxRequest) -> HttpResponseBase:
    """Download the filtered audit log with its seals, newest first, as CSV or JSON Lines."""
    form = AuditExportForm(request.GET)
    if not form.is_valid():
        flash_error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect("audit-log", request.tenant.id)
    tenant_id, file_type = request.tenant.id, form.cleaned_data["type"] or CSV
    with tenant_scope(tenant_id):
        by = operator_actor(request.operator)
        record_export("audit_entry", form.changed_data, tenant_id=tenant_id, by=by, now=timezone.now())
    lines = exported_audit_log(tenant_id, form.filters(), file_type)
    return download(lines, f"audit.{file_type}", FILE_CONTENT_TYPES[file_type])


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
