"""Check that an operator may open a page, or redirect to the sign-in page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django_htmx.http import HttpResponseClientRedirect

from memory_platform.web.htmx import HtmxRequest, current_page_path, safe_local_path
from memory_platform.web.roles import Operator, Role, role_of

PageView = Callable[..., HttpResponseBase]

#: The URL name of the page on which a person sets up a second factor.
_SECOND_FACTOR = "second-factor"


def operator_required(role: str, *, to_change: str = "") -> Callable[[PageView], PageView]:
    """Return the outermost decorator of a page: `role` to read, `to_change` for other methods; no browser caches it."""
    to_read, to_write = Role(role), Role(to_change or role)

    def decorate(view: PageView) -> PageView:
        @wraps(view)
        def page(request: HtmxRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not isinstance(request.user, User):
                return _sign_in_first(request)
            needed = to_read if request.method in {"GET", "HEAD"} else to_write
            own = role_of(request.user)
            if own is None:
                raise PermissionDenied("This account has no role here. An admin can add it to a group.")
            if request.POST.get("drawn_for", str(request.user.pk)) != str(request.user.pk):
                raise PermissionDenied("Someone else signed in after this page was opened. Reload it.")
            if not own.includes(needed):
                raise PermissionDenied(f"This requires the role {needed}; this account is {own}.")
            if needs_second_factor(own) and not _has_or_sets_up_second_factor(request):
                return _redirect(request, reverse(_SECOND_FACTOR))
            request.operator = Operator(request.user, own)
            response = view(request, *args, **kwargs)
            patch_cache_control(response, no_store=True, private=True)
            return response

        return page

    return decorate


def needs_second_factor(role: Role) -> bool:
    """Whether people with this role need a second factor to do anything."""
    return bool(settings.ADMIN_TWO_FACTOR_REQUIRED) and role is Role.ADMIN


def _has_or_sets_up_second_factor(request: HtmxRequest) -> bool:
    is_page_of_it = request.resolver_match is not None and request.resolver_match.url_name == _SECOND_FACTOR
    return is_page_of_it or getattr(request.user, "second_factor", None) is not None


def _redirect(request: HtmxRequest, address: str) -> HttpResponseBase:
    return HttpResponseClientRedirect(address) if request.htmx else HttpResponseRedirect(address)


def _sign_in_first(request: HtmxRequest) -> HttpResponseBase:
    """Redirect to the sign-in page, which returns to the page that was open, never to one that accepts only POST."""
    address = reverse("sign-in")
    if request.htmx:
        back = current_page_path(request) or "/"
    elif request.method in {"GET", "HEAD"}:
        back = request.get_full_path()
    else:
        back = safe_local_path(request, request.META.get("HTTP_REFERER", ""))
        address += "?unsaved=1"  # the sign-in page shows a notice
    return _redirect(request, redirect_to_login(back, address).url)
