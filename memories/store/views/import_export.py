"""The page that exports and imports memories as files."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from memories.models import Memory, Partition
from memories.services.partitions.paths import PartitionPath, parse_partition
from memories.services.store.drafts import SUPERSEDES, NewMemory
from memories.services.store.import_export_files import (
    FILE_TYPES,
    IMPORT_FIELDS,
    IMPORT_LINES_MAX,
    JSONL,
    pack_text,
)
from memories.store.actions.imports import IMPORT_BATCH_ROWS, import_memories
from memories.store.forms import MemoryExportForm, MemoryImportForm
from memories.store.import_preview import REPEATED, preview_import
from memories.store.serializers.import_export import FILE_CONTENT_TYPES, ImportFile, export_lines
from memories.store.store_results import CHANGED_ROW, StoreResult, StoreStatus
from memories.tenancy.audit import record_export
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments
from memory_platform.web.downloads import download
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

#: Maximum lines that a preview shows from the beginning of a file, and maximum invalid lines on the page.
LINES_SHOWN_MAX = 20
FAULTS_SHOWN_MAX = 100
#: The maximum size of the previewed file and its states in the form that imports it, with space for other fields.
#: Text packs to less.
PACKED_CHARACTERS_MAX = settings.DATA_UPLOAD_MAX_MEMORY_SIZE - 64 * 1024
#: Is no state of a memory: of a line whose memory the preview did not show.
_NOT_SHOWN = "-"


@tenant_page("operator", to_change="operator")
def memory_import_export(request: HtmxRequest) -> HttpResponseBase:
    """Show the forms of export and import; a POST previews a file, or stores a batch of the previewed one."""
    form = MemoryImportForm(request.POST, request.FILES) if request.method == "POST" else MemoryImportForm()
    page: dict[str, Any] = {"section": "memories", "form": form, "lines_max": IMPORT_LINES_MAX, "types": FILE_TYPES}
    page["fields"] = [name for name in IMPORT_FIELDS if name != "content"]
    if form.is_bound and form.is_valid():
        page |= _read(request, form)
    with tenant_scope(request.tenant.id):
        page["partitions"] = Partition.objects.for_tenant(request.tenant.id).offered_paths()
    return render_page(request, "memories/store/import_export.html", page, form=form if form.is_bound else None)


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


def _read(request: HtmxRequest, form: MemoryImportForm) -> dict[str, Any]:
    """Preview the file of a valid form, or store its next batch; return what the page shows about it."""
    try:
        with tenant_scope(request.tenant.id):
            return _import_batch(request, form) if form.cleaned_data["packed"] else _preview(request, form)
    except PlatformError as error:
        form.add_error("file", error.detail)
        return {}


def _file(form: MemoryImportForm, now: datetime, **part: Any) -> ImportFile:
    fields, default = form.cleaned_data, parse_partition(form.cleaned_data["partition"])

    def place(requested: PartitionPath | None) -> PartitionPath:
        return default if requested is None else requested

    return ImportFile(fields["text"], fields["type"], now=now, place=place, **part)


def _preview(request: HtmxRequest, form: MemoryImportForm) -> dict[str, Any]:
    who = action_arguments(request)
    read = _file(form, who["now"])
    preview = preview_import(tenant=who["tenant"], rows=list(read.rows.values()), now=who["now"])
    results, lines = preview.results, list(read.rows)
    packed = pack_text(form.cleaned_data["text"])
    seen = "".join(
        f"{line}:{preview.states.get(index, '')}{_versions_text(preview.versions.get(index, ()))} "
        for index, line in enumerate(lines)
        if index in preview.states or index in preview.versions
    )
    if len(packed) + len(seen) > PACKED_CHARACTERS_MAX:
        raise InvalidInput("too_large", "The file is too large to be previewed. Split it.", "file")
    written = [row.memory for row in results if row.status in (StoreStatus.CREATED, StoreStatus.UPDATED)]
    return {
        "preview": read.report(results),
        "lines": _shown(read, results, LINES_SHOWN_MAX),
        "written": len(written),
        "tokens": sum(memory.tokens_o200k_base for memory in written if memory is not None),
        "packed": packed,
        "seen": seen,
    }


def _import_batch(request: HtmxRequest, form: MemoryImportForm) -> dict[str, Any]:
    """Store the rows after those already done; the response requests the next batch or reports the end.

    A row that would update or replace another state of a memory than the preview showed is not stored.
    """
    fields, who = form.cleaned_data, action_arguments(request)
    done = fields["done"] or 0
    read = _file(form, who["now"], part=range(done, done + IMPORT_BATCH_ROWS))
    seen = form.seen_states()
    rows = [_as_previewed(row, *seen.get(line, ("", ()))) for line, row in read.rows.items()]
    stored = import_memories(rows=rows, act_id=fields["act"], **who)
    report = read.report(stored.results)
    outcomes = zip(read.rows.items(), stored.results, strict=True)
    changed = form.changed_lines() + [line for (line, row), result in outcomes if _has_changed(row, result)]
    changed = changed[:FAULTS_SHOWN_MAX]
    counts = {name: count + report[name] for name, count in form.counts().items()}
    page: dict[str, Any] = {"act": stored.act, "counts": counts, "done": done + IMPORT_BATCH_ROWS, "total": read.count}
    if page["done"] < read.count:
        carried = {"packed": request.POST["packed"], "seen": fields["seen"]}
        return page | carried | {"is_unfinished": True, "changed": "".join(f"{line} " for line in changed)}
    if counts["invalid"]:
        # All other rows are stored at this point, so only the invalid ones differ from what is stored.
        read = _file(form, who["now"])
        preview = preview_import(tenant=who["tenant"], rows=list(read.rows.values()), now=who["now"])
        refused = dict.fromkeys(changed, StoreResult(None, StoreStatus.INVALID, problems=(CHANGED_ROW,)))
        results = [refused.get(line, result) for line, result in zip(read.rows, preview.results, strict=True)]
        page["lines"] = _shown(read, results, 0)
    return page | {"report": counts}


def _versions_text(versions: Sequence[int]) -> str:
    return f"/{','.join(map(str, versions))}" if versions else ""


def _as_previewed(row: NewMemory, state: str, versions: tuple[int, ...]) -> NewMemory:
    """Return the row with the condition that what it changes is as the preview showed it, which nothing shown never is.

    Memories that the row replaces in versions of its own are compared with these.
    """
    if row.source_id:
        row = replace(row, if_state=state or _NOT_SHOWN)
    if row.supersedes and not row.superseded_versions:
        row = replace(row, superseded_versions=versions or (0,) * len(row.supersedes))
    return row


def _has_changed(row: NewMemory, result: StoreResult) -> bool:
    """Whether a row of the file was refused because of a change after the preview."""
    is_replaced = not row.superseded_versions and result.stale_field == SUPERSEDES
    return is_replaced or CHANGED_ROW in result.problems


def _shown(read: ImportFile, results: Sequence[StoreResult], count: int) -> list[dict[str, Any]]:
    """Return the first `count` lines with their memories as stored, and the first invalid ones after them."""
    memories = {line: result.memory for line, result in zip(read.rows, results, strict=True)}
    repeated = {line for line, result in zip(read.rows, results, strict=True) if result.reason == REPEATED}
    texts = read.faulty_texts | {line: row.content for line, row in read.rows.items()}
    lines = read.report(results)["lines"]
    faults = [row for row in lines[count:] if row["status"] == StoreStatus.INVALID]
    return [
        {**row, "memory": memories.get(number), "text": texts.get(number, ""), "is_repeated": number in repeated}
        for row in [*lines[:count], *faults[:FAULTS_SHOWN_MAX]]
        for number in [row["line"]]
    ]
