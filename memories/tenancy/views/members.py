"""The page of a tenant's members: add, change the role, remove, invite."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from memories.models import Invitation, Membership
from memories.tenancy.actions.invitations import create_invitation, revoke_invitation
from memories.tenancy.actions.operators import add_member, change_role, remove_member
from memories.tenancy.actions.second_factor import remove_second_factor
from memories.tenancy.forms import InvitationForm, MemberForm, RoleForm
from memories.tenancy.members import tenant_members, users_with_fixed_roles
from memories.tenancy.queries.tenants import users_by_username
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, by_operator, submit, tenant_change
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page
from memory_platform.web.roles import Role, role_of

_MEMBERS = "members"
INVITATIONS_SHOWN_MAX = 50


@tenant_page("viewer")
def members(request: HtmxRequest) -> HttpResponseBase:
    """List the members of the tenant with their roles and, for admins, the open invitations."""
    return _members_page(request)


@tenant_page(to_change="admin")
def member_add(request: HtmxRequest) -> HttpResponseBase:
    """Add an account that belongs only to the admin's tenants or to none; other people need an invitation."""
    form = MemberForm(request.POST)
    person = users_by_username(form.cleaned_data["username"]).first() if form.is_valid() else None
    if person is not None and (role_of(person) is None or users_with_fixed_roles([person], request.operator)):
        person = None
    if form.is_valid() and person is None:
        form.add_error("username", "No account that you may add has this name. Invite the person below.")
    if person is None or form.errors:
        return _members_page(request, member_form=form)
    with tenant_scope(request.tenant.id):
        add_member(user=person, **action_arguments(request))
    add_flash(request, f"{person.get_username()} is now a member of this tenant.")
    return redirect(_MEMBERS, request.tenant.id)


@tenant_page(to_change="admin", state="replaces")
def member_role(request: HtmxRequest, username: str) -> HttpResponseBase:
    """Change the role of a member."""
    form = RoleForm(request.POST)
    with tenant_scope(request.tenant.id):
        member = _member_or_404(request, username)
        is_fixed = member.user_id in users_with_fixed_roles([member.user], request.operator)

    def change() -> Role:
        named = {"role": form.cleaned_data["role"], "replaces": request.POST.get("replaces", "")}
        return change_role(membership=member, **named, is_fixed=is_fixed, **by_operator(request))

    role = submit(request, form, change)
    if role is None:
        flash_error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    else:
        add_flash(request, f"{username} is now {role}.")
    return redirect(_MEMBERS, request.tenant.id)


@tenant_page("admin", to_change="admin")
def member_remove(request: HtmxRequest, username: str) -> HttpResponseBase:
    """Confirm, then remove a member's access to the tenant."""
    user = request.operator.user
    with tenant_scope(request.tenant.id):
        member = _member_or_404(request, username)
    is_oneself = member.user_id == user.pk
    if request.method != "POST":
        page = {"section": _MEMBERS, "member": member.user, "is_oneself": is_oneself}
        return render_page(request, "memories/tenancy/member_remove.html", page)
    with tenant_change(request):
        remove_member(membership=member, **by_operator(request))
        add_flash(request, f"{username} removed from {request.tenant.name}.")
        if is_oneself and not user.is_superuser:
            return redirect("overview")
    return redirect(_MEMBERS, request.tenant.id)


@tenant_page("admin", to_change="admin")
def member_second_factor(request: HtmxRequest, username: str) -> HttpResponseBase:
    """Confirm, then remove a member's second factor, as after the loss of a phone; one's own has another page."""
    if username == request.operator.user.get_username():
        return redirect("second-factor")
    with tenant_scope(request.tenant.id):
        people = {each.user.get_username(): each for each in tenant_members(request.tenant.id, request.operator)}
    member = people.get(username)
    if member is None or not member.may_reset:
        raise Http404
    if request.method != "POST":
        return render_page(
            request, "memories/tenancy/member_second_factor.html", {"section": _MEMBERS, "member": member}
        )
    if remove_second_factor(user=member.user, **by_operator(request)):
        add_flash(request, f"{username} signs in with the password alone.")
    else:
        flash_error(request, f"{username} has no second factor.")
    return redirect(_MEMBERS, request.tenant.id)


@tenant_page(to_change="admin")
def invitation_create(request: HtmxRequest) -> HttpResponseBase:
    """Create an invitation. Its link is only in this response."""
    form = InvitationForm(request.POST)
    created = submit(request, form, lambda: create_invitation(**form.cleaned_data, **action_arguments(request)))
    if created is None:
        return _members_page(request, invitation_form=form)
    invitation, secret = created
    link = request.build_absolute_uri(reverse("invitation", args=[request.tenant.id, secret]))
    return _members_page(request, made={"invitation": invitation, "link": link})


@tenant_page(to_change="admin")
def invitation_revoke(request: HtmxRequest, invitation_id: UUID) -> HttpResponseBase:
    """Revoke an open invitation."""
    with tenant_scope(request.tenant.id):
        invitation = get_object_or_404(Invitation.objects.for_tenant(request.tenant.id).open(), pk=invitation_id)
        revoke_invitation(invitation=invitation, **by_operator(request))
    add_flash(request, "Invitation revoked.")
    return redirect(_MEMBERS, request.tenant.id)


def _member_or_404(request: HtmxRequest, username: str) -> Membership:
    """Return the membership; inside a scope."""
    rows = Membership.objects.for_tenant(request.tenant.id).of_username(username)
    member: Membership = get_object_or_404(rows.with_roles().with_tenant())
    return member


def _members_page(
    request: HtmxRequest,
    *,
    member_form: MemberForm | None = None,
    invitation_form: InvitationForm | None = None,
    made: dict[str, Any] | None = None,
) -> HttpResponse:
    tenant_id, now = request.tenant.id, timezone.now()
    page: dict[str, Any] = {"section": _MEMBERS, "roles": list(Role), "now": now, "made": made}
    page["member_form"] = member_form or MemberForm()
    page["invitation_form"] = invitation_form or InvitationForm(initial={"role": Role.OPERATOR})
    with tenant_scope(tenant_id):
        page["members"] = tenant_members(tenant_id, request.operator)
        if request.operator.can_administer:
            page["invitations"] = list(Invitation.objects.for_tenant(tenant_id).open()[:INVITATIONS_SHOWN_MAX])
    return render_page(request, "memories/tenancy/members.html", page, form=member_form or invitation_form)
