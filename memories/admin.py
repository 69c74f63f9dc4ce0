"""Django admin. It calls the same actions as API and console and writes no row of a tenant itself."""

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin, messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework_api_key.models import APIKey

from memories.embeddings.actions import retry_embeddings
from memories.embeddings.indexer import index_now
from memories.models import ApiKey, AuditEntry, Membership, Memory, MemoryVersion, Tenant
from memories.search.actions import set_tenant_language
from memories.services.store.drafts import CHANGEABLE_MEMORY_FIELDS, memory_change_problems
from memories.services.store.import_export_files import CSV, JSONL, csv_header
from memories.services.tenancy.tenant_names import TenantNameError, check_tenant_name
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.forms import MetadataField
from memories.store.queries.memories import MemoryQuerySet
from memories.store.serializers.import_export import FILE_CONTENT_TYPES, memory_lines
from memories.tenancy.actions.api_keys import revoke_api_key
from memories.tenancy.actions.operators import add_member, remove_member
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.admin import TenantInline, TenantModelAdmin, by_now
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import counted

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Any]
else:
    ModelForm = forms.ModelForm

SHORT_CONTENT_CHARACTERS = 80
#: The package's own keys belong to no tenant and grant nothing here.
if admin.site.is_registered(APIKey):
    admin.site.unregister(APIKey)


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
        """Show the problems that the action would raise at their fields."""
        before = {name: self.initial[name] for name in ("created_at", "expires_at")}
        for problem in memory_change_problems(self.changes, **before, now=timezone.now()):
            self.add_error(problem.field, problem.detail)
        return self.cleaned_data

    @property
    def changes(self) -> dict[str, Any]:
        own = set(self.changed_data) & set(self.cleaned_data) - {"expected_version"}
        return {name: self.cleaned_data[name] for name in own}


class VersionInline(TenantInline):
    """The superseded versions."""

    model = MemoryVersion
    verbose_name_plural = "earlier versions"
    fields = readonly_fields = ("version", "content", "kind", "confidence", "pinned", "valid_from", "valid_to")
    ordering = ("-version",)


#: Tenants whose import pages the list of memories links to.
IMPORT_TENANTS_MAX = 20
#: Fields of a memory that the platform maintains.
_MAINTAINED = (
    *("id", "version", "valid_from", "valid_to", "archived_at", "tokens_o200k_base", "tokens_cl100k_base"),
    *("usefulness_score", "retrieval_count", "last_retrieved_at", "embedding_state", "embedding_error"),
)


@admin.register(Memory)
class MemoryAdmin(TenantModelAdmin):
    """An edit adds a version, deleting archives, and a new text is counted and embedded again."""

    form = MemoryAdminForm
    allows = ("change", "delete")
    inlines = (VersionInline,)
    list_display = (
        *("short_content", "tenant", "partition_path", "kind", "pinned", "version", "created_at", "archived_at"),
    )
    list_filter = ("tenant", "kind", "pinned", "embedding_state", ("archived_at", admin.EmptyFieldListFilter))
    search_fields = ("content",)
    search_help_text = "Words of the text"
    show_full_result_count = False
    ordering = ("-created_at",)
    actions = ("restore_selected", "embed_selected", "export_json_lines", "export_csv")
    readonly_fields = ("tenant", "partition_path", *_MAINTAINED)
    fieldsets = (
        (None, {"fields": ("content", "kind", "confidence", "pinned", "metadata", "created_at", "expires_at")}),
        ("Source", {"fields": ("tenant", "partition_path", "source_id", "session", "position")}),
        ("Maintained by the platform", {"fields": (*_MAINTAINED, "expected_version")}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """List memories, with links to the import page of the first tenants."""
        tenants = cast(HtmxRequest, request).tenants[:IMPORT_TENANTS_MAX]
        return super().changelist_view(request, {**(extra_context or {}), "import_tenants": tenants})

    @admin.display(description="text")
    def short_content(self, memory: Memory) -> str:
        return memory.content[:SHORT_CONTENT_CHARACTERS]

    def get_queryset(self, request: HttpRequest) -> MemoryQuerySet:
        rows: MemoryQuerySet = super().get_queryset(request).without_search_columns()
        return rows

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:  # noqa: ARG002
        """Full-text search, as agents search."""
        return (queryset.matching(search_term) if search_term else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """An archived memory is restored before it is changed."""
        is_archived = isinstance(obj, Memory) and obj.archived_at is not None
        return super().has_change_permission(request, obj) and not is_archived

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:  # noqa: ARG002
        """Save the edit; embed a new text after commit."""
        seen = form.cleaned_data["expected_version"]
        with tenant_scope(obj.tenant_id):
            update_memory(memory=obj, changes=form.changes, if_version=seen, **by_now(request))
        transaction.on_commit(partial(index_now, obj.tenant_id, [obj.pk]))

    def delete_model(self, request: HttpRequest, obj: Memory) -> None:
        with tenant_scope(obj.tenant_id):
            archive_memory(memory=obj, **by_now(request))

    @admin.action(description="Restore selected memories", permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: Any) -> None:
        """Restore all or none: a live duplicate refuses the whole selection."""
        rows = list(queryset)
        for row in rows:
            with tenant_scope(row.tenant_id):
                restore_memory(memory=row, **by_now(request))
            transaction.on_commit(partial(index_now, row.tenant_id, [row.pk]))
        messages.success(request, f"{counted(len(rows), 'memory is', 'memories are')} live.")

    @admin.action(description="Embed selected memories again where that failed", permissions=["change"])
    def embed_selected(self, request: HttpRequest, queryset: Any) -> None:
        chosen = sorted(queryset, key=lambda memory: str(memory.tenant_id))
        for tenant, rows in groupby(chosen, key=lambda memory: memory.tenant):
            with tenant_scope(tenant.pk):
                retried = retry_embeddings(tenant=tenant, memory_ids=[row.pk for row in rows], **by_now(request))
            transaction.on_commit(partial(index_now, tenant.pk, retried))
        messages.success(request, "Memories that had failed are embedded again.")

    @admin.action(description="Export selected live memories as JSON lines", permissions=["view"])
    def export_json_lines(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return _file_of(request, queryset, JSONL)

    @admin.action(description="Export selected live memories as CSV", permissions=["view"])
    def export_csv(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return _file_of(request, queryset, CSV)


def _file_of(request: HttpRequest, selected: Any, file_type: str) -> HttpResponse | None:
    """Return a file that the console and REST import; None with a message for memories of several tenants."""
    rows = list(selected.live_oldest_first(timezone.now()))
    if len({row.tenant_id for row in rows}) != 1:
        messages.error(request, "Select live memories of one tenant.")
        return None
    lines = [csv_header() if file_type == CSV else "", *memory_lines(rows, file_type)]
    response = HttpResponse("".join(lines), content_type=f"{FILE_CONTENT_TYPES[file_type]}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="memories.{file_type}"'
    return response


class TenantAdminForm(ModelForm):
    """A tenant's name and the language of its memories, from those that this Postgres knows."""

    class Meta:
        model = Tenant
        fields = ("name", "text_search_config")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "text_search_config" in self.fields:
            choices = [(name, name) for name in text_search_configs()]
            self.fields["text_search_config"].widget = forms.Select(choices=choices)
            # an absent language stays as it is: English for a new tenant
            self.fields["text_search_config"].required = False

    def clean_name(self) -> str:
        """Return the name as the action stores it, or show what is wrong with it."""
        try:
            return check_tenant_name(self.cleaned_data["name"])
        except TenantNameError as error:
            raise forms.ValidationError(error.detail, code=error.code) from error


@admin.register(Tenant)
class TenantAdmin(TenantModelAdmin):
    """Superusers create tenants; an existing one can change its language."""

    form = TenantAdminForm
    allows = ("add", "change")
    list_display = ("name", "id", "text_search_config", "created_at")
    list_select_related = ()
    search_fields = ("name",)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """The unique names would disclose other tenants."""
        return bool(request.user.is_superuser) and super().has_add_permission(request, *args)

    def get_readonly_fields(self, request: HttpRequest, obj: models.Model | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return ("name",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: ARG002
        """The actions create and change the row; the admin continues with it."""
        values = {"language": obj.text_search_config, **by_now(request)}
        if change:
            with tenant_scope(obj.pk):
                set_tenant_language(tenant=obj, **values)
            return
        with admin_write_scope():
            created = create_tenant(name=obj.name, **values)
        obj.pk, obj.created_at = created.pk, created.created_at


@admin.register(Membership)
class MembershipAdmin(TenantModelAdmin):
    """The members of tenants."""

    allows = ("add", "delete")
    list_display = ("user", "tenant")
    list_filter = ("tenant",)
    list_select_related = ("user", "tenant")

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:  # noqa: ARG002
        with tenant_scope(obj.tenant_id):
            obj.pk = add_member(user=obj.user, tenant=obj.tenant, **by_now(request)).pk

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        with tenant_scope(obj.tenant_id):
            remove_member(membership=obj, **by_now(request))


@admin.register(ApiKey)
class ApiKeyAdmin(TenantModelAdmin):
    """API keys without their text. The console and `manage.py create_key` create them."""

    list_display = ("name", "prefix", "tenant", "scopes", "partition_prefix", "created", "revoked")
    list_filter = ("tenant", "revoked")
    fields = readonly_fields = (
        *("name", "prefix", "tenant", "scopes", "partition_prefix", "refuses_recalled_text", "created", "revoked"),
    )
    actions = ("revoke_selected",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether the person may change keys elsewhere; no page changes one here."""
        return admin.ModelAdmin.has_change_permission(self, request)

    @admin.action(description="Revoke selected keys, for good", permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, queryset: Any) -> None:
        for key in queryset:
            with tenant_scope(key.tenant_id):
                revoke_api_key(key=key, **by_now(request))
        messages.success(request, "The keys are revoked.")


@admin.register(AuditEntry)
class AuditEntryAdmin(TenantModelAdmin):
    """The audit log, read-only."""

    list_display = ("at", "tenant", "actor_kind", "actor_label", "verb", "target_kind", "fields")
    list_filter = ("tenant", "verb", "actor_kind")
    ordering = ("-at",)
    show_full_result_count = False
