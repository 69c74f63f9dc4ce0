"""Render a page, or only the fragment that htmx replaces."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

from memory_platform.web.htmx import HtmxRequest, wants_fragment

WHOLE_RESULT_PARAMETER = "whole"  # the parameter that requests page and result in one response


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
    """Render a page, or for htmx its partial `fragment` with the flash messages; 422 for a `form` with errors.

    Templates get `is_refused` for the status 422.
    """
    if fragment and wants_fragment(request):
        template = f"{template}#{fragment}"
    if form is not None and form.errors:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    page = {"is_refused": status == HTTPStatus.UNPROCESSABLE_ENTITY, **context}
    response = render(request, template, page, status=status)
    if "#" in template:
        response.write(render_to_string("memory_platform/web/_flash.html#out-of-band", request=request))
    patch_vary_headers(response, ["HX-Request", "HX-Boosted", "HX-History-Restore-Request"])
    return response
