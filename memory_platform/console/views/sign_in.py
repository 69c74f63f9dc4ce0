"""Sign in: name and password, then a code if the account has a second factor (ADR-0110, ADR-0195)."""

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memories.services.tenancy.sign_in_limits import SignInKeys, sign_in_keys
from memories.tenancy.queries.tenants import users_by_id
from memories.tenancy.second_factor import WRONG_CODE, has_second_factor, use_second_factor_code
from memories.tenancy.sign_in import (
    count_sign_in_attempt,
    forget_sign_in_failures,
    note_failed_sign_in,
    take_sign_in_notice,
)
from memory_platform.console.forms import CodeForm
from memory_platform.web.addresses import client_address
from memory_platform.web.flash_messages import FlashLink, add_flash, flash_error
from memory_platform.web.numerals import counted
from memory_platform.web.times import format_time, format_wait

#: How long the code may follow the password.
CODE_WITHIN = timedelta(minutes=5)
#: The key of a session whose password was right and whose code is missing.
_PENDING = "signs_in"


def attempt_keys(request: HttpRequest, username: str) -> SignInKeys:
    """Return the keys by which attempts on this account from this client are counted."""
    return sign_in_keys(username, client_address(request), secret=settings.SECRET_KEY.encode())


def _retry_after(wait: timedelta) -> str:
    return str(math.ceil(wait.total_seconds()))


class _SignInPage(TemplateResponse):
    """The page, which notes a failed attempt after it is sent: its time does not show whether the account exists."""

    note: Callable[[], None] | None = None

    def close(self) -> None:
        """Record the attempt before the end of the request returns its connection to the pool."""
        try:
            if self.note:
                self.note()
        finally:
            super().close()


class SignIn(LoginView):
    """Django's own view; a failed attempt gets 422, as every invalid form does, and a delayed one 429."""

    response_class = _SignInPage
    template_name = "memory_platform/console/sign_in.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Redirect a GET of a user who is signed in already; always check a submitted name and password."""
        self.redirect_authenticated_user = request.method != "POST"
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check name and password unless the account or the address has to wait; the response is the same for both."""
        username = request.POST.get("username", "")
        self.keys = attempt_keys(request, username)
        wait = count_sign_in_attempt(self.keys, now=timezone.now())
        if not wait:
            return super().post(request, *args, **kwargs)
        form = self.form_class(request, initial={"username": username})
        context = self.get_context_data(form=form, wait=format_wait(wait))
        headers = {"Retry-After": _retry_after(wait)}
        return self.render_to_response(context, status=HTTPStatus.TOO_MANY_REQUESTS, headers=headers)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in, or ask for the code; the attempt then still counts as failed, so that codes cannot be guessed."""
        user, url = form.get_user(), self.get_success_url()
        if not has_second_factor(user):
            return _sign_in(self.request, user, self.keys, url)
        self.request.session.cycle_key()
        until = (timezone.now() + CODE_WITHIN).timestamp()
        self.request.session[_PENDING] = {
            "user": user.pk,
            "hash": user.get_session_auth_hash(),
            "until": until,
            "url": url,
        }
        return redirect("sign-in-code")

    def form_invalid(self, form: AuthenticationForm) -> _SignInPage:
        page = cast(
            _SignInPage,
            self.render_to_response(self.get_context_data(form=form), status=HTTPStatus.UNPROCESSABLE_ENTITY),
        )
        username = form.cleaned_data.get("username", "")
        page.note = partial(note_failed_sign_in, self.keys, username=username, now=timezone.now())
        return page


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code of the second factor after the password; attempts are delayed like those of passwords."""
    pending, now = request.session.get(_PENDING, {}), timezone.now()
    user = _pending_user(pending)
    if user is None:
        request.session.pop(_PENDING, None)
        return redirect("sign-in")
    if request.method != "POST":
        return _code_page(request, CodeForm())
    form, keys = CodeForm(request.POST), attempt_keys(request, user.get_username())
    if not form.is_valid():
        return _code_page(request, form)
    if wait := count_sign_in_attempt(keys, now=now):
        return _code_page(request, CodeForm(), wait=wait)
    if used := use_second_factor_code(user=user, code=form.cleaned_data["code"], now=now):
        del request.session[_PENDING]
        if used.is_recovery:
            left = counted(used.recovery_codes_left, "recovery code is", "recovery codes are")
            link = FlashLink(reverse("second-factor"), "New codes")
            add_flash(request, f"Signed in with a recovery code. {left} left.", link=link)
        return _sign_in(request, user, keys, pending["url"])
    note_failed_sign_in(keys, username=user.get_username(), now=now)
    form.add_error("code", WRONG_CODE)
    return _code_page(request, form)


def _pending_user(pending: Mapping[str, Any]) -> User | None:
    """Return the user whose password was right a moment ago and is still the same."""
    if not pending or pending["until"] < timezone.now().timestamp():
        return None
    user = users_by_id(pending["user"]).first()
    return (
        user
        if user and user.is_active and constant_time_compare(user.get_session_auth_hash(), pending["hash"])
        else None
    )


def _sign_in(request: HttpRequest, user: User, keys: SignInKeys, url: str) -> HttpResponse:
    """Begin the session, forget the failures, and show once what failed since the last sign-in."""
    forget_sign_in_failures(keys, now=timezone.now())
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    if notice := take_sign_in_notice(user):
        failures = counted(notice.failures, "failed sign-in", "failed sign-ins")
        since = format_time(notice.first_at).text
        flash_error(request, f"{failures} of this account since {since} UTC. If not yours, change the password.")
    return redirect(url)


def _code_page(request: HttpRequest, form: CodeForm, *, wait: timedelta | None = None) -> HttpResponse:
    page = {"form": form, "wait": format_wait(wait) if wait else ""}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    response = render(request, "memory_platform/console/sign_in_code.html", page, status=status)
    if wait:
        response.status_code, response["Retry-After"] = HTTPStatus.TOO_MANY_REQUESTS, _retry_after(wait)
    return response
