"""Django admin. It calls the same actions as API and console and writes no row of a tenant itself."""

from collections.abc import Collection
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from rest_framework_api_key.models import APIKey

from memories.embeddings.actions import retry_embeddings
from memories.embeddings.indexer import index_now
from memories.models import ApiKey, AuditEntry, Membership, Memory, MemoryVersion, Tenant
from memories.search.actions import set_tenant_language
from memories.services.store.drafts import CHANGEABLE_MEMORY_FIELDS, memory_change_problems
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.forms import MetadataField
from memories.store.queries.memories import MemoryQuerySet
from memories.tenancy.actions.tenants import add_member, create_tenant, remove_member, revoke_api_key
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.queries.tenants import TenantQuerySet
from memories.tenancy.scopes import admin_write_scope
from memory_platform.web.numerals import counted

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    ModelForm = forms.ModelForm[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, ModelForm, TabularInline = admin.ModelAdmin, forms.ModelForm, admin.TabularInline

SHORT_CONTENT_CHARACTERS = 80
#: The package's own keys belong to no tenant and grant nothing here.
if admin.site.is_registered(APIKey):
    admin.site.unregister(APIKey)


def _by_now(request: HttpRequest) -> dict[str, Any]:
    return {"by": Actor.operator(request.user.pk, request.user.get_username()), "now": timezone.now()}


def _in_scope(name: str) -> Any:
    """Return an admin view that runs and renders with access to all tenants; a `PlatformError` becomes a message."""
    plain_view = getattr(admin.ModelAdmin, name)

    def view(self: ModelAdmin, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            with admin_write_scope():
                response: HttpResponseBase = plain_view(self, request, *args, **kwargs)
                if hasattr(response, "render"):
                    response.render()
                return response
        except PlatformError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(request.get_full_path())

    return view


class ScopedAdmin(ModelAdmin):
    """Runs every view inside the admin's scope. `allows` names the permissions other than to view that it leaves."""

    allows: ClassVar[Collection[str]] = ("change",)
    list_select_related: ClassVar[tuple[str, ...]] = ("tenant",)

    changelist_view = _in_scope("changelist_view")
    changeform_view = _in_scope("changeform_view")
    delete_view = _in_scope("delete_view")
    history_view = _in_scope("history_view")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return "add" in self.allows and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return "change" in self.allows and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return "delete" in self.allows and super().has_delete_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:  # noqa: ARG002
        """Only the rows themselves: nothing that belongs to them is deleted."""
        rows = [str(row) for row in objs]
        return rows, {str(self.opts.verbose_name_plural): len(rows)}, set(), []

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for row in queryset:
            self.delete_model(request, row)


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


class VersionInline(TabularInline):
    """The superseded versions, read-only."""

    model = MemoryVersion
    verbose_name_plural = "earlier versions"
    fields = readonly_fields = ("version", "content", "kind", "confidence", "pinned", "valid_from", "valid_to")
    ordering = ("-version",)
    extra = max_num = 0
    can_delete = False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:  # noqa: ARG002
        return False


#: Fields of a memory that the platform maintains.
_MAINTAINED = (
    *("id", "version", "valid_from", "archived_at", "tokens_o200k_base", "tokens_cl100k_base", "usefulness_score"),
    *("retrieval_count", "last_retrieved_at", "embedding_state", "embedding_error"),
)


@admin.register(Memory)
class MemoryAdmin(ScopedAdmin):
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
    actions = ("restore_selected", "embed_selected")
    readonly_fields = ("tenant", "partition_path", *_MAINTAINED)
    fieldsets = (
        (None, {"fields": ("content", "kind", "confidence", "pinned", "metadata", "created_at", "expires_at")}),
        ("Source", {"fields": ("tenant", "partition_path", "source_id", "session", "position")}),
        ("Maintained by the platform", {"fields": (*_MAINTAINED, "expected_version")}),
    )

    @admin.display(description="text")
    def short_content(self, memory: Memory) -> str:
        return memory.content[:SHORT_CONTENT_CHARACTERS]

    def get_queryset(self, request: HttpRequest) -> MemoryQuerySet:  # noqa: ARG002
        return Memory.objects.without_search_columns()

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
        update_memory(memory=obj, changes=form.changes, if_version=seen, **_by_now(request))
        transaction.on_commit(partial(index_now, obj.tenant_id, [obj.pk]))

    def delete_model(self, request: HttpRequest, obj: Memory) -> None:
        archive_memory(memory=obj, **_by_now(request))

    @admin.action(description="Restore selected memories", permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: Any) -> None:
        """Restore all or none: a live duplicate refuses the whole selection."""
        restored = [restore_memory(memory=row, **_by_now(request)) for row in queryset]
        for memory in restored:
            transaction.on_commit(partial(index_now, memory.tenant_id, [memory.pk]))
        messages.success(request, f"{counted(len(restored), 'memory is', 'memories are')} live.")

    @admin.action(description="Embed selected memories again where that failed", permissions=["change"])
    def embed_selected(self, request: HttpRequest, queryset: Any) -> None:
        chosen = sorted(queryset, key=lambda memory: str(memory.tenant_id))
        for tenant, rows in groupby(chosen, key=lambda memory: memory.tenant):
            retried = retry_embeddings(tenant=tenant, memory_ids=[row.pk for row in rows], **_by_now(request))
            transaction.on_commit(partial(index_now, tenant.pk, retried))
        messages.success(request, "Memories that had failed are embedded again.")


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


@admin.register(Tenant)
class TenantAdmin(ScopedAdmin):
    """Creates tenants; an existing one can change its language."""

    form = TenantAdminForm
    allows = ("add", "change")
    list_display = ("name", "id", "text_search_config", "created_at")
    list_select_related = ()
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> TenantQuerySet:  # noqa: ARG002
        return Tenant.objects.visible()

    def get_readonly_fields(self, request: HttpRequest, obj: models.Model | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return ("name",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: ARG002
        """The actions create and change the row; the admin continues with it."""
        values = {"language": obj.text_search_config, **_by_now(request)}
        if change:
            set_tenant_language(tenant=obj, **values)
            return
        created = create_tenant(name=obj.name, **values)
        obj.pk, obj.created_at = created.pk, created.created_at


@admin.register(Membership)
class MembershipAdmin(ScopedAdmin):
    """The members of tenants."""

    allows = ("add", "delete")
    list_display = ("user", "tenant")
    list_filter = ("tenant",)
    list_select_related = ("user", "tenant")

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:  # noqa: ARG002
        obj.pk = add_member(user=obj.user, tenant=obj.tenant, **_by_now(request)).pk

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        remove_member(membership=obj, **_by_now(request))


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """API keys without their text. The console and `manage.py create_key` create them."""

    list_display = ("name", "prefix", "tenant", "scopes", "partition_prefix", "created", "revoked")
    list_filter = ("tenant", "revoked")
    fields = readonly_fields = (
        *("name", "prefix", "tenant", "scopes", "partition_prefix", "refuses_recalled_text", "created", "revoked"),
    )
    actions = ("revoke_selected",)

    @admin.action(description="Revoke selected keys, for good", permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: Any) -> None:
        for key in queryset:
            revoke_api_key(key=key, **_by_now(request))
        messages.success(request, "The keys are revoked.")


@admin.register(AuditEntry)
class AuditEntryAdmin(ScopedAdmin):
    """The audit log, read-only."""

    allows = ()
    list_display = ("at", "tenant", "actor_kind", "actor_label", "verb", "target_kind", "fields")
    list_filter = ("tenant", "verb", "actor_kind")
    ordering = ("-at",)
    show_full_result_count = False
