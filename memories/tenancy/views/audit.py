"""The page of the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from memories.models import AuditEntry
from memories.services.tenancy.audit_targets import AuditTargetPage, audit_target_page, displayed_target_id
from memories.tenancy.access import tenant_required
from memories.tenancy.audit_log import PERSON, actor_names, audit_entries, recent_audit_names
from memories.tenancy.forms import AuditFilterForm
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, operator_required, render_page, wants_fragment
from memory_platform.web.tables import SortColumn, read_table

_SECTION = "audit-log"
_COLUMNS = (SortColumn("when", "at", datetime),)
#: Placeholder for an id or profile name in URL patterns.
ANY_ID = str(UUID(int=0))
#: Ids of an entry that are shown, and those in an expandable part.
TARGETS_SHOWN = 3
TARGETS_SHOWN_MAX = 100
_ID_CHARACTERS_SHOWN = 14
#: Field names that are shown.
FIELDS_SHOWN = 5


@dataclass(frozen=True)
class AuditTarget:
    """One target of an entry: an id or a person's name; `url` is "" without a page for this operator."""

    id: str
    url: str

    @property
    def short(self) -> str:
        """The beginning of the id."""
        return self.id if len(self.id) <= _ID_CHARACTERS_SHOWN else f"{self.id[: _ID_CHARACTERS_SHOWN - 1]}…"


@dataclass(frozen=True)
class AuditRow:
    """An entry for the page; `more` is expandable, `targets_hidden` counts omitted ids."""

    entry: AuditEntry
    first: list[AuditTarget]
    more: list[AuditTarget]
    targets_hidden: int
    fields: list[str]
    more_fields: list[str]


@operator_required("viewer")
@tenant_required
@require_safe
def audit_log(request: HtmxRequest) -> HttpResponseBase:
    """Show the audit log; filters, order and page are in the URL."""
    form = AuditFilterForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": _SECTION, "form": form}
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            page |= _rows(request, form)
        if not wants_fragment(request):
            page |= recent_audit_names(request.tenant.id)
    return render_page(request, "memories/tenancy/audit_log.html", page, fragment="fragment", form=form)


def _rows(request: HtmxRequest, form: AuditFilterForm) -> dict[str, Any]:
    table = read_table(request, _COLUMNS, partial(audit_entries, request.tenant.id, form.cleaned_data))
    pages = _Pages(request, actor_names(table.rows))
    return {
        "table": table,
        "rows": [_row(pages, entry) for entry in table.rows],
        "is_narrowed": any(form.cleaned_data.values()),
    }


class _Pages:
    """Builds targets with the pages that this operator may open; `names` are user names by id."""

    def __init__(self, request: HtmxRequest, names: Mapping[str, str]) -> None:
        self._request = request
        self._names = names
        self._patterns: dict[str, str] = {}

    def target(self, entry: AuditEntry, target_id: str, *, is_first: bool) -> AuditTarget:
        name = self._names.get(target_id) if entry.target_kind == PERSON else None
        page = audit_target_page(entry.verb, entry.target_kind, target_id, is_first=is_first)
        return AuditTarget(name or displayed_target_id(target_id), self._address(page) if page else "")

    def _address(self, page: AuditTargetPage) -> str:
        """Return a URL; each kind of page is reversed once, because a log shows thousands of ids."""
        if page.admins_only and not self._request.operator.can_administer:
            return ""
        if page.name not in self._patterns:
            self._patterns[page.name] = reverse(page.name, args=[self._request.tenant.id, *(ANY_ID for _ in page.args)])
        url = self._patterns[page.name]
        for each in page.args:
            url = url.replace(ANY_ID, each)
        return f"{url}?{urlencode(page.query)}" if page.query else url


def _row(pages: _Pages, entry: AuditEntry) -> AuditRow:
    shown = entry.target_ids[:TARGETS_SHOWN_MAX]
    targets = [pages.target(entry, target_id, is_first=not place) for place, target_id in enumerate(shown)]
    return AuditRow(
        entry=entry,
        first=targets[:TARGETS_SHOWN],
        more=targets[TARGETS_SHOWN:],
        targets_hidden=len(entry.target_ids) - len(shown),
        fields=entry.fields[:FIELDS_SHOWN],
        more_fields=entry.fields[FIELDS_SHOWN:],
    )
