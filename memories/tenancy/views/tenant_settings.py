"""The page of a tenant's settings."""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from memories.embeddings.embedders import active_model_name
from memories.search.actions import set_tenant_language
from memories.tenancy.forms import LanguageForm
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_of, tenant_page
from memories.tenancy.views.page_actions import action_arguments, submit
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

_SETTINGS = "tenant-settings"


@tenant_page("viewer", to_change="admin", state="replaces")
def tenant_settings(request: HtmxRequest) -> HttpResponseBase:
    """Show the settings; a POST changes the language."""
    if request.method != "POST":
        return _settings_page(request)
    form = LanguageForm(request.POST, languages=text_search_configs())
    saved = submit(request, form, lambda: set_tenant_language(**form.cleaned_data, **action_arguments(request)))
    if saved is None:
        return _settings_page(request, language_form=form)
    language = form.cleaned_data["language"]
    add_flash(request, f"Search language set to {language}. Stored memories are converted in the background.")
    return redirect(_SETTINGS, request.tenant.id)


def _settings_page(request: HtmxRequest, *, language_form: LanguageForm | None = None) -> HttpResponse:
    tenant = tenant_of(request)
    initial = {"language": tenant.text_search_config}
    with tenant_scope(tenant.pk):
        page: dict[str, Any] = {
            "section": _SETTINGS,
            "model_name": active_model_name(tenant.pk),
            "language_form": language_form or LanguageForm(initial=initial, languages=text_search_configs()),
        }
    return render_page(request, "memories/tenancy/tenant_settings.html", page, form=language_form)
