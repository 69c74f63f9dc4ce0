"""The setting for single-key shortcuts, stored in a cookie (WCAG 2.1.4, ADR-0091)."""

from django.http import HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.views.decorators.http import require_POST

from memory_platform.web.pages import HtmxRequest, operator_required, safe_local_path

COOKIE_AGE_SECONDS = 365 * 24 * 3600


@operator_required("viewer")
@require_POST
def choose_shortcuts(request: HtmxRequest) -> HttpResponse:
    """Store the choice in a cookie, which the server reads before it renders a page."""
    keys = request.POST.get("keys", "")
    if keys not in {"on", "off"}:
        return HttpResponseBadRequest("keys must be on or off")
    response = HttpResponseRedirect(safe_local_path(request, request.META.get("HTTP_REFERER", "")))
    if keys == "on":
        response.delete_cookie("keys")
    else:
        response.set_cookie("keys", keys, max_age=COOKIE_AGE_SECONDS, samesite="Lax", httponly=True)
    return response
