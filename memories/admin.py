"""Django admin. It calls the same actions as API and console and never writes a tenant's rows itself."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group, User
from django.db import models
from django.http import HttpRequest
from rest_framework_api_key.models import APIKey

from memories.models import ApiKey, AuditEntry, Membership, Tenant
from memories.search.actions import set_tenant_language
from memories.services.tenancy.tenant_names import check_tenant_name
from memories.store import admin as memory_admin  # noqa: F401 - registers the class
from memories.tenancy.actions.api_keys import revoke_api_key
from memories.tenancy.actions.operators import add_member, delete_operator, remove_member
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.admin import TenantFilter, TenantModelAdmin, by_now
from memories.tenancy.forms import checked
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.scopes import admin_write_scope, tenant_scope

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Any]
    UserAdmin = auth_admin.UserAdmin[User]
else:
    ModelForm, UserAdmin = forms.ModelForm, auth_admin.UserAdmin

# With only five models, the sidebar is not needed, and the lists need the width.
admin.site.enable_nav_sidebar = False
# The package's own keys grant nothing here; groups are the roles, which code finds by name; accounts are below.
for model in (APIKey, Group, User):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(User)
class PersonAdmin(UserAdmin):
    """Accounts of people."""

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return obj != request.user and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        delete_operator(user=obj, **by_now(request))

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for person in queryset:
            self.delete_model(request, person)


class TenantAdminForm(ModelForm):
    """A tenant's name and the language of its memories, one of those that this Postgres server supports."""

    class Meta:
        model = Tenant
        fields = ("name", "text_search_config")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "text_search_config" in self.fields:
            choices = [(name, name) for name in text_search_configs()]
            self.fields["text_search_config"].widget = forms.Select(choices=choices)
            # without a language in the form, the tenant keeps its language: English for a new tenant
            self.fields["text_search_config"].required = False

    def clean_name(self) -> str:
        """Return the name as the action stores it, or report why it is invalid."""
        return str(checked(check_tenant_name, self.cleaned_data["name"]))


@admin.register(Tenant)
class TenantAdmin(TenantModelAdmin):
    """Superusers create tenants; an existing one can change its language."""

    form = TenantAdminForm
    allows = ("add", "change")
    list_display = ("name", "id", "text_search_config", "created_at")
    list_select_related = ()
    search_fields = ("name",)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Only superusers may add tenants, because refused names would disclose other tenants."""
        return bool(request.user.is_superuser) and super().has_add_permission(request, *args)

    def get_readonly_fields(self, request: HttpRequest, obj: models.Model | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return ("name",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: ARG002
        """Create or change the row by an action; the admin continues with it."""
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
    list_filter = (("tenant", TenantFilter),)
    list_select_related = ("user", "tenant")

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:  # noqa: ARG002
        with tenant_scope(obj.tenant_id):
            obj.pk = add_member(user=obj.user, tenant=obj.tenant, **by_now(request)).pk

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        with tenant_scope(obj.tenant_id):
            remove_member(membership=obj, **by_now(request))


@admin.register(ApiKey)
class ApiKeyAdmin(TenantModelAdmin):
    """API keys without their text. They are created in the console and by `manage.py create_key`."""

    list_display = ("name", "prefix", "tenant", "scopes", "partition_prefix", "created", "revoked")
    list_filter = (("tenant", TenantFilter), "revoked")
    fields = readonly_fields = (
        *("name", "prefix", "tenant", "scopes", "partition_prefix", "refuses_recalled_text", "created", "revoked"),
    )
    actions = ("revoke_selected",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether the person may change keys in the console; pages of Django admin cannot."""
        return admin.ModelAdmin.has_change_permission(self, request)

    @admin.action(description="Revoke selected keys permanently", permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, queryset: Any) -> None:
        for key in queryset:
            with tenant_scope(key.tenant_id):
                revoke_api_key(key=key, **by_now(request))
        messages.success(request, "The keys are revoked.")


@admin.register(AuditEntry)
class AuditEntryAdmin(TenantModelAdmin):
    """The audit log, read-only."""

    list_display = ("at", "tenant", "actor_kind", "actor_label", "verb", "target_kind", "fields")
    list_filter = (("tenant", TenantFilter), "verb", "actor_kind")
    ordering = ("-at",)
    show_full_result_count = False
