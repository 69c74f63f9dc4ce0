"""Log requests by route, because paths contain partitions, which name people."""

import logging

from django.http import HttpRequest


class RouteFilter(logging.Filter):
    """Replaces the path of a request in Django's own log records by the pattern that it matched."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            match = request.resolver_match
            route = f"{request.method} /{match.route}" if match else f"{request.method} (no route)"
            paths = {request.path, request.path_info, request.get_full_path()}
            record.args = tuple(route if each in paths else each for each in record.args)
        return True
