"""The request of an operator page with the attributes of htmx, and paths in requests."""

from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from memory_platform.web.roles import Operator


class TenantLike(Protocol):
    """The attributes of a tenant that the page layout shows."""

    id: UUID
    name: str


class HtmxRequest(HttpRequest):
    """A request after the middleware and `operator_required`; `tenant` is set by `tenant_page`."""

    htmx: HtmxDetails
    user: User | AnonymousUser
    operator: Operator
    tenant: TenantLike
    tenants: list[Any]


def safe_local_path(request: HttpRequest, url: str) -> str:
    """Return path and query of `url` if it is a URL of this site, else the start page."""
    if not url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure()):
        return "/"
    parts = urlsplit(url)
    return _with_one_slash(parts._replace(scheme="", netloc="", fragment="").geturl())


def current_page_path(request: HtmxRequest) -> str:
    """Return path and query of the page that sent the htmx request; "" if they cannot be read."""
    try:
        address = request.htmx.current_url_abs_path
    except ValueError:
        return ""
    return _with_one_slash(address) if address else ""


def _with_one_slash(address: str) -> str:
    """Return the path with one leading slash, because browsers treat two as the start of a host."""
    return "/" + address.lstrip("/\\")


def wants_fragment(request: HtmxRequest) -> bool:
    """Return whether htmx requests only a part of the page; boosted links and history restores need the whole page."""
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request
