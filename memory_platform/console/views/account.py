"""The page on which operators change their password."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memories.services.tenancy.sign_in_limits import sign_in_keys
from memories.tenancy.members import tenants_of
from memories.tenancy.sign_in import count_sign_in_attempt, forget_sign_in_failures
from memory_platform.web.addresses import client_address
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.permissions import operator_required
from memory_platform.web.rendering import render_page
from memory_platform.web.times import format_wait

_TEMPLATE = "memory_platform/console/password_change.html"


@sensitive_post_parameters()
@operator_required("viewer")
@require_http_methods(["GET", "HEAD", "POST"])
def password_change(request: HtmxRequest) -> HttpResponseBase:
    """Show the form; store a new password, which ends the other sessions of the account (ADR-0146)."""
    request.tenants = tenants_of(request.operator)
    user = request.operator.user
    form = PasswordChangeForm(user, request.POST if request.method == "POST" else None)
    page: dict[str, Any] = {"form": form}
    if request.POST.get("old_password"):
        if wait := _wait_or_check(request, form):
            page |= {"wait": wait, "form": PasswordChangeForm(user)}
            return render_page(request, _TEMPLATE, page, status=HTTPStatus.TOO_MANY_REQUESTS)
        if form.is_valid():
            form.save()
            update_session_auth_hash(request, user)
            add_flash(request, "Password changed. Other sessions of this account have ended.")
            return redirect("overview")
    return render_page(request, _TEMPLATE, page, form=form)


def _wait_or_check(request: HtmxRequest, form: PasswordChangeForm) -> str:
    """Check the old password as a sign-in does; return the delay if attempts have to wait, "" if it was checked."""
    username, now = request.operator.user.get_username(), timezone.now()
    keys = sign_in_keys(username, client_address(request), secret=settings.SECRET_KEY.encode())
    wait = count_sign_in_attempt(keys, now=now)
    if wait:
        return format_wait(wait)
    if "old_password" not in form.errors:
        forget_sign_in_failures(keys, now=now)
    return ""
