"""The pages for requests that are too large: the first three are refused before a view is called (ADR-0307)."""

from functools import cache
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.views.defaults import bad_request

_TEXTS = {
    HTTPStatus.REQUEST_URI_TOO_LONG: ("Address too long", "Go back and shorten the text, then try again."),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: (
        "Headers too large",
        "Delete the cookies of this site in the browser, then sign in again.",
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Busy", "Too many large requests arrived at once. Go back and try again."),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "Form or file too large",
        "Go back and send at most {size_max} at once.",
    ),
}


@cache
def too_large_page(status: HTTPStatus) -> str:
    """Return the page for one of these statuses."""
    title, advice = _TEXTS[status]
    size_max = filesizeformat(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return render_to_string("too_large.html", {"title": title, "advice": advice.format(size_max=size_max)})


def bad_request_page(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for a request that Django refused; 413 for a body that is too large."""
    if not isinstance(exception, RequestDataTooBig):
        return bad_request(request, exception)
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return HttpResponse(too_large_page(status), status=status)
