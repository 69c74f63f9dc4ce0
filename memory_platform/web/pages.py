"""What every operator page shares: permissions, page or fragment, flash messages."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails


class Role(StrEnum):
    """What an operator may do; the value is the name of the Django group. Each role includes the earlier ones."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Whether this role may do what the other may."""
        return list(Role).index(self) >= list(Role).index(other)

    @property
    def permits(self) -> str:
        """What the role may do, as the frame and the settings page show it."""
        return _PERMITS[self]


_PERMITS = {
    Role.VIEWER: "Sees every page except keys and prompt. Previews and simulates, but changes nothing.",
    Role.OPERATOR: "Also edits memories, budgets and drafts of profiles, reviews compactions, names snapshots.",
    Role.ADMIN: "Also publishes profiles, creates and revokes keys, changes settings, embedding model and prompt.",
}


@dataclass(frozen=True)
class Operator:
    """The signed-in user and the permissions that templates check."""

    user: User
    role: Role

    @property
    def can_edit(self) -> bool:
        return self.role.includes(Role.OPERATOR)

    @property
    def can_administer(self) -> bool:
        return self.role.includes(Role.ADMIN)


class TenantLike(Protocol):
    """The attributes of a tenant that the frame shows."""

    id: UUID
    name: str


class HtmxRequest(HttpRequest):
    """A request after the middleware and `operator_required`; `tenant` is set by `tenant_page`."""

    htmx: HtmxDetails
    user: User | AnonymousUser
    operator: Operator
    tenant: TenantLike
    tenants: list[Any]


WHOLE_RESULT_PARAMETER = "whole"  # requests page and result in one answer
PageView = Callable[..., HttpResponseBase]


def role_of(user: User) -> Role | None:
    """Return the highest role of a staff user; a superuser is an admin; others have none."""
    if not (user.is_active and user.is_staff):
        return None
    if user.is_superuser:
        return Role.ADMIN
    groups = {group.name for group in user.groups.all()}
    return next((role for role in reversed(Role) if role.value in groups), None)


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


def safe_local_path(request: HttpRequest, url: str) -> str:
    """Return path and query of `url` when it is an address of this site, else the start page."""
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return "/"
    parts = urlsplit(url)
    return _with_one_slash(parts._replace(scheme="", netloc="", fragment="").geturl())


def current_page_path(request: HtmxRequest) -> str:
    """Return path and query of the page that sent the htmx request; "" where they are unreadable."""
    try:
        address = request.htmx.current_url_abs_path
    except ValueError:
        return ""
    return _with_one_slash(address) if address else ""


def _with_one_slash(address: str) -> str:
    """Return the address with one leading slash, as browsers read two as a host."""
    return "/" + address.lstrip("/\\")


def wants_fragment(request: HtmxRequest) -> bool:
    """Return whether htmx requests a part of the page; a boosted link or a history restore needs all of it."""
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request


def loads_result_later(request: HtmxRequest) -> bool:
    """Return whether a second request loads the slow result; `?whole=1` of forms without JavaScript requests both."""
    is_whole = WHOLE_RESULT_PARAMETER in request.GET or wants_fragment(request)
    return request.method in {"GET", "HEAD"} and not is_whole


def render_page(
    request: HtmxRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    status: int = 200,
    fragment: str = "",
    form: BaseForm | None = None,
) -> HttpResponse:
    """Render a page, or for htmx its partial `fragment` with the flash messages; 422 for a `form` with errors."""
    if fragment and wants_fragment(request):
        template = f"{template}#{fragment}"
    if form is not None and form.errors:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    response = render(request, template, dict(context), status=status)
    if "#" in template:
        response.write(render_to_string("memory_platform/web/_flash.html#out-of-band", request=request))
    patch_vary_headers(response, ["HX-Request", "HX-Boosted", "HX-History-Restore-Request"])
    return response


@dataclass(frozen=True)
class FlashLink:
    """The link of a message; with `needs_confirmation` to a page that asks before it undoes the action."""

    url: str
    label: str
    needs_confirmation: bool = False


def add_flash(request: HttpRequest, text: str, *, undo_url: str = "", link: FlashLink | None = None) -> None:
    """Add a success message, with a button that POSTs to `undo_url` or with a link."""
    tag = f"{ASK_TAG if link.needs_confirmation else LINK_TAG} {link.url} {link.label}" if link else ""
    messages.success(request, text, extra_tags=undo_url or tag)


def read_flash_link(extra_tags: str) -> FlashLink | None:
    """Return the link that `add_flash` stored in a message."""
    tag, _, rest = extra_tags.partition(" ")
    url, _, label = rest.partition(" ")
    return FlashLink(url, label, needs_confirmation=tag == ASK_TAG) if tag in (ASK_TAG, LINK_TAG) and label else None


def flash_error(request: HttpRequest, text: str) -> None:
    """Add a message that says why something was not done."""
    messages.error(request, text)


#: The first word of a message's tag: it has a link, its undo asks first, or it is not shown and names a job to watch.
LINK_TAG, ASK_TAG, WATCH_TAG = "link", "ask", "watch"


def watch_job(request: HtmxRequest, kind: str, row_id: object) -> None:
    """Notify the operator when this background work of the tenant ends (ADR-0085).

    `kind` is one of `console.jobs`, `row_id` that of the run or model, of the tenant for `embeddings`.
    """
    once = secrets.token_hex(4)  # so that a retry of the same run is watched again
    messages.info(request, f"{kind}:{request.tenant.id}:{row_id}:{once}", extra_tags=WATCH_TAG)
