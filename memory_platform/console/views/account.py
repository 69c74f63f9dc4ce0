"""The operator's own account: e-mail address for notices, password and second factor."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memories.models import SecondFactor
from memories.services.tenancy.second_factor import setup_url
from memories.tenancy.actions.accounts import change_email, change_password
from memories.tenancy.actions.second_factor import enable_second_factor, remove_second_factor, renew_recovery_codes
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor, tenants_of
from memories.tenancy.second_factor import WRONG_CODE, new_second_factor_secret, use_second_factor_code
from memories.tenancy.sign_in import count_sign_in_attempt, forget_sign_in_failures, note_failed_sign_in
from memories.tenancy.views.page_actions import by_operator
from memory_platform.console.forms import EmailForm, SecondFactorForm
from memory_platform.console.views.sign_in import attempt_keys
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.permissions import needs_second_factor, operator_required
from memory_platform.web.qr_codes import qr_code
from memory_platform.web.rendering import render_page
from memory_platform.web.times import format_wait

_TEMPLATE = "memory_platform/console/password_change.html"
_SECOND_FACTOR_TEMPLATE = "memory_platform/console/second_factor.html"
#: The signature of a secret that waits for its first code, and its maximum wait.
_SETUP_SALT, SETUP_SECONDS = "second-factor", 3600


@operator_required("viewer")
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HtmxRequest) -> HttpResponseBase:
    """Show the security settings of the account; store the e-mail address for notices."""
    request.tenants = tenants_of(request.operator)
    user = request.operator.user
    form = EmailForm(request.POST if request.method == "POST" else {"email": user.email})
    if request.method == "POST" and form.is_valid():
        change_email(user=user, email=form.cleaned_data["email"], **by_operator(request))
        add_flash(request, "E-mail address saved.")
        return redirect("account")
    page = {"form": form, "factor": SecondFactor.objects.of_user(user.pk).first(), "sends_mail": settings.EMAIL_URL}
    return render_page(request, "memory_platform/console/account.html", page, form=form)


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
        if wait := wait_or_check(request, lambda: "old_password" not in form.errors):
            page |= {"wait": wait, "form": PasswordChangeForm(user)}
            return render_page(request, _TEMPLATE, page, status=HTTPStatus.TOO_MANY_REQUESTS)
        if form.is_valid():
            by, password = operator_actor(request.operator), form.cleaned_data["new_password1"]
            change_password(user=user, password=password, by=by, now=timezone.now())
            update_session_auth_hash(request, user)
            add_flash(request, "Password changed. Other sessions of this account have ended.")
            return redirect("overview")
    return render_page(request, _TEMPLATE, page, form=form)


def wait_or_check(request: HtmxRequest, check: Callable[[], bool]) -> str:
    """Check a secret as a sign-in does; return the delay if attempts have to wait, "" if it was checked."""
    username, now = request.operator.user.get_username(), timezone.now()
    keys = attempt_keys(request, username)
    wait = count_sign_in_attempt(keys, now=now)
    if wait:
        return format_wait(wait)
    if check():
        forget_sign_in_failures(keys, now=now)
    else:
        note_failed_sign_in(keys, username=username, now=now)
    return ""


@sensitive_post_parameters()
@operator_required("viewer")
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HtmxRequest) -> HttpResponseBase:
    """Set up a second factor; renew its recovery codes or turn it off. Recovery codes are only in this response."""
    request.tenants = tenants_of(request.operator)
    user = request.operator.user
    factor: SecondFactor | None = SecondFactor.objects.of_user(user.pk).first()
    form = SecondFactorForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _second_factor_page(request, form, factor)
    typed = form.cleaned_data
    secret = "" if factor else _secret_of_setup(user, typed["setup"])
    codes: list[str] = []

    def check() -> bool:
        nonlocal codes
        if not user.check_password(typed["password"]):
            form.add_error("password", "The password is wrong.")
        elif factor and not use_second_factor_code(user=user, code=typed["code"], now=timezone.now()):
            form.add_error("code", WRONG_CODE)
        else:
            try:
                codes = _change(request, secret, typed["code"])
            except PlatformError as error:
                form.add_error(error.field if error.field in form.fields else None, error.detail)
        return not form.errors

    if wait := wait_or_check(request, check):
        return _second_factor_page(request, form, factor, wait=wait)
    if form.errors:
        return _second_factor_page(request, form, factor)
    if not codes:
        add_flash(request, "Two-factor sign-in is off.")
        return redirect("account")
    factor = SecondFactor.objects.of_user(user.pk).first()
    return _second_factor_page(request, SecondFactorForm(), factor, codes=codes)


def _change(request: HtmxRequest, secret: str, code: str) -> list[str]:
    """Perform the change of the form; return new recovery codes, none after the second factor was turned off."""
    action_arguments: dict[str, Any] = {
        "user": request.operator.user,
        "by": operator_actor(request.operator),
        "now": timezone.now(),
    }
    if secret:
        return enable_second_factor(secret=secret, code=code, **action_arguments)
    if "off" not in request.POST or needs_second_factor(request.operator.role):
        return renew_recovery_codes(**action_arguments)
    remove_second_factor(**action_arguments)
    return []


def _secret_of_setup(user: User, setup: str) -> str:
    """Return the secret that the page showed to this user, a new one if that was too long ago."""
    try:
        owner, secret = signing.loads(setup, salt=_SETUP_SALT, max_age=SETUP_SECONDS)
    except (signing.BadSignature, ValueError):
        owner, secret = None, ""
    return str(secret) if owner == user.pk else new_second_factor_secret()


def _second_factor_page(
    request: HtmxRequest,
    form: SecondFactorForm,
    factor: SecondFactor | None,
    *,
    wait: str = "",
    codes: list[str] | None = None,
) -> HttpResponse:
    user = request.operator.user
    page: dict[str, Any] = {"form": form, "factor": factor, "wait": wait, "codes": codes}
    page["is_required"] = needs_second_factor(request.operator.role)
    if factor is None:
        secret = _secret_of_setup(user, request.POST.get("setup", ""))
        page |= {"secret": secret, "setup": signing.dumps((user.pk, secret), salt=_SETUP_SALT)}
        page["qr"] = qr_code(setup_url(secret, user.get_username()))
    status = HTTPStatus.TOO_MANY_REQUESTS if wait else HTTPStatus.OK
    return render_page(request, _SECOND_FACTOR_TEMPLATE, page, status=status, form=None if wait else form)
