"""The page behind the link of an invitation, which needs no sign-in."""

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memories.models import Invitation, Tenant
from memories.services.tenancy.invitation_secrets import secret_hash
from memories.tenancy.actions.invitations import accept_invitation
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
    """Show the form of the invited person; create the account and sign it in."""
    tenant, now = visible_tenant(tenant_id), timezone.now()
    if tenant is None:
        return _gone(request)
    with tenant_scope(tenant.pk):
        invited = Invitation.objects.for_tenant(tenant.pk).usable(secret_hash(secret), now).first()
    if invited is None:
        return _gone(request)
    form = InvitedForm(request.POST if request.method == "POST" else None)
    if not request.user.is_authenticated and form.is_valid():
        try:
            return _accept(request, tenant, form, secret=secret, by=_inviter(invited))
        except NotFound:
            return _gone(request)
        except PlatformError as error:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, _TEMPLATE, {"form": form, "invited": invited, "invited_to": tenant}, status=status)


def _inviter(invited: Invitation) -> Actor:
    return Actor.system(f"invitation by {invited.created_by}")


def _accept(request: HttpRequest, tenant: Tenant, form: InvitedForm, *, secret: str, by: Actor) -> HttpResponse:
    names = ("username", "password")
    account = {name: form.cleaned_data[name] for name in names}
    with tenant_scope(tenant.pk):
        user = accept_invitation(tenant=tenant, secret=secret, **account, by=by, now=timezone.now())
    login(request, user)
    add_flash(request, f"Welcome to {tenant.name}.")
    return redirect("tenant-overview", tenant.pk)


def _gone(request: HttpRequest) -> HttpResponse:
    return render(request, _TEMPLATE, {}, status=HTTPStatus.NOT_FOUND)
