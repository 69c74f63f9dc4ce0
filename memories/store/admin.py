"""Memories in Django admin. It calls the same actions as API and console and writes no row itself."""

from collections import Counter
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import Truncator

from memories.embeddings.actions import reembed_memories
from memories.embeddings.indexer import index_now
from memories.models import Memory, Partition
from memories.services.store.bulk import BULK_CHANGE_KIND
from memories.services.store.drafts import CHANGEABLE_MEMORY_FIELDS, memory_change_problems
from memories.services.store.import_export_files import CSV, JSONL, csv_header
from memories.store.actions.bulk import apply_bulk_action
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.forms import MetadataField
from memories.store.queries.memories import MemoryQuerySet
from memories.store.serializers.import_export import FILE_CONTENT_TYPES, memory_lines
from memories.tenancy.admin import TenantFilter, TenantModelAdmin, by_now, tenant_ids_of
from memories.tenancy.audit import record_export, record_search, record_shown
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.forms import PlatformForm
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import counted

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Any]
else:
    ModelForm = forms.ModelForm

SHORT_CONTENT_CHARACTERS = 80


class MemoryAdminForm(ModelForm):
    """An edit, refused if the memory has changed since."""

    expected_version = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = Memory
        fields = tuple(name for name in CHANGEABLE_MEMORY_FIELDS if name != "partition")
        field_classes = {"metadata": MetadataField}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "expected_version" in self.fields:
            self.fields["expected_version"].initial = self.instance.version

    def clean(self) -> dict[str, Any]:
        """Show the problems that the action would raise next to their fields."""
        before = {name: self.initial[name] for name in ("created_at", "expires_at")}
        for problem in memory_change_problems(self.changes, **before, now=timezone.now()):
            self.add_error(problem.field, problem.detail)
        return self.cleaned_data

    @property
    def changes(self) -> dict[str, Any]:
        own = set(self.changed_data) & set(self.cleaned_data) - {"expected_version"}
        return {name: self.cleaned_data[name] for name in own}


class MemoryActionForm(PlatformForm, ActionForm):
    """The selected action, and the kind that "Change kind" sets."""

    kind = forms.CharField(required=False, max_length=32, label="Kind")


class PartitionFilter(admin.SimpleListFilter):
    """The top-level partitions of the person's tenants; selects the memories in one and below it."""

    title = "partition"
    parameter_name = "partition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        roots = Partition.objects.of_tenants(tenant_ids_of(request)).children_of("", 0)
        return [(path, path) for path in dict.fromkeys(roots.paths(PARTITIONS_OFFERED))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:  # noqa: ARG002
        return queryset.within(self.value()) if self.value() in dict(self.lookup_choices) else queryset


class ConfidenceFilter(admin.SimpleListFilter):
    """Bands of confidence."""

    title = "confidence"
    parameter_name = "confidence_band"
    BANDS = {"low": ("below 0.5", 0.0, 0.5), "medium": ("0.5 to 0.8", 0.5, 0.8), "high": ("0.8 and above", 0.8, 1.01)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(name, label) for name, (label, _, _) in self.BANDS.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:  # noqa: ARG002
        if self.value() not in self.BANDS:
            return queryset
        _, low, high = self.BANDS[str(self.value())]
        return queryset.with_confidence(low, high)


#: Maximum partitions that the filter of the list offers.
PARTITIONS_OFFERED = 50
#: Fields of a memory that the platform maintains.
_MAINTAINED = (
    *("id", "version", "valid_from", "valid_to", "archived_at", "tokens_o200k_base", "tokens_cl100k_base"),
    *("usefulness_score", "retrieval_count", "last_retrieved_at", "embedding_state", "embedding_error"),
)


@admin.register(Memory)
class MemoryAdmin(TenantModelAdmin):
    """An edit adds a version, and a new text is counted and embedded again.

    Memories cannot be deleted here: see Erasures.
    """

    form = MemoryAdminForm
    allows = ("change",)
    list_display = ("short_content", "tenant", "partition_path", "kind", "pinned", "created_at", "archived_at")
    list_filter = (
        ("tenant", TenantFilter),
        *(PartitionFilter, "kind", ConfidenceFilter, "pinned", "created_at", "expires_at", "embedding_state"),
        ("archived_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("content",)
    search_help_text = "Words of the text"
    show_full_result_count = False
    ordering = ("-created_at",)
    action_form = MemoryActionForm
    actions = (
        "archive_selected",
        *("pin_selected", "unpin_selected", "change_kind_of_selected", "restore_selected", "embed_selected"),
        *("export_json_lines", "export_csv"),
    )
    readonly_fields = ("tenant", "partition_path", *_MAINTAINED)
    fieldsets = (
        (None, {"fields": ("content", "kind", "confidence", "pinned", "metadata", "created_at", "expires_at")}),
        ("Source", {"fields": ("tenant", "partition_path", "source_id", "session", "position")}),
        ("Maintained by the platform", {"fields": (*_MAINTAINED, "expected_version")}),
    )

    class Media:
        css: ClassVar = {"all": ("css/admin.css",)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """List memories, with a link to the import page of the only tenant or of the one that the filter selects."""
        tenants = cast(HtmxRequest, request).tenants
        selected = request.GET.get("tenant__id__exact") if len(tenants) > 1 else str(tenants[0].pk) if tenants else None
        import_tenant = next((tenant for tenant in tenants if str(tenant.pk) == selected), None)
        response = super().changelist_view(request, {**(extra_context or {}), "import_tenant": import_tenant})
        if listed := getattr(response, "context_data", {}).get("cl"):
            _record_list(request, listed)
        return response

    @admin.display(description="text")
    def short_content(self, memory: Memory) -> str:
        return Truncator(memory.content).chars(SHORT_CONTENT_CHARACTERS)

    def get_queryset(self, request: HttpRequest) -> MemoryQuerySet:
        rows: MemoryQuerySet = super().get_queryset(request).without_search_columns()
        return rows

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:  # noqa: ARG002
        """Search by full text, as agents do."""
        return (queryset.matching(search_term) if search_term else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Refuse changes of an archived memory, which has to be restored first."""
        is_archived = isinstance(obj, Memory) and obj.archived_at is not None
        return super().has_change_permission(request, obj) and not is_archived

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Edit a memory, or archive it by the button below the form."""
        is_archived = request.method == "POST" and "_archive" in request.POST
        memory = self.get_object(request, object_id)
        if memory is not None and not is_archived:
            _record_shown(request, "memory", memory.pk, memory.tenant_id)
        if not is_archived:
            return super().change_view(request, object_id, form_url, extra_context)
        if memory is None:
            raise Http404
        if not self.has_change_permission(request, memory):
            raise PermissionDenied
        with tenant_scope(memory.tenant_id):
            archive_memory(memory=memory, **by_now(request))
        messages.success(request, "The memory is archived. Undo this on the Activity page of its tenant.")
        return HttpResponseRedirect(request.get_full_path())

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:  # noqa: ARG002
        """Save the edit; embed a new text after commit."""
        seen = form.cleaned_data["expected_version"]
        with tenant_scope(obj.tenant_id):
            update_memory(memory=obj, changes=form.changes, if_version=seen, **by_now(request))
        transaction.on_commit(partial(index_now, obj.tenant_id, [obj.pk]))

    @admin.action(description="Archive selected memories", permissions=["change"])
    def archive_selected(self, request: HttpRequest, queryset: Any) -> None:
        """Archive the selected memories; "Restore selected memories" undoes it."""
        rows = list(queryset)
        for row in rows:
            with tenant_scope(row.tenant_id):
                archive_memory(memory=row, **by_now(request))
        messages.success(request, f"{counted(len(rows), 'memory is', 'memories are')} archived.")

    def view_on_site(self, memory: Memory) -> str:
        """Return the memory's page in the console, which also shows its history."""
        return reverse("memory", args=(memory.tenant_id, memory.pk))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:  # noqa: ARG002
        """Redirect to the console: its history names every change, whichever way it was made."""
        memory = self.get_object(request, object_id)
        if memory is None:
            raise Http404
        return HttpResponseRedirect(self.view_on_site(memory))

    @admin.action(description="Pin selected memories", permissions=["change"])
    def pin_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._apply("pin", request, queryset)

    @admin.action(description="Unpin selected memories", permissions=["change"])
    def unpin_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._apply("unpin", request, queryset)

    @admin.action(description="Change kind of selected memories", permissions=["change"])
    def change_kind_of_selected(self, request: HttpRequest, queryset: Any) -> None:
        self._apply(BULK_CHANGE_KIND, request, queryset, kind=request.POST.get("kind", "").strip())

    def _apply(self, action: str, request: HttpRequest, queryset: Any, kind: str = "") -> None:
        """Perform a bulk action in each tenant; the console can undo it."""
        changed = 0
        for tenant_id, rows in groupby(sorted(queryset, key=attrgetter("tenant_id")), attrgetter("tenant_id")):
            seen = {row.pk: row.version for row in rows}
            with tenant_scope(tenant_id):
                done = apply_bulk_action(tenant_id=tenant_id, action=action, seen=seen, kind=kind, **by_now(request))
            changed += done.count
        messages.success(request, f"{counted(changed, 'memory was', 'memories were')} changed.")

    @admin.action(description="Restore selected memories", permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: Any) -> None:
        """Restore all or none: if one has a live duplicate, the whole selection is refused."""
        rows = list(queryset)
        for row in rows:
            with tenant_scope(row.tenant_id):
                restore_memory(memory=row, **by_now(request))
            transaction.on_commit(partial(index_now, row.tenant_id, [row.pk]))
        messages.success(request, f"{counted(len(rows), 'memory is', 'memories are')} live.")

    @admin.action(description="Re-embed selected memories", permissions=["change"])
    def embed_selected(self, request: HttpRequest, queryset: Any) -> None:
        """Queue the selected memories; a local model computes the vectors directly after the commit."""
        chosen = sorted(queryset, key=lambda memory: str(memory.tenant_id))
        queued = 0
        for tenant, rows in groupby(chosen, key=lambda memory: memory.tenant):
            with tenant_scope(tenant.pk):
                ids = reembed_memories(tenant=tenant, memory_ids=[row.pk for row in rows], **by_now(request))
            transaction.on_commit(partial(index_now, tenant.pk, ids))
            queued += len(ids)
        text = f"{counted(queued, 'memory is', 'memories are')} queued for re-embedding."
        skipped = len(chosen) - queued
        messages.success(request, f"{text} {skipped:,} archived skipped." if skipped else text)

    @admin.action(description="Export selected live memories as JSON Lines", permissions=["view"])
    def export_json_lines(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return _file_of(request, queryset, JSONL)

    @admin.action(description="Export selected live memories as CSV", permissions=["view"])
    def export_csv(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return _file_of(request, queryset, CSV)


def _record_list(request: HttpRequest, listed: ChangeList) -> None:
    """Record the list in each tenant whose memories it shows; a search also in a tenant that it is limited to."""
    chosen = request.GET.get("tenant__id__exact")
    searched = [pk for pk in tenant_ids_of(request) if chosen in (None, str(pk))]
    found = Counter(row.tenant_id for row in listed.result_list)
    for tenant_id in found or (searched if listed.query and len(searched) == 1 else ()):
        if listed.query:
            results = found[tenant_id]
            record_search("search_memories", listed.query, "", results=results, tenant_id=tenant_id, **by_now(request))
        else:
            _record_shown(request, "tenant", tenant_id, tenant_id)


def _record_shown(request: HttpRequest, target_kind: str, target_id: UUID, tenant_id: UUID) -> None:
    read: dict[str, Any] = {"about": "admin", "details": {"page": "admin"}, **by_now(request)}
    record_shown("read_text", target_kind, target_id, tenant_id=tenant_id, **read)


def _file_of(request: HttpRequest, selected: Any, file_type: str) -> HttpResponse | None:
    """Return a file that the console and REST can import; None, with a message, for memories of several tenants."""
    rows = list(selected.live_oldest_first(timezone.now()))
    tenant_ids = {row.tenant_id for row in rows}
    if len(tenant_ids) != 1:
        messages.error(request, "Select live memories of one tenant.")
        return None
    (tenant_id,) = tenant_ids
    with tenant_scope(tenant_id):
        record_export("memory", ["ids", "type"], tenant_id=tenant_id, **by_now(request))
    lines = [csv_header() if file_type == CSV else "", *memory_lines(rows, file_type)]
    response = HttpResponse("".join(lines), content_type=f"{FILE_CONTENT_TYPES[file_type]}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="memories.{file_type}"'
    return response
