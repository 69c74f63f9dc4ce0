"""Files that a page or an endpoint streams."""

from collections.abc import Iterable

from django.http import HttpRequest, QueryDict, StreamingHttpResponse


def download(lines: Iterable[str], file_name: str, content_type: str) -> StreamingHttpResponse:
    """Return the response that streams lines of text as a file."""
    response = StreamingHttpResponse(lines, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


def download_query(request: HttpRequest) -> str:
    """Return the filters of a page's URL as the beginning of a query string, without order and page."""
    query = without_parameters(request.GET, "cursor", "sort", "live")
    return f"{query.urlencode()}&" if query else ""


def without_parameters(query: QueryDict, *names: str) -> QueryDict:
    """Return a copy of a query string without some parameters."""
    left = query.copy()
    for name in names:
        left.pop(name, None)
    return left
