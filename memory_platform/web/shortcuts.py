"""Single keys as shortcuts, switched off and on in a cookie: nobody has to live with them (WCAG 2.1.4, ADR-0091)."""

from django.http import HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.views.decorators.http import require_POST

from memory_platform.web.pages import HtmxRequest, operator_required, safe_local_path

COOKIE_AGE_SECONDS = 365 * 24 * 3600


@operator_required("viewer")
@require_POST
def choose_shortcuts(request: HtmxRequest) -> HttpResponse:
    """Keep the choice where the server can read it before the page is drawn, as that of the colours."""
    keys = request.POST.get("keys", "")
    if keys not in {"on", "off"}:
        return HttpResponseBadRequest("keys must be on or off")
    response = HttpResponseRedirect(safe_local_path(request, request.META.get("HTTP_REFERER", "")))
    if keys == "on":
        response.delete_cookie("keys")
    else:
        response.set_cookie("keys", keys, max_age=COOKIE_AGE_SECONDS, samesite="Lax", httponly=True)
    return response
