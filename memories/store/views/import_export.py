"""The page that exports and imports memories as files."""

from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from memories.models import Memory, Partition
from memories.services.partitions.paths import PartitionPath, parse_partition
from memories.services.store.import_export_files import CSV, FILE_TYPES, IMPORT_EXPORT_FIELDS, IMPORT_LINES_MAX, JSONL
from memories.store.forms import MemoryExportForm, MemoryImportForm
from memories.store.serializers.import_export import FILE_CONTENT_TYPES, ImportFile, export_lines
from memories.tenancy.audit import record_export
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_of, tenant_page
from memory_platform.web.downloads import download
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

#: Invalid lines that the page names.
FAULTS_SHOWN_MAX = 100


@tenant_page("operator", to_change="operator")
def memory_import_export(request: HtmxRequest) -> HttpResponseBase:
    """Show the forms of export and import; import an uploaded file and report its lines."""
    is_post = request.method == "POST"
    form = MemoryImportForm(request.POST, request.FILES) if is_post else MemoryImportForm()
    page: dict[str, Any] = {"section": "memories", "form": form, "lines_max": IMPORT_LINES_MAX, "types": FILE_TYPES}
    page["fields"] = [name for name in IMPORT_EXPORT_FIELDS if name != "content"]
    if is_post and form.is_valid():
        page |= _imported(request, form)
    with tenant_scope(request.tenant.id):
        page["partitions"] = Partition.objects.for_tenant(request.tenant.id).offered_paths()
    return render_page(request, "memories/store/import_export.html", page, form=form if is_post else None)


@tenant_page("admin")
def memory_export(request: HtmxRequest) -> HttpResponseBase:
    """Download the live memories of a partition and those below it."""
    form = MemoryExportForm(request.GET)
    if not form.is_valid():
        flash_error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect("memory-import-export", request.tenant.id)
    fields = form.cleaned_data
    now, tenant_id = timezone.now(), request.tenant.id
    rows = Memory.objects.for_tenant(tenant_id).live(now).within(fields["partition"])
    with tenant_scope(request.tenant.id):
        record_export(
            "memory", form.changed_data, tenant_id=request.tenant.id, by=operator_actor(request.operator), now=now
        )
    file_type = fields["type"] or JSONL
    lines = export_lines(tenant_id, rows, file_type)
    return download(lines, f"memories.{file_type}", FILE_CONTENT_TYPES[file_type])


def _imported(request: HtmxRequest, form: MemoryImportForm) -> dict[str, Any]:
    """Import the file of a valid form; return what the page shows about it."""
    fields, now = form.cleaned_data, timezone.now()
    place = parse_partition(fields["partition"])
    file_type = CSV if fields["file"].name.lower().endswith(".csv") else JSONL

    def default_path(requested: PartitionPath | None) -> PartitionPath:
        return place if requested is None else requested

    try:
        read = ImportFile(fields["text"], file_type, key=None, now=now, default_path=default_path)
    except InvalidInput as error:
        form.add_error("file", error.detail)
        return {}
    report = read.store(tenant=tenant_of(request), by=operator_actor(request.operator), now=now)
    faults = [line for line in report["lines"] if line["status"] == "invalid"]
    return {"report": report, "faults": faults[:FAULTS_SHOWN_MAX]}
