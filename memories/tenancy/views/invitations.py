"""The page behind the link of an invitation, which needs no sign-in."""

from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memories.models import Invitation, Membership, Tenant
from memories.services.tenancy.invitation_secrets import secret_hash
from memories.tenancy.actions.invitations import accept_invitation, join_by_invitation
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.forms import InvitedForm
from memories.tenancy.members import visible_tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.flash_messages import add_flash

_TEMPLATE = "memories/tenancy/invitation.html"


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, tenant_id: UUID, secret: str) -> HttpResponse:
    """Show the form of the invited person; create the account and sign it in, or let a signed-in person join."""
    tenant, now = visible_tenant(tenant_id), timezone.now()
    if tenant is None:
        return _gone(request)
    with tenant_scope(tenant.pk):
        invited = Invitation.objects.for_tenant(tenant.pk).usable(secret_hash(secret), now).first()
        members = Membership.objects.for_tenant(tenant.pk)
        is_member = members.of_username(request.user.get_username()).exists()
    if invited is None:
        return _gone(request)
    page = {"invited": invited, "invited_to": tenant, "is_member": is_member}
    if request.user.is_authenticated:
        return _join(request, page, secret=secret)
    form = InvitedForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            return _accept(request, tenant, form, secret=secret, by=_inviter(invited))
        except NotFound:
            return _gone(request)
        except PlatformError as error:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, _TEMPLATE, {**page, "form": form}, status=status)


def _join(request: HttpRequest, page: dict[str, Any], *, secret: str) -> HttpResponse:
    """Make the signed-in person a member, which needs their consent: an admin cannot add any account by its name."""
    if request.method != "POST" or page["is_member"]:
        return render(request, _TEMPLATE, page)
    tenant, by = page["invited_to"], _inviter(page["invited"])
    try:
        with tenant_scope(tenant.pk):
            join_by_invitation(tenant=tenant, secret=secret, user=cast(User, request.user), by=by, now=timezone.now())
    except NotFound:
        return _gone(request)
    except PlatformError as error:
        return render(request, _TEMPLATE, {**page, "refused": error.detail}, status=HTTPStatus.CONFLICT)
    return _welcome(request, tenant)


def _inviter(invited: Invitation) -> Actor:
    return Actor.system(f"invitation by {invited.created_by}")


def _accept(request: HttpRequest, tenant: Tenant, form: InvitedForm, *, secret: str, by: Actor) -> HttpResponse:
    names = ("username", "password")
    account = {name: form.cleaned_data[name] for name in names}
    with tenant_scope(tenant.pk):
        user = accept_invitation(tenant=tenant, secret=secret, **account, by=by, now=timezone.now())
    login(request, user)
    return _welcome(request, tenant)


def _welcome(request: HttpRequest, tenant: Tenant) -> HttpResponse:
    add_flash(request, f"Welcome to {tenant.name}.")
    return redirect("tenant-overview", tenant.pk)


def _gone(request: HttpRequest) -> HttpResponse:
    return render(request, _TEMPLATE, {}, status=HTTPStatus.NOT_FOUND)
