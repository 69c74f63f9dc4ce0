"""The base of Django admin: who has access, which tenants a request reads, what only superusers see (ADR-0097).

A request reads the tenants of the signed-in person; the actions it calls write in one tenant at a time.
"""

from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from memories.models import Tenant
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor, tenants_of
from memories.tenancy.queries.tenants import members_of
from memories.tenancy.scopes import admin_write_scope, operator_read_scope
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.permissions import operator_required
from memory_platform.web.roles import Role, role_of

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    BaseModelAdmin = admin.options.BaseModelAdmin[Any]
else:
    ModelAdmin, BaseModelAdmin = admin.ModelAdmin, admin.options.BaseModelAdmin

View = Callable[..., HttpResponseBase]


def by_now(request: HttpRequest) -> dict[str, Any]:
    """Return the arguments `by` and `now` of an action."""
    return {"by": operator_actor(cast(HtmxRequest, request).operator), "now": timezone.now()}


def tenant_ids_of(request: HttpRequest) -> list[UUID]:
    """Return the tenants that `PlatformAdminSite` found for the signed-in person."""
    return [tenant.pk for tenant in cast(HtmxRequest, request).tenants]


class PlatformAdminSite(admin.AdminSite):
    """Admits the role admin; models whose admin is not limited to tenants are for superusers."""

    def has_permission(self, request: HttpRequest) -> bool:
        return isinstance(request.user, User) and role_of(request.user) is Role.ADMIN

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        admin_class = admin_class or admin.ModelAdmin
        if not issubclass(admin_class, TenantModelAdmin):
            admin_class = type(admin_class.__name__, (SuperuserModelAdmin, admin_class), {})
        super().register(model_or_iterable, admin_class, **options)

    def admin_view(self, view: View, cacheable: bool = False) -> Any:
        return operator_required(Role.ADMIN)(super().admin_view(_in_scope(view), cacheable))

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Serve the fields that an admin declares; Django would serve any relation."""
        declared = {
            (each.opts.app_label, each.opts.model_name, field)
            for model_admin in self._registry.values()
            for each in (model_admin, *model_admin.get_inline_instances(request))
            for field in each.autocomplete_fields
        }
        if tuple(request.GET.get(name) for name in ("app_label", "model_name", "field_name")) not in declared:
            raise PermissionDenied
        return super().autocomplete_view(request)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        """Redirect to the sign-in page of the console."""
        return HttpResponseRedirect(reverse("admin:index"))

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:  # noqa: ARG002
        """Redirect to the console's page, which limits guesses of the old password and records the change."""
        return HttpResponseRedirect(reverse("password-change"))


def _in_scope(view: View) -> View:
    """Run and render a view in the scope of the person's tenants; a `PlatformError` becomes a message."""

    @wraps(view)
    def scoped(request: HtmxRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.tenants = tenants_of(request.operator)
        is_superuser = request.operator.user.is_superuser
        try:
            with admin_write_scope() if is_superuser else operator_read_scope(tenant_ids_of(request)):
                response = view(request, *args, **kwargs)
                if hasattr(response, "render"):
                    response.render()
                return response
        except PlatformError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(request.get_full_path())
        except ValidationError as error:
            raise BadRequest("The URL contains no valid id.") from error

    return scoped


class SuperuserModelAdmin(BaseModelAdmin):
    """The rows of no tenant, such as users and groups."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return self.has_module_permission(request) and super().has_add_permission(request, *args)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and super().has_delete_permission(request, obj)


class OwnTenantsMixin(BaseModelAdmin):
    """Rows, and choices of tenants and people, of the person's own tenants."""

    #: The remaining permissions besides viewing.
    allows: ClassVar[Collection[str]] = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        rows: Any = super().get_queryset(request)
        return rows.of_tenants(tenant_ids_of(request))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Tenant:
            kwargs["queryset"] = Tenant.objects.of_tenants(tenant_ids_of(request))
        elif db_field.related_model is User and not request.user.is_superuser:
            kwargs["queryset"] = members_of(tenant_ids_of(request))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return "add" in self.allows and super().has_add_permission(request, *args)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return "change" in self.allows and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return "delete" in self.allows and super().has_delete_permission(request, obj)


class TenantFilter(admin.RelatedFieldListFilter):
    """The person's tenants. Django would offer a superuser the hidden ones of evaluations too."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:  # noqa: ARG002
        return [(tenant.pk, tenant.name) for tenant in cast(HtmxRequest, request).tenants]


class TenantModelAdmin(OwnTenantsMixin, ModelAdmin):
    """The admin of a model with a tenant. Its changes call actions in the scope of the row's tenant."""

    list_select_related: ClassVar[tuple[str, ...]] = ("tenant",)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the lookups of its filters; Django allows every column of the table."""
        filters: Any = self.get_list_filter(request)
        names = {each[0] if isinstance(each, tuple) else getattr(each, "parameter_name", each) for each in filters}
        return lookup.partition("__")[0] in names and super().lookup_allowed(lookup, value, request)

    def response_action(self, request: HttpRequest, queryset: Any, *args: Any) -> HttpResponse | None:
        """Respond with 400 if a selected value is not an id."""
        try:
            for selected in request.POST.getlist(ACTION_CHECKBOX_NAME):
                ProhibitNullCharactersValidator()(selected)
                self.opts.pk.to_python(selected)
        except ValidationError as error:
            raise BadRequest("A selected id is not valid.") from error
        return super().response_action(request, queryset, *args)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:  # noqa: ARG002
        """Only the rows themselves: nothing that belongs to them is deleted."""
        rows = [str(row) for row in objs]
        return rows, {str(self.opts.verbose_name_plural): len(rows)}, set(), []

    def delete_queryset(self, request: HttpRequest, queryset: Iterable[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)
