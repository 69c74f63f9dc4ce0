"""Signing in, the choice of colours, the health of the parts: the pages that belong to no app."""

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from memories.access import tenants_of
from memory_platform.health import part_states
from memory_platform.web import HtmxRequest, operator_required, own_path, show, wants_fragment

THEMES = ("system", "light", "dark")
THEME_COOKIE_AGE_SECONDS = 365 * 24 * 3600


class SignIn(LoginView):
    """Django's own; a refused attempt answers 422 as every invalid form does."""

    template_name = "sign_in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


@operator_required("viewer")
@require_safe
def parts(request: HtmxRequest) -> HttpResponse:
    """Whether every part that the platform needs is there, asked now."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        request.tenant = request.tenants[0]
    template = "parts.html#list" if wants_fragment(request) else "parts.html"
    return show(request, template, {"parts": part_states()})


@require_POST
def choose_theme(request: HtmxRequest) -> HttpResponse:
    """Keep the colours somebody chose in a cookie, where the server can read it before the page is drawn."""
    theme = request.POST.get("theme", "")
    if theme not in THEMES:
        return HttpResponseBadRequest("theme must be system, light or dark")
    response: HttpResponse
    if request.htmx:
        response = HttpResponse(status=204)
        trigger_client_event(response, "theme-chosen", {"value": theme})
    else:
        response = HttpResponseRedirect(own_path(request, request.META.get("HTTP_REFERER", "")))
    if theme == "system":
        response.delete_cookie("theme")
    else:
        response.set_cookie("theme", theme, max_age=THEME_COOKIE_AGE_SECONDS, samesite="Lax", httponly=True)
    return response
