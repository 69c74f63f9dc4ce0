"""Errors that reading a REST request raises; `memories.tenancy.api.problems` turns them into responses."""

from django.http import HttpRequest
from rest_framework import status
from rest_framework.exceptions import APIException

FIELD_NAME_CHARACTERS = 80


class RestError(APIException):
    """An error with a stable code and, if a field caused it, the name of the field."""

    status_code: int = status.HTTP_400_BAD_REQUEST

    def __init__(self, code: str, detail: str, *, field: str = "", status_code: int = 0, retry_after: int = 0) -> None:
        super().__init__(detail, code)
        self.code = code
        self.field = field
        self.status_code = status_code or self.status_code
        self.retry_after = retry_after


def printable_field_name(name: object) -> str:
    """Return a submitted field name as an error may show it: short and encodable."""
    text = str(name).encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
    return text if len(text) <= FIELD_NAME_CHARACTERS else f"{text[:FIELD_NAME_CHARACTERS]}..."


def is_api_request(request: HttpRequest) -> bool:
    """Whether the request is for the API, so that programs read its errors."""
    return request.path_info == "/api" or request.path_info.startswith("/api/")
