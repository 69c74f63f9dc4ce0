"""Pages and endpoints that show stored texts leave an entry in the audit log (ADR-0303)."""

from collections.abc import Callable
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch
from django.utils import timezone

from memories.tenancy.audit import Actor, live_searches, record_once_settled, record_shown
from memories.tenancy.members import operator_actor
from memory_platform.rest.request_errors import is_api_request
from memory_platform.web.htmx import HtmxRequest, wants_fragment

#: By name of the URL: what shows texts of memories, messages or summaries and leaves no other entry of reading.
SHOWS_TEXT = frozenset(
    {
        *("api-memories", "api-memory", "api-memory-history", "api-hygiene-list", "api-snapshot-comparison"),
        *("api-summaries", "api-memo", "api-message", "api-messages", "api-compaction"),
        *(
            "memories",
            "memory",
            "memory-merge",
            "memory-votes",
            "memory-findings",
            "memories-bulk",
            "memo",
            "summaries",
        ),
        *("snapshot", "hygiene", "hygiene-list", "hygiene-bulk", "search", "palette", "context-suggest"),
        *(
            "inclusion-budget",
            "budget-curve",
            "budgets",
            "budget-keep",
            "budget-effect",
            "scoring-effect",
            "golden-question",
        ),
        *("tenant-overview", "jobs", "activity", "partitions", "partition-children", "roll-ups", "prompts"),
        *("sessions", "session", "session-compact", "session-simulate", "reviews", "compaction", "compaction-compare"),
    }
)
#: Those that show such texts by POST, and change nothing then.
SHOWS_TEXT_BY_POST = frozenset({"api-session-context", "api-prompt-trial"})
#: The kinds of rows that URLs name by another word.
_KINDS = {"question_id": "golden_question"}
#: The statuses recorded; a page with an error in its URL shows its texts as well.
_SHOWN = {HTTPStatus.OK, HTTPStatus.UNPROCESSABLE_ENTITY}


class ReadLogMiddleware:
    """Records which actor was shown the texts of which row or list, once for each hour.

    Searches for a part of a page may be of a person who is still typing; the page itself is recorded meanwhile.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with live_searches() if _is_live(request) else nullcontext(list[Any]()) as searches:
            response = self.get_response(request)
        if searches:
            _record_searches(request, searches, response)
        match = request.resolver_match
        names = {"GET": SHOWS_TEXT, "POST": SHOWS_TEXT_BY_POST}.get(str(request.method), ())
        is_signed_in = is_api_request(request) or hasattr(request, "tenant")  # else htmx is sent to the sign-in
        if match is not None and match.url_name in names and response.status_code in _SHOWN and is_signed_in:
            _record(request, match)
        return response


def _is_live(request: HttpRequest) -> bool:
    is_page = not (is_api_request(request) or request.path_info.startswith("/admin/"))
    return is_page and request.method == "GET" and wants_fragment(cast(HtmxRequest, request))


def _record_searches(request: Any, searches: list[Any], response: HttpResponseBase) -> None:
    """Record the page now, also if it is not in the list, and its searches later."""
    match = request.resolver_match
    record_once_settled(str(match.url_name), searches)
    if response.status_code in _SHOWN:
        _record(request, match)


def _record(request: Any, match: ResolverMatch) -> None:
    if is_api_request(request):
        tenant_id, by = request.auth.tenant_id, Actor.key(request.auth)
    else:
        tenant_id, by = request.tenant.id, operator_actor(request.operator)
    kinds = {name: _KINDS.get(name, name.removesuffix("_id")) for name in match.kwargs if name.endswith("_id")}
    ids = ((kind, match.kwargs[name]) for name, kind in kinds.items() if kind != "tenant")
    target = next(ids, ("tenant", tenant_id))
    page = str(match.url_name)
    read: dict[str, Any] = {"about": page, "details": {"page": page}}
    record_shown("read_text", *target, tenant_id=tenant_id, **read, by=by, now=timezone.now())
