"""Pages are sent compressed: the largest are a tenth of their size then."""

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from memory_platform.rest.requests import is_api_request


class PageCompression(GZipMiddleware):
    """Django's own, which adds a random number of bytes so that lengths betray no secret; agents get plain answers.

    An answer of the API is small beside the time it takes to compress it, and that time counts there (ADR-0092).
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Static files come compressed from their own middleware and do not pass here."""
        return response if is_api_request(request) else super().process_response(request, response)
