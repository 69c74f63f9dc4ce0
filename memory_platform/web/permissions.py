"""Check that an operator may open a page, or redirect to the sign-in page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django_htmx.http import HttpResponseClientRedirect

from memory_platform.web.htmx import HtmxRequest, current_page_path, safe_local_path
from memory_platform.web.roles import Operator, Role, role_of

PageView = Callable[..., HttpResponseBase]


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
            request.operator = Operator(request.user, own)
            response = view(request, *args, **kwargs)
            patch_cache_control(response, no_store=True, private=True)
            return response

        return page

    return decorate


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
    response = redirect_to_login(back, address)
    return HttpResponseClientRedirect(response.url) if request.htmx else response
