"""Compression of pages, the largest of which shrink to a tenth."""

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from memory_platform.rest.requests import is_api_request


class PageCompression(GZipMiddleware):
    """Django's own, with random padding against attacks on lengths. API answers stay uncompressed (ADR-0092)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress pages; static files have their own middleware."""
        return response if is_api_request(request) else super().process_response(request, response)
