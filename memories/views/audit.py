"""The audit log: who did what to which rows and when, by names of fields and never their text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from memories.access import tenant_required
from memories.audit_log import PERSON, audit_entries, names_of_late, names_of_people
from memories.forms import AuditFilterForm
from memories.models import AuditEntry
from memories.scopes import tenant_scope
from memories.services.audited import page_of, shown_id
from memory_platform.paging import Column, read_table
from memory_platform.web import HtmxRequest, operator_required, show, wants_fragment

SECTION = "audit-log"
COLUMNS = (Column("when", "at", datetime),)
#: Ids of one entry that are shown at once, and those behind a click.
TARGETS_SHOWN = 3
TARGETS_SHOWN_MAX = 100
#: Names of fields that are shown at once.
FIELDS_SHOWN = 5


@dataclass(frozen=True)
class Target:
    """One id of an entry, or the name of a person; `url` is "" where no page of this operator shows it."""

    id: str
    url: str


@dataclass(frozen=True)
class AuditRow:
    """An entry as the page shows it: `more` stands behind a click, `targets_hidden` ids nowhere."""

    entry: AuditEntry
    first: list[Target]
    more: list[Target]
    targets_hidden: int
    fields: list[str]
    more_fields: list[str]


@operator_required("viewer")
@tenant_required
@require_safe
def audit_log(request: HtmxRequest) -> HttpResponseBase:
    """What was done, the newest first; filters, order and place stand in the address."""
    form = AuditFilterForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": SECTION, "form": form}
    is_whole = not wants_fragment(request)
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            page |= _rows(request, form)
        if is_whole:
            page |= names_of_late(request.tenant.id)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return show(request, "audit_log.html" if is_whole else "audit_log.html#fragment", page, status=status)


def _rows(request: HtmxRequest, form: AuditFilterForm) -> dict[str, Any]:
    table = read_table(request, COLUMNS, partial(audit_entries, request.tenant.id, form.cleaned_data))
    names = names_of_people(table.rows)
    return {
        "table": table,
        "rows": [_row(request, entry, names) for entry in table.rows],
        "is_narrowed": any(form.cleaned_data.values()),
    }


def _row(request: HtmxRequest, entry: AuditEntry, names: Mapping[str, str]) -> AuditRow:
    shown = entry.target_ids[:TARGETS_SHOWN_MAX]
    named = names if entry.target_kind == PERSON else {}
    targets = [_target(request, entry, target_id, named, is_first=not place) for place, target_id in enumerate(shown)]
    return AuditRow(
        entry=entry,
        first=targets[:TARGETS_SHOWN],
        more=targets[TARGETS_SHOWN:],
        targets_hidden=len(entry.target_ids) - len(shown),
        fields=entry.fields[:FIELDS_SHOWN],
        more_fields=entry.fields[FIELDS_SHOWN:],
    )


def _target(
    request: HtmxRequest, entry: AuditEntry, target_id: str, names: Mapping[str, str], *, is_first: bool
) -> Target:
    shown = names.get(target_id) or shown_id(target_id)
    page = page_of(entry.verb, entry.target_kind, target_id, is_first=is_first)
    if page is None or (page.admins_only and not request.operator.can_administer):
        return Target(shown, "")
    url = reverse(page.name, args=[request.tenant.id, *page.args])
    return Target(shown, f"{url}?{urlencode(page.query)}" if page.query else url)
