"""Tell API requests from page requests."""

from django.http import HttpRequest


def is_api_request(request: HttpRequest) -> bool:
    """Whether errors of this request are for a program."""
    return request.path_info == "/api" or request.path_info.startswith("/api/")
