"""A time limit for the loops of every request that grow with their input (ADR-0200)."""

from collections.abc import Callable
from time import perf_counter

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from memories.services.time_limits import TimeIsUpError, work_until

#: Above the time that a request waits for its compaction (25 s), below the 60 s after which proxies usually give up.
REQUEST_SECONDS = 30.0


class _LoopTime:
    """The time limit of the loops of one request. It starts with the first loop, so reading the body does not count."""

    def __init__(self) -> None:
        self._end: float | None = None

    def is_over(self) -> bool:
        now = perf_counter()
        if self._end is None:
            self._end = now + REQUEST_SECONDS
        return now > self._end


class TimeLimitMiddleware:
    """Ends a request that takes too long with 503; API endpoints respond with a problem document."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with work_until(_LoopTime().is_over):
            return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the page for work that took too long; Django calls it with what a view raises."""
        if not isinstance(exception, TimeIsUpError):
            return None
        page = render_to_string("503.html", {"took_too_long": True}, request)
        return HttpResponse(page, status=503)
