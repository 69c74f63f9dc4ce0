"""Responses that stream files."""

from collections.abc import Iterable, Iterator
from time import monotonic

from django.http import HttpRequest, QueryDict, StreamingHttpResponse

#: A client that reads a file more slowly would keep a thread; the file then ends without its end (ADR-0247).
DOWNLOAD_SECONDS = 600.0


def download(lines: Iterable[str], file_name: str, content_type: str) -> StreamingHttpResponse:
    """Return the response that streams lines of text as a file."""
    response = StreamingHttpResponse(_in_time(lines), content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


def _in_time(lines: Iterable[str]) -> Iterator[str]:
    end = monotonic() + DOWNLOAD_SECONDS
    for line in lines:
        if monotonic() > end:
            raise TimeoutError("the download took too long")
        yield line


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
