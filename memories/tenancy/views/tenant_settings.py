"""The page of a tenant's settings and members."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from memories.embeddings.embedders import active_model_name
from memories.models import Membership
from memories.search.actions import set_tenant_language
from memories.search.forms import LanguageForm
from memories.tenancy.actions.operators import add_member, remove_member
from memories.tenancy.forms import MemberForm
from memories.tenancy.members import operator_actor, tenant_members
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.queries.tenants import users_by_username
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import acting, submit, tenant_of, tenant_page
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page
from memory_platform.web.roles import Role, role_of

_SETTINGS = "tenant-settings"


@tenant_page("viewer", to_change="admin")
def tenant_settings(request: HtmxRequest) -> HttpResponseBase:
    """Show the settings; a POST changes the language."""
    if request.method != "POST":
        return _settings_page(request)
    form = LanguageForm(request.POST, label_suffix="", languages=text_search_configs())
    who = acting(request, timezone.now())
    saved = submit(request, form, lambda: set_tenant_language(**form.cleaned_data, **who))
    if saved is None:
        return _settings_page(request, language_form=form)
    language = form.cleaned_data["language"]
    add_flash(request, f"Search language set to {language}. Stored memories follow in the background.")
    return redirect(_SETTINGS, request.tenant.id)


def _settings_page(
    request: HtmxRequest, *, language_form: LanguageForm | None = None, member_form: MemberForm | None = None
) -> HttpResponse:
    tenant = tenant_of(request)
    initial = {"language": tenant.text_search_config}
    with tenant_scope(tenant.pk):
        page: dict[str, Any] = {
            "section": _SETTINGS,
            "members": tenant_members(tenant.pk),
            "model_name": active_model_name(tenant.pk),
            "language_form": language_form
            or LanguageForm(initial=initial, label_suffix="", languages=text_search_configs()),
            "roles": list(Role),
            "member_form": member_form or MemberForm(label_suffix=""),
        }
    is_refused = any(form and form.errors for form in (language_form, member_form))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
    return render_page(request, "memories/tenancy/tenant_settings.html", page, status=status)


@tenant_page(to_change="admin")
def member_add(request: HtmxRequest) -> HttpResponseBase:
    """Make an existing account a member of the tenant."""
    form = MemberForm(request.POST, label_suffix="")
    person = users_by_username(form.cleaned_data["username"]).first() if form.is_valid() else None
    if form.is_valid() and (person is None or role_of(person) is None):
        form.add_error("username", "No account with a role has this name. Create it first.")
    if person is None or form.errors:
        return _settings_page(request, member_form=form)
    with tenant_scope(request.tenant.id):
        add_member(user=person, **acting(request, timezone.now()))
    add_flash(request, f"{person.get_username()} sees this tenant.")
    return redirect(_SETTINGS, request.tenant.id)


@tenant_page("admin", to_change="admin")
def member_remove(request: HtmxRequest, username: str) -> HttpResponseBase:
    """Confirm, then remove a member's access to the tenant."""
    user = request.operator.user
    with tenant_scope(request.tenant.id):
        members = Membership.objects.for_tenant(request.tenant.id).of_username(username)
        member = get_object_or_404(members.with_roles())
        is_oneself = member.user_id == user.pk
        if request.method == "POST":
            remove_member(membership=member, by=operator_actor(request.operator), now=timezone.now())
    if request.method != "POST":
        page = {"section": _SETTINGS, "member": member.user, "is_oneself": is_oneself}
        return render_page(request, "memories/tenancy/member_remove.html", page)
    add_flash(request, f"{username} removed from {request.tenant.name}.")
    return redirect("overview") if is_oneself and not user.is_superuser else redirect(_SETTINGS, request.tenant.id)
